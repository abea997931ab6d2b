package host

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

var (
	chaosSeeds = flag.Int("chaos.seeds", 0, "number of seeds that TestChaos runs; 0 is 1,000, or 10,000 if TCPWHEEL_LONG is set")
	chaosFirst = flag.Uint64("chaos.first", 1, "the first of the -chaos.seeds seeds")
	chaosSeed  = flag.Uint64("chaos.seed", 0, "the only seed that TestChaos runs, with a trace of all packets; 0 runs many")
)

// chaosRun is one connection over a random path between random ends, all determined by the seed.
type chaosRun struct {
	seed uint64
	rnd  *rand.Rand
	more *rand.Rand // for what was added later, so that older draws stay

	ipv6         bool
	simultaneous bool
	there, back  sim.LinkConfig
	sides        [2]chaosSide

	world     *World
	hash      hasher
	backedOff time.Duration // the longest timeout of a backoff so far
}

// chaosSide is one end.
type chaosSide struct {
	cfg    tcp.EngineConfig
	plan   string // of its application, for messages
	apps   Apps
	bytes  uint64
	finish bool // it ends writing without waiting for its peer's end

	host    *Host
	session *Session
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func (c *chaosRun) chance(p float64) bool { return c.rnd.Float64() < p }

// between returns a duration that is evenly distributed over the orders of magnitude.
func (c *chaosRun) between(from, to time.Duration) time.Duration {
	for from*2 < to && c.chance(0.85) {
		if c.chance(0.5) {
			from *= 2
		} else {
			to /= 2
		}
	}
	return from + time.Duration(c.rnd.Int64N(int64(to-from)+1))
}

func (c *chaosRun) link() (l sim.LinkConfig) {
	if c.chance(0.7) {
		l.Delay = c.between(time.Microsecond, 300*time.Millisecond)
	} else {
		l.Delay = time.Microsecond
	}
	if c.chance(0.6) {
		l.Rate = pick[uint64](c.rnd, 64_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
		if c.chance(0.6) {
			l.Queue = sim.Limit{Packets: pick[uint32](c.rnd, 1, 2, 5, 20, 100)}
		}
		if c.chance(0.4) {
			l.Mark = sim.Limit{Packets: pick[uint32](c.rnd, 1, 3, 10)}
		}
	}
	if c.chance(0.4) {
		l.Jitter = sim.Jitter{Amount: l.Delay / pick[time.Duration](c.rnd, 1, 2, 10), Normal: c.chance(0.3), Overtake: c.chance(0.5)}
	}
	if c.chance(0.7) {
		l.Loss = append(l.Loss, sim.Bernoulli{P: pick(c.rnd, 0.001, 0.01, 0.05, 0.1, 0.2, 0.3)})
	} else if c.chance(0.5) {
		l.Loss = append(l.Loss, sim.GilbertElliott{P: 0.02, R: pick(c.rnd, 0.1, 0.3), Good: 0, Bad: pick(c.rnd, 0.7, 1)})
	}
	if c.chance(0.4) {
		l.Reorder = sim.Reorder{Probability: pick(c.rnd, 0.01, 0.1, 0.5), Gap: pick[uint32](c.rnd, 0, 3),
			Extra: pick(c.rnd, 0, l.Delay/2, l.Delay*3)}
	}
	if c.chance(0.4) {
		l.Duplicate = pick(c.rnd, 0.01, 0.1, 0.3)
	}
	if c.chance(0.4) {
		l.Corrupt = pick(c.rnd, 0.01, 0.1)
	}
	return l
}

func (c *chaosRun) policy() tcptimers.Policy {
	var p tcptimers.Policy
	if names := append(tcptimers.PolicyNames(), tcptimers.PolicyNames()...); c.chance(0.7) {
		p, _ = tcptimers.NewPolicy(pick(c.rnd, names...))
	} else {
		p, _ = tcptimers.NewPolicy(pick(c.rnd, "internet", "datacenter", "linux", "linux-jiffies", "bsd"))
	}
	was := p
	if c.chance(0.5) {
		p.Tick = c.between(time.Microsecond, 500*time.Millisecond)
	}
	if c.chance(0.4) {
		p.Bounds.Min = pick(c.rnd, 1, time.Millisecond, 20*time.Millisecond, 200*time.Millisecond, time.Second)
	}
	if c.chance(0.3) {
		p.VarMin = pick(c.rnd, 0, time.Millisecond, 50*time.Millisecond)
	}
	if c.chance(0.3) {
		p.Rexmit = pick(c.rnd, tcptimers.RexmitPerSegment, tcptimers.RexmitRestart, tcptimers.RexmitRTORestart)
	}
	if c.chance(0.3) {
		p.RACK, p.TLP, p.FRTO = c.chance(0.5), c.chance(0.5), c.chance(0.5)
	}
	if c.chance(0.2) {
		p.Jitter = 0.5
	}
	if p.Check() != nil {
		p = was
	}
	// No timeout gives up, so each run must end with all data delivered.
	p.R2, p.SynR2, p.MaxRexmits = 1<<14*time.Hour, 1<<14*time.Hour, 0
	return p
}

func (c *chaosRun) engine() tcp.EngineConfig {
	cfg := tcp.EngineConfig{Conn: tcp.DefaultConfig(c.policy()), Seed: c.rnd.Uint64()}
	for i := range cfg.Key {
		cfg.Key[i] = byte(c.rnd.Uint32())
	}
	if c.chance(0.2) {
		cfg.Scheme = pick(c.rnd, "scheme2", "scheme3", "scheme5", "scheme6-eager", "scheme7")
	}
	ip := ipv4Len
	if c.ipv6 {
		ip = ipv6Len
	}
	cfg.MTU = max(ipv6Len+tcp.HeaderLen+tcp.MinMSS, ip+tcp.HeaderLen+pick(c.rnd, 64, 64+c.rnd.IntN(64), 536, 1460, 1460, 8960))
	if c.chance(0.15) {
		cfg.SYNCookies = pick(c.rnd, tcp.CookiesAlways, tcp.CookiesNever)
	}
	k := &cfg.Conn
	k.Control = pick(c.rnd, congestion.Names()...)
	k.VegasCheck, k.Pacing = c.chance(0.2), c.chance(0.25)
	k.Congestion.SlowStart = congestion.SlowStart(c.rnd.IntN(int(congestion.HyStartLinux) + 1))
	k.Congestion.Validate, k.Congestion.LimitBurst = c.chance(0.3), c.chance(0.3)
	k.Timestamps, k.WScale, k.SACK, k.ECN = c.chance(0.7), c.chance(0.7), c.chance(0.7), c.chance(0.4)
	k.TimestampTick = pick(c.rnd, time.Microsecond, time.Millisecond, 10*time.Millisecond, time.Second)
	k.Congestion.Reduce = pick(c.rnd, congestion.ReduceFlight, congestion.ReduceCwnd)
	k.Congestion.CountDelivered = c.chance(0.5)
	k.ResetAtAck, k.WholeSACKs = c.chance(0.5), c.chance(0.5)
	k.AckPush, k.Minshall, k.PRRInCWR = c.chance(0.3), c.chance(0.5), c.chance(0.5)
	k.Policy.EmptyProbes, k.Policy.DelAck.PingPong = c.chance(0.3), c.chance(0.3)
	if c.chance(0.5) {
		k.RecvBuffer = pick[uint32](c.rnd, 1, 2, 10, 63, 64, 500, 3000, 20000, 65535)
		k.RecvBufferMax = pick(c.rnd, 0, k.RecvBuffer*4)
	}
	k.MaxOutOfOrder = pick(c.rnd, 1, 2, 8, 1024)
	k.MaxSegments = pick(c.rnd, 1, 2, 10, 1<<16)
	if c.chance(0.3) {
		// Not 0: two ends in disagreement over a path that duplicates would answer each other ever
		// more often.
		k.InvalidAckInterval = pick(c.rnd, time.Millisecond, 10*time.Millisecond)
	}
	o := &k.Socket
	o.NoDelay, o.Cork, o.QuickAck = c.chance(0.3), c.chance(0.15), c.chance(0.15)
	if c.chance(0.3) {
		o.MaxSeg = uint16(64 + c.rnd.IntN(1400))
	}
	o.Keepalive, o.KeepIdle, o.KeepInterval, o.KeepCount = c.chance(0.2), c.between(time.Second, time.Hour), time.Minute, 255
	return cfg
}

// application draws what one side does. window is what the other can receive at a time.
func (c *chaosRun) application(s *chaosSide, window uint32, mustWrite bool) {
	most := min(uint64(window)*60, uint64(s.cfg.MTU)*60, 60_000)
	s.bytes = c.rnd.Uint64N(most) + 1
	if !mustWrite && c.chance(0.1) {
		s.bytes = 0
	}
	switch {
	case s.bytes == 0:
		s.plan = "writes nothing"
		if s.finish {
			s.apps = append(s.apps, AppFunc(func(_ wheel.Time, s *Session, ev tcp.Events) {
				if ev.Has(tcp.EventConnected) {
					s.Shutdown()
				}
			}))
		}
	case c.chance(0.2):
		o := &OnOff{Bursts: 1 + c.rnd.IntN(8), Pause: c.between(time.Microsecond, 5*time.Second), Finish: s.finish}
		o.Burst = max(uint32(s.bytes)/uint32(o.Bursts), 1)
		s.bytes = uint64(o.Burst) * uint64(o.Bursts)
		s.plan = fmt.Sprintf("writes %d bursts of %d every %v", o.Bursts, o.Burst, o.Pause)
		s.apps = append(s.apps, o)
	default:
		b := &Bulk{Bytes: s.bytes, Chunk: pick[uint32](c.rnd, 0, 1, 10, 100, 1000, 5000), More: c.chance(0.2),
			Buffer: pick[uint32](c.rnd, 0, 1, 100, 10000), Finish: s.finish, Record: c.more.IntN(4) == 0}
		if b.Chunk == 1 || b.Buffer == 1 {
			b.Bytes = min(b.Bytes, 300)
		}
		if (b.Record || s.cfg.Conn.Socket.NotSentLowat == 1) && b.Chunk > 0 {
			b.Bytes = min(b.Bytes, 300*uint64(b.Chunk)) // each is a segment
		}
		s.bytes = b.Bytes
		s.plan = fmt.Sprintf("writes %d, %d at a time, more %v, records %v, buffer %d", b.Bytes, b.Chunk, b.More, b.Record, b.Buffer)
		s.apps = append(s.apps, b)
	}
	sink := &Sink{}
	if c.chance(0.3) {
		sink.Chunk = pick[uint32](c.rnd, 50, 500, 5000)
		sink.Pause = c.between(time.Microsecond, 200*time.Millisecond)
	}
	if c.chance(0.2) {
		sink.Delay = c.between(time.Millisecond, 20*time.Second)
	}
	s.plan += fmt.Sprintf("; reads %d every %v after %v", sink.Chunk, sink.Pause, sink.Delay)
	closer := &Closer{Bytes: s.bytes, Shutdown: c.chance(0.5)}
	if s.finish {
		s.plan += "; finishes first"
	}
	s.apps = append(s.apps, sink, closer)
}

// newChaosRun draws the run of a seed.
func newChaosRun(seed uint64) (*chaosRun, error) {
	c := &chaosRun{seed: seed, rnd: rand.New(rand.NewPCG(seed, 1)), more: rand.New(rand.NewPCG(seed, 2))}
	c.ipv6, c.simultaneous = c.chance(0.4), c.chance(0.2)
	c.there, c.back = c.link(), c.link()
	ends := pick(c.rnd, [2]bool{true, false}, [2]bool{false, true}, [2]bool{true, true})
	addrs := [2]string{"10.0.0.1", "10.0.0.2"}
	if c.ipv6 {
		addrs = [2]string{"fd00::1", "fd00::2"}
	}
	var err error
	if c.world, err = NewWorld(sim.Config{Seed: seed}); err != nil {
		return nil, err
	}
	c.world.Verify = true
	for i := range c.sides {
		s := &c.sides[i]
		s.finish = ends[i]
		s.cfg = c.engine()
		s.cfg.Conn.Socket.NotSentLowat = pick[uint32](c.more, 0, 0, 0, 1, 1000, 10000)
		if s.host, err = c.world.NewHost(netip.MustParseAddr(addrs[i]), s.cfg); err != nil {
			return c, err
		}
	}
	for i := range c.sides {
		mustWrite := i == 0 && c.sides[1].cfg.SYNCookies == tcp.CookiesAlways
		c.application(&c.sides[i], c.sides[1-i].cfg.Conn.RecvBuffer, mustWrite)
	}
	if c.sides[1].cfg.SYNCookies == tcp.CookiesAlways {
		// A listener with cookies keeps no state. It resets the connection unless the first segment
		// that it receives follows the SYN. So the path there must keep the order, and the client
		// must write.
		c.there.Loss, c.there.Reorder, c.there.Jitter.Overtake, c.there.Corrupt = nil, sim.Reorder{}, false, 0
		c.there.Queue = sim.Limit{}
	}
	ab, ba, err := c.world.Join("a", c.sides[0].host, "b", c.sides[1].host, c.there, c.back)
	if err != nil {
		return c, err
	}
	c.world.Net.Tap(ab, &c.hash)
	c.world.Net.Tap(ba, &c.hash)
	return c, nil
}

// start opens the connection.
func (c *chaosRun) start() (err error) {
	a, b := &c.sides[0], &c.sides[1]
	take := func(s *chaosSide) App {
		return AppFunc(func(now wheel.Time, session *Session, ev tcp.Events) {
			s.session = session
			s.apps.OnEvents(now, session, ev)
		})
	}
	if c.simultaneous {
		if a.session, err = a.host.DialFrom(1000, b.host, 2000, nil, a.apps); err == nil {
			b.session, err = b.host.DialFrom(2000, a.host, 1000, nil, b.apps)
		}
		return err
	}
	served := false
	err = b.host.Listen(2000, tcp.ListenConfig{Backlog: 4}, func() App {
		if served { // a duplicate of an old SYN, or of a cookie's ACK
			return AppFunc(func(_ wheel.Time, s *Session, ev tcp.Events) {
				if ev.Has(tcp.EventConnected) {
					s.Abort()
				}
			})
		}
		served = true
		return take(b)
	})
	if err == nil {
		a.session, err = a.host.DialFrom(1000, b.host, 2000, nil, a.apps)
	}
	return err
}

const (
	chaosEvents  = 30_000_000 // mostly wake-ups of wheels with few slots
	chaosPackets = 1_000_000  // sent and arrived
	chaosTime    = wheel.Time(4000 * time.Hour)
)

// run runs to the end. check verifies all invariants after each event.
func (c *chaosRun) run(check bool) error {
	if err := c.start(); err != nil {
		return err
	}
	net := c.world.Net
	over := func() bool {
		for i := range c.sides {
			if s := c.sides[i].session; s == nil || !s.Closed() {
				return false
			}
		}
		return net.InFlight() == 0
	}
	for n := 0; !over(); n++ {
		if !net.Step() {
			return fmt.Errorf("no event is left: %s", c.standing())
		}
		if n >= chaosEvents || c.hash.n >= chaosPackets || net.Now() > chaosTime {
			return fmt.Errorf("no end after %d events and %d packets, at %v: %s", n, c.hash.n, time.Duration(net.Now()), c.standing())
		}
		if err := c.faults(); err != nil {
			return err
		}
		if err := c.checkRTO(); err != nil {
			return fmt.Errorf("event %d, at %v: %w", n, time.Duration(net.Now()), err)
		}
		if check {
			for i := range c.sides {
				if err := c.sides[i].host.engine.Check(); err != nil {
					return fmt.Errorf("event %d, at %v: side %d: %w", n, time.Duration(net.Now()), i, err)
				}
			}
		}
	}
	return c.ended()
}

// checkRTO checks that no timeout, before backoff, is more than ten times what the path explains:
// a round trip of the oldest packet so far, a second for a delayed ACK, ticks and floors, and the
// longest backoff. If an ACK is lost, the peer may say nothing until the next retransmission. An
// RTT sample from an old echo makes a longer timeout.
func (c *chaosRun) checkRTO() error {
	most := 2*c.hash.oldest + time.Second
	for i := range c.sides {
		most += c.sides[i].cfg.Conn.Policy.Tick + c.sides[i].cfg.Conn.TimestampTick
	}
	var worst tcp.Info
	for i := range c.sides {
		// Half-open connections count, too: a peer is silent while its lost SYN-ACKs back off.
		c.sides[i].host.engine.Sockets(func(s *tcp.Socket) {
			in := s.Conn().Info(c.world.Net.Now())
			if in.Backoff > 0 || in.Probes > 0 {
				c.backedOff = max(c.backedOff, in.RTO)
			}
			if in.SRTT+4*in.RTTVar > worst.SRTT+4*worst.RTTVar {
				worst = in
			}
		})
	}
	if most += c.backedOff; worst.SRTT > 0 && worst.SRTT+4*worst.RTTVar > 10*most {
		return fmt.Errorf("SRTT %v and RTTVAR %v, and the path explains %v: %s", worst.SRTT, worst.RTTVar, most, c.standing())
	}
	return nil
}

func (c *chaosRun) faults() error {
	if f := c.world.Faults(); len(f) > 0 {
		return f[0]
	}
	return nil
}

// ended reports what is wrong at the end.
func (c *chaosRun) ended() error {
	all := true
	for i := range c.sides {
		s, peer := &c.sides[i], &c.sides[1-i]
		all = all && s.session.Arrived() == peer.bytes && s.session.Ended()
		if err := s.host.engine.Check(); err != nil {
			return fmt.Errorf("at the end: side %d: %w", i, err)
		}
		if at, ok := s.host.engine.NextTimeout(); ok {
			return fmt.Errorf("side %d: a timer is left, at %v", i, time.Duration(at))
		}
		s.host.engine.Sockets(func(*tcp.Socket) { all = false })
	}
	if !all {
		return fmt.Errorf("some data has not arrived: %s", c.standing())
	}
	for i := range c.sides {
		// A RST may be the peer's last word: its TIME-WAIT ended before an ACK of the last FIN
		// arrived.
		if err := c.sides[i].session.Err(); err != nil && err != tcp.ErrReset {
			return fmt.Errorf("side %d: %w", i, err)
		}
	}
	return nil
}

// standing describes the progress of both sides.
func (c *chaosRun) standing() string {
	var b strings.Builder
	for i := range c.sides {
		s := c.sides[i].session
		if s == nil {
			fmt.Fprintf(&b, "side %d has no connection; ", i)
			continue
		}
		fmt.Fprintf(&b, "side %d is %v, has written %d of %d, acked %d, received %d of %d, read %d, ended %v, closed %v, err %v; ", i,
			s.Conn().State(), s.Wrote(), c.sides[i].bytes, s.Conn().Acked(), s.Arrived(), c.sides[1-i].bytes, s.Read(), s.Ended(),
			s.Closed(), s.Err())
	}
	return b.String()
}

// String describes the plan.
func (c *chaosRun) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, ipv6 %v, simultaneous open %v\nthere %+v\nback  %+v\n", c.seed, c.ipv6, c.simultaneous, c.there, c.back)
	for i := range c.sides {
		s := &c.sides[i]
		fmt.Fprintf(&b, "side %d: mtu %d, scheme %q, cookies %d, %s\n  %+v\n", i, s.cfg.MTU, s.cfg.Scheme, s.cfg.SYNCookies, s.plan, s.cfg.Conn)
	}
	return b.String()
}

func chaosOne(t *testing.T, seed uint64, check bool) (sum, events uint64, ok bool) {
	t.Helper()
	c, err := newChaosRun(seed)
	if err == nil {
		if *chaosSeed != 0 {
			tap := &chaosTrace{t: t, hash: &c.hash}
			c.world.Net.Tap(0, tap)
			c.world.Net.Tap(1, tap)
		}
		func() {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("seed %d panics at %v; repeat with: go test ./netstack/sim/host -run TestChaos -chaos.seed %d",
						seed, time.Duration(c.world.Net.Now()), seed)
					panic(r)
				}
			}()
			err = c.run(check)
		}()
	}
	if err != nil {
		t.Errorf("seed %d: %v\nrepeat with: go test ./netstack/sim/host -run TestChaos -chaos.seed %d -v\n%v", seed, err, seed, c)
	}
	sum, events = c.hash.total()
	return sum, events, err == nil
}

