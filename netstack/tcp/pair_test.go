package tcp

import (
	"fmt"
	"math/rand"
	"os"
	"testing"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// scaled returns long if TCPWHEEL_LONG is set, and short for the default run.
func scaled(short, long int) int {
	if os.Getenv("TCPWHEEL_LONG") != "" {
		return long
	}
	return short
}

// pair is two connections with a path between them, in virtual time: the smallest setup that
// exercises all of Conn. Timers and packets are plain lists, for trustworthiness. Each step checks
// the invariants.
type pair struct {
	t     testing.TB
	now   wheel.Time
	ends  [2]pairEnd
	wire  []pairPacket
	delay time.Duration
	drop  func(p *pairPacket) bool // nil drops nothing
	log   bool
	n     int // packets sent so far
	merge int // segments merged for side 1 if they arrive together; 0 is 1
}

type pairEnd struct {
	conn    Conn
	out     Output
	timers  map[Slot]wheel.Time
	events  Events // all so far
	got     uint64 // readable bytes, in order
	passive bool
	lazy    bool // the application does not read on its own
	fired   map[tcptimers.Kind]int
}

type pairPacket struct {
	from int
	n    int // of all packets, from 1
	at   wheel.Time
	out  Outgoing
}

func newPair(t testing.TB, delay time.Duration, a, b Config) *pair {
	t.Helper()
	p := &pair{t: t, delay: delay}
	for i, cfg := range []Config{a, b} {
		if err := cfg.Check(); err != nil {
			t.Fatal(err)
		}
		e := &p.ends[i]
		e.conn.Init(&cfg, Path{MTU: 1500}, Seq(0xfffffff0+uint32(i)*1000), uint32(i)*77)
		e.out.Rand = rand.New(rand.NewSource(1))
		e.timers = map[Slot]wheel.Time{}
		e.fired = map[tcptimers.Kind]int{}
		e.passive = i == 1
	}
	return p
}

// do runs an action of side i, and carries out its results.
func (p *pair) do(i int, f func(c *Conn, o *Output)) {
	p.t.Helper()
	e := &p.ends[i]
	f(&e.conn, &e.out)
	for _, op := range e.out.Timers {
		if op.Start {
			e.timers[op.Slot] = op.At
		} else {
			delete(e.timers, op.Slot)
		}
	}
	for _, s := range e.out.Segments {
		p.n++
		pkt := pairPacket{from: i, n: p.n, at: p.now.Add(p.delay), out: s}
		dropped := p.drop != nil && p.drop(&pkt)
		if p.log {
			p.t.Logf("%v %d> %s seq %d len %d ack %d win %d %s%s", p.now, i, s.Header.Flags, s.Header.Seq-e.conn.snd.iss, s.Len,
				s.Header.Ack-p.ends[1-i].conn.snd.iss, s.Header.Window, pairSACK(s.Header.Options, p.ends[1-i].conn.snd.iss), map[bool]string{true: " dropped"}[dropped])
		}
		if !dropped {
			p.wire = append(p.wire, pkt)
		}
	}
	e.events |= e.out.Events
	readable := e.out.Events&EventReadable != 0
	e.out.Reset()
	if err := e.conn.Check(); err != nil {
		p.t.Fatalf("at %v, side %d: %v", p.now, i, err)
	}
	armed := map[Slot]bool{}
	e.conn.life.all(&e.conn).each(&e.conn.snd.fl.sent, func(s Slot) { armed[s] = true })
	if fmt.Sprint(len(armed)) != fmt.Sprint(len(e.timers)) {
		p.t.Fatalf("at %v, side %d: timers %v run, the connection has started %v", p.now, i, e.timers, armed)
	}
	if readable && !e.lazy {
		n := uint32(e.conn.Received() - e.got)
		e.got = e.conn.Received()
		p.do(i, func(c *Conn, o *Output) { c.Consumed(p.now, n, o) })
	}
}

func pairSACK(o Options, iss Seq) string {
	s := ""
	for _, r := range o.SACK[:o.NumSACK] {
		s += fmt.Sprintf("[%d,%d)", r.Start-iss, r.End-iss)
	}
	return s
}

// step handles the next packet or timer before until, and reports whether there was one.
func (p *pair) step(until wheel.Time) bool {
	p.t.Helper()
	at, packet, side, slot := until.Add(1), -1, -1, Slot(0)
	for i := range p.wire {
		if p.wire[i].at < at {
			at, packet = p.wire[i].at, i
		}
	}
	for i := range p.ends {
		for s, d := range p.ends[i].timers {
			if d < at || d == at && side >= 0 && (i < side || i == side && s < slot) {
				at, side, slot, packet = d, i, s, -1
			}
		}
	}
	switch {
	case packet >= 0:
		pkt := p.wire[packet]
		p.wire = append(p.wire[:packet], p.wire[packet+1:]...)
		for n := 1; n < p.merge && pkt.from == 0 && pkt.out.Len > 0 && packet < len(p.wire); n++ {
			next := &p.wire[packet]
			if next.from != 0 || next.at != at || next.out.Len == 0 || next.out.Offset != pkt.out.Offset+uint64(pkt.out.Len) {
				break
			}
			pkt.out.Len += next.out.Len
			pkt.out.Header.Flags |= next.out.Header.Flags & PSH
			p.wire = append(p.wire[:packet], p.wire[packet+1:]...)
		}
		p.now = max(p.now, at)
		to := 1 - pkt.from
		p.do(to, func(c *Conn, o *Output) {
			in := &Inbound{Header: &pkt.out.Header, Len: pkt.out.Len}
			if c.State() == StateClosed && p.ends[to].passive && pkt.out.Header.Flags == SYN && c.err == ErrNone {
				c.Accept(p.now, in, o)
				return
			}
			before := c.Received()
			v := c.Input(p.now, in, o)
			if v.Len > 0 && v.Stream != pkt.out.Offset+uint64(v.Offset) {
				p.t.Fatalf("bytes from %d of the stream are taken for those from %d", pkt.out.Offset+uint64(v.Offset), v.Stream)
			}
			if c.Received() != before+uint64(v.InOrder) {
				p.t.Fatalf("%d bytes became readable, want %d", c.Received()-before, v.InOrder)
			}
		})
	case side >= 0:
		p.now = max(p.now, at)
		delete(p.ends[side].timers, slot)
		p.ends[side].fired[slot.Kind()]++
		if p.log {
			p.t.Logf("%v %d: timer %v %d", p.now, side, slot.Kind(), slot)
		}
		p.do(side, func(c *Conn, o *Output) { c.Expire(p.now, slot, o) })
	default:
		p.now = until
		return false
	}
	return true
}

func (p *pair) run(d time.Duration) {
	p.t.Helper()
	for until := p.now.Add(d); p.step(until); {
	}
}

func (p *pair) open() {
	p.t.Helper()
	p.do(0, func(c *Conn, o *Output) { c.Connect(p.now, o) })
	p.run(4*p.delay + 10*time.Second)
	for i := range p.ends {
		if s := p.ends[i].conn.State(); s != StateEstablished {
			p.t.Fatalf("side %d is in %v, want ESTABLISHED", i, s)
		}
	}
}

func (p *pair) write(i int, n uint32) {
	p.t.Helper()
	p.do(i, func(c *Conn, o *Output) { c.Wrote(p.now, n, 0, o) })
}

func (p *pair) shutdown(i int) {
	p.t.Helper()
	p.do(i, func(c *Conn, o *Output) { c.Shutdown(p.now, o) })
}

// pairConfigs are configurations with different means of loss recovery.
func pairConfigs() map[string]Config {
	m := map[string]Config{}
	for _, policy := range tcptimers.PolicyNames() {
		for _, sack := range []bool{true, false} {
			c := DefaultConfig(tcptimers.MustPolicy(policy))
			c.SACK = sack
			c.Timestamps = sack
			m[fmt.Sprintf("%s/sack=%v", policy, sack)] = c
		}
	}
	c := DefaultConfig(tcptimers.MustPolicy("per-segment"))
	c.Policy.RACK, c.Policy.TLP = false, false
	m["per-segment/rfc6675"] = c
	c = DefaultConfig(tcptimers.MustPolicy("per-segment"))
	c.Pacing, c.Control, c.VegasCheck = true, "vegas", true
	m["per-segment/vegas-paced"] = c
	return m
}

func TestTransferUnderLoss(t *testing.T) {
	for name, cfg := range pairConfigs() {
		t.Run(name, func(t *testing.T) {
			for seed := range int64(scaled(8, 20)) {
				p := newPair(t, 20*time.Millisecond, cfg, cfg)
				p.open()
				rng := rand.New(rand.NewSource(seed))
				rate := float64(seed) / 100
				if !cfg.SACK {
					// Without timestamps Karn's algorithm keeps the backoff, so heavy loss can
					// reach R2 by chance.
					rate = min(rate, 0.10)
				}
				p.drop = func(*pairPacket) bool { return rng.Float64() < rate }
				const n = 300_000
				p.write(0, n)
				p.write(1, n/3)
				p.shutdown(0)
				p.run(300 * time.Second)
				p.shutdown(1)
				p.run(700 * time.Second)
				if got := p.ends[1].got; got != n {
					t.Fatalf("seed %d: %d bytes arrived, want %d; state %v %v", seed, got, n, p.ends[0].conn.State(), p.ends[0].conn.Err())
				}
				if got := p.ends[0].got; got != n/3 {
					t.Fatalf("seed %d: %d bytes came back, want %d", seed, got, n/3)
				}
				for i := range p.ends {
					if s := p.ends[i].conn.State(); s != StateClosed {
						t.Errorf("seed %d: side %d is in %v, want CLOSED", seed, i, s)
					}
				}
			}
		})
	}
}
