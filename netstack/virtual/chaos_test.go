package virtual_test

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/netstack/virtual"
	"tcpwheel/tcptimers"
)

var (
	chaosSeeds = flag.Int("chaos.seeds", 0, "number of seeds that TestChaos runs; 0 is 100, 20 with -short, or 1,000 if TCPWHEEL_LONG is set")
	chaosFirst = flag.Uint64("chaos.first", 1, "the first of the -chaos.seeds seeds")
	chaosSeed  = flag.Uint64("chaos.seed", 0, "the only seed that TestChaos runs; 0 runs many")
)

// chaos is a run of random connections between two stacks over a random link, all determined by the
// seed. An end may crash and come back without its connections.
type chaos struct {
	seed   uint64
	rng    *rand.Rand
	more   *rand.Rand // for what was added later, so that older draws stay
	cfg    virtual.Config
	net    *virtual.Net
	crash  bool // an end crashes: transfers may fail, but not corrupt data
	failed error
	moved  uint64 // bytes read

	backedOff time.Duration // the longest timeout of a backoff so far
}

func chaosPick[T any](c *chaos, of ...T) T { return of[c.rng.IntN(len(of))] }

func newChaos(seed uint64) *chaos {
	c := &chaos{seed: seed, rng: rand.New(rand.NewPCG(seed, 7)), more: rand.New(rand.NewPCG(seed, 8))}
	c.crash = c.rng.IntN(3) == 0
	c.cfg.Seed = seed
	for i := range 2 {
		c.cfg.Link[i] = c.link()
		policy, err := tcptimers.ParsePolicy(chaosPick(c, tcptimers.Names()...))
		if err != nil {
			panic(err)
		}
		conn := tcp.DefaultConfig(policy)
		conn.Control = chaosPick(c, congestion.Names()...)
		conn.Timestamps, conn.SACK, conn.WScale = c.rng.IntN(2) == 0, c.rng.IntN(4) > 0, c.rng.IntN(4) > 0
		conn.ECN, conn.Pacing = c.rng.IntN(2) == 0, c.rng.IntN(3) == 0
		c.cfg.TCP[i] = virtual.TCP{
			Config:     netstack.Config{Conn: conn, CheckInvariants: true},
			NoSACK:     !conn.SACK,
			SendBuffer: chaosPick(c, 0, 5000, 100_003), RecvBuffer: chaosPick(c, 0, 4096, 65_536, 1<<20),
		}
	}
	c.cfg.MTU = chaosPick[uint32](c, 576, 1500, 9000)
	return c
}

func (c *chaos) link() (l sim.LinkConfig) {
	l.Delay = chaosPick(c, 0, 10*time.Microsecond, time.Millisecond, 20*time.Millisecond, 200*time.Millisecond)
	if c.rng.IntN(2) == 0 {
		l.Rate = chaosPick[uint64](c, 1_000_000, 10_000_000, 1_000_000_000)
		l.Queue = sim.Limit{Packets: chaosPick[uint32](c, 5, 20, 100)}
		l.Mark = sim.Limit{Packets: chaosPick[uint32](c, 0, 3)}
	}
	l.Loss = append(l.Loss, sim.Bernoulli{P: chaosPick(c, 0, 0, 0.01, 0.05, 0.2)})
	if c.rng.IntN(2) == 0 {
		l.Reorder = sim.Reorder{Probability: chaosPick(c, 0.01, 0.3), Extra: chaosPick(c, time.Microsecond, l.Delay/2, l.Delay*2)}
	}
	l.Duplicate, l.Corrupt = chaosPick(c, 0, 0, 0.01, 0.2), chaosPick(c, 0, 0, 0.01)
	return l
}

// mayFail reports whether a transfer may fail: an end has crashed, or has given up as its policy
// says, because too many packets were lost.
func (c *chaos) mayFail() bool {
	for i := range 2 {
		if n, _ := netstack.Counters(c.net.Stack(i)); n.TCPAbortOnTimeout > 0 {
			return true
		}
	}
	return c.crash
}

func (c *chaos) fail(format string, args ...any) {
	if c.failed == nil {
		c.failed = fmt.Errorf(format, args...)
	}
}

// chaosByte is byte i of stream k.
func chaosByte(k, i int) byte { return byte((i*7 + i>>8*13 + k*101) % 251) }