// TestChaos lets random ends exchange data over random paths, both ways. Every byte arrives once
// and in order, every connection ends, no timer remains, and a seed repeats its run exactly.
func TestChaos(t *testing.T) {
	if *chaosSeed != 0 {
		chaosOne(t, *chaosSeed, true)
		return
	}
	seeds := *chaosSeeds
	if seeds == 0 {
		seeds = 10_000
		switch {
		case testing.Short() || raceDetector:
			seeds = 500
		case os.Getenv("TCPWHEEL_LONG") == "":
			seeds = 1_000
		}
	}
	var events uint64
	failed := 0
	for seed := *chaosFirst; seed < *chaosFirst+uint64(seeds); seed++ {
		sum, n, ok := chaosOne(t, seed, seed%16 == 0)
		events += n
		if seed%25 == 0 && ok {
			if again, m, _ := chaosOne(t, seed, false); again != sum || m != n {
				t.Errorf("seed %d: %d events with sum %#x, and then %d with %#x", seed, n, sum, m, again)
			}
		}
		if !ok {
			if failed++; *chaosSeeds == 0 || failed == 20 {
				return // one failure is enough by default
			}
		}
	}
	t.Logf("%d seeds, %d packets sent and arrived", seeds, events)
}

// chaosTrace logs packets for another tap.
type chaosTrace struct {
	t    *testing.T
	hash *hasher
	n    int
}

// Sent implements sim.Tap.
func (x *chaosTrace) Sent(now wheel.Time, d *Datagram, f sim.Fate) {
	x.hash.Sent(now, d, f)
	if x.n++; x.n < 20000 {
		h := &d.Body.Header
		x.t.Logf("%12.6f %d>%d %v seq %d ack %d win %d len %d offset %d attempt %d opts %+v %v", time.Duration(now).Seconds(), d.From,
			d.To, h.Flags, h.Seq, h.Ack, h.Window, d.Body.Len, d.Body.Offset, d.Attempt, h.Options, f)
	}
}

// Arrived implements sim.Tap.
func (x *chaosTrace) Arrived(now wheel.Time, d *Datagram) { x.hash.Arrived(now, d) }
