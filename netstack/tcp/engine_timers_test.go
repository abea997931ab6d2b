package tcp

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

func TestTimersAreFreedAtTheEnd(t *testing.T) {
	p := newEnginePair(t, nil, nil)
	l := engineListen(t, p.server(), ListenConfig{Backlog: 1})
	client, server := p.connect(l)

	t.Log("# data under way: a timer for each segment")
	p.client().Wrote(p.now, client, 10_000, 0)
	runs := 0
	client.eachTimer(func(_ Slot, ref timerRef) {
		if ref.running() {
			runs++
		}
	})
	if runs < 7 {
		t.Errorf("%d timers run, want one for each of 7 segments at least", runs)
	}
	p.run(p.now.Add(time.Second))
	if got := server.Conn().Received(); got != 10_000 {
		t.Fatalf("received %d bytes, want 10000", got)
	}
	t.Log("# idle: the records are given back")
	if client.timers != nil {
		t.Errorf("idle: timers %+v, want none", client.timers)
	}
	t.Log("# both close, and TIME-WAIT passes")
	p.client().Close(p.now, client, NoLinger)
	p.server().Close(p.now, server, NoLinger)
	p.run(p.now.Add(10 * time.Minute))
	for i, s := range []*Socket{client, server} {
		if !p.events[s].Has(EventClosed) || s.Conn().State() != StateClosed || s.open() {
			t.Errorf("socket %d: %v, events %b, want it closed", i, s.Conn().State(), p.events[s])
		}
		if s.timers != nil || s.keepalive != 0 {
			t.Errorf("socket %d: timers %+v and %d are left", i, s.timers, s.keepalive)
		}
	}
	for i, e := range p.engines {
		if at, ok := e.NextTimeout(); ok {
			t.Errorf("engine %d: a timer is left at %v", i, at)
		}
		if e.socketCount() != 0 || e.timeWait != 0 {
			t.Errorf("engine %d: %d connections, %d in TIME-WAIT, want none", i, e.socketCount(), e.timeWait)
		}
	}
	t.Log("# calls on what is closed do nothing")
	for i, s := range []*Socket{client, server} {
		e := p.engines[i]
		e.Wrote(p.now, s, 1, 0)
		e.Consumed(p.now, s, 1)
		e.Shutdown(p.now, s)
		e.Close(p.now, s, 0)
		e.Abort(p.now, s)
		e.SetOptions(p.now, s, SocketOptions{})
		if len(e.Packets())+len(e.Notices()) != 0 {
			t.Errorf("engine %d: packets %q, %d notices", i, engineTexts(e), len(e.Notices()))
		}
		engineCheck(t, e)
	}
}

func TestClockStepsBack(t *testing.T) {
	e := newTestEngine(t, nil)
	e.Advance(wheel.Time(time.Hour))
	s, err := e.Dial(wheel.Time(time.Minute), engineClient, engineServer, nil)
	if err != nil {
		t.Fatal(err)
	}
	if at, ok := e.NextTimeout(); !ok || at < wheel.Time(time.Hour) {
		t.Errorf("timeout at %v, %v, want one after an hour", at, ok)
	}
	e.Reset()
	e.Advance(wheel.Time(2 * time.Minute))
	if len(e.Packets()) != 0 || s.Conn().State() != StateSynSent {
		t.Errorf("sent %q in %v, want nothing", engineTexts(e), s.Conn().State())
	}
	e.Advance(wheel.Time(time.Hour + 1100*time.Millisecond))
	if len(e.Packets()) != 1 {
		t.Errorf("sent %q, want the SYN again", engineTexts(e))
	}
}