// send writes n bytes of stream k in random pieces, with pauses. It reports success.
func (c *chaos) send(w *sockets.Conn, k, n int) bool {
	for at := 0; at < n; {
		b := make([]byte, min(n-at, 1+c.rng.IntN(chaosPick(c, 10, 3000, 100_000))))
		for i := range b {
			b[i] = chaosByte(k, at+i)
		}
		write := w.Write
		if c.more.IntN(8) == 0 {
			write = w.WriteRecord
		}
		m, err := write(b)
		at += m
		if err != nil {
			if !c.mayFail() {
				c.fail("stream %d: write at %d of %d: %w", k, at, n, err)
			}
			return false
		}
		if c.rng.IntN(8) == 0 {
			c.net.Tasks.Sleep(time.Duration(c.rng.Int64N(int64(50 * time.Millisecond))))
		}
	}
	return true
}

// receive reads stream k to its end, n bytes, and compares it.
func (c *chaos) receive(r *sockets.Conn, k, n int) {
	buf := make([]byte, chaosPick(c, 100, 4096, 65_536))
	for at := 0; ; {
		m, err := r.Read(buf[:1+c.rng.IntN(len(buf))])
		for i := range m {
			if buf[i] != chaosByte(k, at+i) {
				c.fail("stream %d: byte %d is %d, want %d", k, at+i, buf[i], chaosByte(k, at+i))
				return
			}
		}
		at += m
		c.moved += uint64(m)
		switch {
		case err == nil:
		case errors.Is(err, io.EOF) && at == n:
			return
		case !c.mayFail() || errors.Is(err, io.EOF) && at > n:
			c.fail("stream %d: read at %d of %d: %w", k, at, n, err)
			return
		default:
			return
		}
		if c.rng.IntN(8) == 0 {
			c.net.Tasks.Sleep(time.Duration(c.rng.Int64N(int64(20 * time.Millisecond))))
		}
	}
}

// longest is how long a run may take. The timers of 4.4BSD and lossy links take long.
const longest = 12 * time.Hour

// use sends and receives on one end of a connection, and closes it. out and in are the streams.
func (c *chaos) use(conn *sockets.Conn, out, in [2]int, done func()) {
	limit := longest
	if c.crash {
		limit = time.Hour // a peer that is gone is noticed by the deadline at the latest
	}
	conn.SetDeadline(c.net.Clock.Now().Add(limit))
	if c.more.IntN(4) == 0 {
		if err := conn.SetNotSentLowat([]uint32{1, 1000, 10_000, 100_000}[c.more.IntN(4)]); err != nil && !c.mayFail() {
			c.fail("lowat: %w", err)
		}
	}
	left := 2
	end := func() {
		if left--; left == 0 {
			conn.Close()
			done()
		}
	}
	c.net.Tasks.Go(func() {
		defer end()
		if c.send(conn, out[0], out[1]) {
			conn.CloseWrite()
		}
	})
	c.net.Tasks.Go(func() {
		defer end()
		c.receive(conn, in[0], in[1])
	})
}

// run runs the connections to their end.
func (c *chaos) run() error {
	var err error
	if c.net, err = virtual.New(c.cfg); err != nil {
		return err
	}
	defer c.net.Close()
	conns := 1 + c.rng.IntN(3)
	left := 2 * conns
	done := func() { left-- }
	var sizes [3][2]int
	for i := range conns {
		sizes[i] = [2]int{c.rng.IntN(chaosPick(c, 1, 5000, 200_000)), c.rng.IntN(chaosPick(c, 1, 5000, 200_000))}
	}
	c.net.Tasks.Go(func() {
		l, err := c.net.Listen(0, 80)
		if err != nil {
			c.fail("listen: %w", err)
			return
		}
		c.net.Tasks.Go(func() {
			c.net.Tasks.Sleep(2 * longest)
			l.Close()
		})
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			i := int(conn.(*sockets.Conn).RemoteAddrPort().Port()) - 40_000
			c.use(conn.(*sockets.Conn), [2]int{2 * i, sizes[i][0]}, [2]int{2*i + 1, sizes[i][1]}, done)
		}
	})
	for i := range conns {
		c.net.Tasks.Go(func() {
			c.net.Tasks.Sleep(time.Duration(c.rng.Int64N(int64(time.Second))))
			conn, err := c.net.Dial(1, uint16(40_000+i), 80)
			if err != nil {
				if !c.mayFail() {
					c.fail("dial: %w", err)
				}
				left -= 2
				return
			}
			c.use(conn, [2]int{2*i + 1, sizes[i][1]}, [2]int{2 * i, sizes[i][0]}, done)
		})
	}
	if c.crash {
		c.net.Clock.AfterFunc(time.Duration(c.rng.Int64N(int64(3*time.Second))), c.crashEnd)
	}
	steps := 0
	c.net.Run(longest, func() bool {
		if steps++; steps%8 == 0 {
			c.checkRTO()
		}
		return left == 0 || c.failed != nil || c.crash && c.net.Now() > 2*3600e9
	})
	if c.failed == nil && left > 0 && !c.mayFail() {
		c.fail("%d ends are not done after %v", left, longest)
	}
	// The listener closes, and connections end: with MSS, policies and losses as they are, after
	// hours.
	c.net.Run(3*longest, nil)
	for i := range 2 {
		if n := len(c.net.Stack(i).RegisteredEndpoints()); n > 0 && c.failed == nil {
			c.fail("end %d has %d endpoints left", i, n)
		}
		if counts, _ := netstack.CountStates(c.net.Stack(i)); len(counts) > 0 && c.failed == nil {
			c.fail("end %d has connections left: %v", i, counts)
		}
	}
	if n := c.net.Tasks.Unfinished(); n > 0 && c.failed == nil {
		c.fail("%d tasks do not end", n)
	}
	return c.failed
}

