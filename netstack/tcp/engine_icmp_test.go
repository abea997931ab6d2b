package tcp

import (
	"testing"
	"time"

	"tcpwheel/wheel"
)

func TestICMPFindsItsConnection(t *testing.T) {
	e := newTestEngine(t, nil)
	s, err := e.Dial(0, engineClient, engineServer, nil)
	if err != nil {
		t.Fatal(err)
	}
	e.ICMP(0, engineServer, engineClient, ICMPError{Kind: ICMPPortUnreachable, Seq: s.conn.snd.iss})
	if s.Conn().State() != StateSynSent {
		t.Fatalf("in %v after an error about other ends, want SYN-SENT", s.Conn().State())
	}
	e.Reset()
	e.ICMP(0, engineClient, engineServer, ICMPError{Kind: ICMPPortUnreachable, Seq: s.conn.snd.iss})
	if s.Conn().State() != StateClosed || s.Conn().Err() == nil {
		t.Errorf("in %v with %v, want CLOSED with an error", s.Conn().State(), s.Conn().Err())
	}
	if n := e.Notices(); len(n) != 1 || n[0].Socket != s || !n[0].Events.Has(EventFailed|EventClosed) {
		t.Errorf("told %+v, want that it failed", n)
	}
	engineCheck(t, e)
}

func TestSelfConnect(t *testing.T) {
	// RFC 9293 §3.5: a simultaneous open with itself.
	e := newTestEngine(t, nil)
	s, err := e.Dial(0, engineClient, engineClient, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		packets := append([]Packet(nil), e.Packets()...)
		e.Reset()
		for i := range packets {
			e.Input(wheel.Time(time.Millisecond), &packets[i])
		}
		engineCheck(t, e)
	}
	if s.Conn().State() != StateEstablished || len(e.Packets()) != 0 {
		t.Errorf("in %v, with %q to send, want ESTABLISHED and nothing", s.Conn().State(), engineTexts(e))
	}
}

func TestKeepaliveTimersOfManyConnections(t *testing.T) {
	p := newEnginePair(t, nil, func(c *EngineConfig) { c.Conn.Socket.Keepalive = true })
	l := engineListen(t, p.server(), ListenConfig{Backlog: 1})
	_, server := p.connect(l)
	if server.timers != nil || !server.keepalive.running() {
		t.Errorf("at rest: timers %+v, keepalive runs: %v, want that one alone", server.timers, server.keepalive.running())
	}
	t.Log("# the peer answers the probes of a day")
	p.run(p.now.Add(24 * time.Hour))
	if n := p.server().Counters().TCPKeepAlive; n < 10 || server.Conn().State() != StateEstablished {
		t.Errorf("%d probes, %v, want one each two hours, and ESTABLISHED", n, server.Conn().State())
	}
	t.Log("# and then no more")
	p.lose = func(int, *Packet) bool { return true }
	p.run(p.now.Add(24 * time.Hour))
	if server.Conn().State() != StateClosed || server.Conn().Err() != ErrTimeout || server.keepalive != 0 {
		t.Errorf("in %v with %v, want CLOSED by a timeout", server.Conn().State(), server.Conn().Err())
	}
}