// engineTransfer transfers data both ways over a wire that loses every seventh packet, and returns
// the log.
func engineTransfer(t *testing.T, change func(*EngineConfig)) []string {
	p := newEnginePair(t, change, change)
	p.lose = func(n int, _ *Packet) bool { return n%7 == 6 }
	l := engineListen(t, p.server(), ListenConfig{Backlog: 1})
	client, err := p.client().Dial(p.now, engineClient, engineServer, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.run(p.now.Add(10 * time.Second))
	server, ok := l.Accept()
	if !ok {
		t.Fatalf("nothing to accept; on the wire:\n%s", strings.Join(p.log, "\n"))
	}
	p.client().Wrote(p.now, client, 300_000, 0)
	p.server().Wrote(p.now, server, 30_000, 0)
	p.run(p.now.Add(time.Minute))
	p.client().Close(p.now, client, NoLinger)
	p.server().Close(p.now, server, NoLinger)
	p.run(p.now.Add(10 * time.Minute))
	if a, b := client.Conn().Received(), server.Conn().Received(); a != 30_000 || b != 300_000 {
		t.Errorf("received %d and %d bytes, want 30000 and 300000", a, b)
	}
	if a, b := client.Conn().State(), server.Conn().State(); a != StateClosed || b != StateClosed {
		t.Errorf("at the end in %v and %v, want CLOSED", a, b)
	}
	return p.log
}

func TestSameSeedSamePackets(t *testing.T) {
	first, second := engineTransfer(t, nil), engineTransfer(t, nil)
	if len(first) < 200 {
		t.Errorf("%d packets, want more for 330,000 bytes", len(first))
	}
	if !slices.Equal(first, second) {
		for i := range min(len(first), len(second)) {
			if first[i] != second[i] {
				t.Fatalf("packet %d: %s, and then %s", i, first[i], second[i])
			}
		}
		t.Fatalf("%d packets, and then %d", len(first), len(second))
	}
	t.Log("# all wheels but the rounding ones and the real-time one expire the same timers at the same ticks")
	for _, scheme := range wheel.Schemes() {
		if scheme == "runtime" || strings.HasSuffix(scheme, "migration") {
			continue
		}
		if !slices.Equal(first, engineTransfer(t, func(c *EngineConfig) { c.Scheme = scheme })) {
			t.Errorf("%s: other packets than with the default wheel", scheme)
		}
	}
}

func TestRetransmissionNamesItsTimer(t *testing.T) {
	for _, profile := range []string{"internet", "linux"} {
		policy, err := tcptimers.NewPolicy(profile)
		if err != nil {
			t.Fatal(err)
		}
		var c Conn
		var o Output
		cfg := DefaultConfig(policy)
		c.Init(&cfg, Path{MTU: 1500}, 1, 0)
		c.Connect(0, &o)
		rexmit := o.Timers[len(o.Timers)-1]
		o.Reset()
		c.Expire(rexmit.At, rexmit.Slot, &o)
		if len(o.Segments) != 1 || !o.Segments[0].Timed || o.Segments[0].Cause != tcptimers.Rexmit {
			t.Errorf("%s: slot %d sends %+v, want a SYN caused by %v", profile, rexmit.Slot, o.Segments, tcptimers.Rexmit)
		}
	}
}

func TestR1IsReported(t *testing.T) {
	// RFC 9293 §3.8.3: "TCP implementations SHOULD inform the application of the delivery problem"
	// "when R1 is reached and before R2 (SHLD-9)", and "SYN retransmissions MUST be handled in the
	// general way just described for data retransmissions, including notification of the
	// application layer."
	e := newTestEngine(t, nil)
	s, err := e.Dial(0, mustEnd("192.0.2.1:5000"), mustEnd("192.0.2.2:80"), nil)
	if err != nil {
		t.Fatal(err)
	}
	e.Reset()
	rexmits, heard := 0, 0
	for range 5 {
		at, _ := e.NextTimeout()
		e.Advance(at)
		for _, n := range e.Notices() {
			if n.Events.Has(EventSoftError) {
				heard = rexmits + 1
			}
		}
		rexmits += len(e.Packets())
		e.Reset()
	}
	if r1 := e.cfg.Conn.Policy.R1; rexmits < r1 || heard != r1 || s.Conn().SoftErr() != ErrTimeout {
		t.Errorf("of %d retransmissions the application hears at %d, of %v; want at %d, of a timeout", rexmits, heard, s.Conn().SoftErr(), r1)
	}
}