// oldest returns the age that a packet can reach on a link with this MTU.
func oldest(l *sim.LinkConfig, mtu uint32) time.Duration {
	age := l.Delay + l.Reorder.Extra
	if l.Rate > 0 {
		age += time.Duration(uint64(l.Queue.Packets+2) * uint64(mtu) * 8 * uint64(time.Second) / l.Rate)
	}
	return age
}

// checkRTO checks that no timeout, before backoff, is more than ten times what the path explains:
// its longest round trip, a second for a delayed ACK, ticks and floors, and the longest backoff. If
// an ACK is lost, the peer may say nothing until the next retransmission. An RTT sample from an old
// echo makes a longer timeout.
func (c *chaos) checkRTO() {
	most := c.backedOff + time.Second
	for i := range 2 {
		most += oldest(&c.cfg.Link[i], c.cfg.MTU) + c.cfg.TCP[i].Config.Conn.Policy.Tick
	}
	for i := range 2 {
		for _, e := range c.net.Stack(i).RegisteredEndpoints() {
			e, ok := e.(*netstack.Endpoint)
			if !ok {
				continue
			}
			in := e.ConnInfo()
			if in.Backoff > 0 || in.Probes > 0 {
				c.backedOff = max(c.backedOff, in.RTO)
			}
			if in.SRTT > 0 && in.SRTT+4*in.RTTVar > 10*most {
				c.fail("end %d: SRTT %v and RTTVAR %v, and the path explains %v", i, in.SRTT, in.RTTVar, most)
			}
		}
	}
}

// crashEnd kills an end: its connections vanish without a word. It comes back after a while, or at
// once.
func (c *chaos) crashEnd() {
	s := c.net.Stack(c.rng.IntN(2))
	if err := s.DisableNIC(1); err != nil {
		c.fail("disable: %s", err)
	}
	for _, e := range s.RegisteredEndpoints() {
		if e, ok := e.(*netstack.Endpoint); ok && e.EndpointState() != netstack.StateListen {
			e.Abort() // its RST does not leave
		}
	}
	c.net.Clock.AfterFunc(chaosPick(c, 0, time.Second, time.Minute), func() {
		if err := s.EnableNIC(1); err != nil {
			c.fail("enable: %s", err)
		}
	})
}

// TestChaos runs random transfers between two stacks over random links. Every byte must arrive, or,
// where an end crashes, no wrong one. At the end no connection is left. The invariants of each
// connection are checked after each step.
func TestChaos(t *testing.T) {
	if *chaosSeed != 0 {
		c := newChaos(*chaosSeed)
		t.Logf("%+v", c.cfg)
		if err := c.run(); err != nil {
			t.Error(err)
		}
		return
	}
	n := *chaosSeeds
	switch {
	case n > 0:
	case testing.Short():
		n = 20
	case os.Getenv("TCPWHEEL_LONG") != "":
		n = 1000
	default:
		n = 100
	}
	crashes, moved := 0, uint64(0)
	for seed := range uint64(n) {
		c := newChaos(*chaosFirst + seed)
		if err := c.run(); err != nil {
			t.Errorf("seed %d: %v\nrepeat with: go test ./netstack/virtual -run TestChaos -chaos.seed %d -v", c.seed, err, c.seed)
		}
		if moved += c.moved; c.crash {
			crashes++
		}
	}
	t.Logf("%d seeds, %d of them with a crash, %d bytes", n, crashes, moved)
}
