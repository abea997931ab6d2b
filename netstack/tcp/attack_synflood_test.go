package tcp

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"tcpwheel/wheel"
)

// TestSYNFlood sends up to a million SYNs from addresses that do not exist, with one client among
// them. RFC 4987 §3.6: with SYN cookies the client is served, and the attacker's state is bounded.
func TestSYNFlood(t *testing.T) {
	const backlog = 128
	flood := scaled(250_000, 1_000_000)
	e := newTestEngine(t, nil)
	l := engineListen(t, e, ListenConfig{Backlog: backlog})
	now, served, most := wheel.Time(0), 0, 0
	var serving *Packet // the client's next segment
	for i := range flood {
		now = now.Add(time.Microsecond)
		var a [4]byte
		binary.BigEndian.PutUint32(a[:], 0x0a000000+uint32(i))
		syn := engineSYN(uint16(i*7919)|1, Seq(i*104729))
		syn.Src = netip.AddrPortFrom(netip.AddrFrom4(a), syn.Src.Port())
		if i%2 == 1 {
			syn.Header.Options = Options{HasMSS: true, MSS: 1460}
		}
		e.Input(now, syn)
		e.Reset()
		if i%1000 == 999 {
			e.Advance(now)
			e.Reset()
		}
		most = max(most, e.socketCount())
		if i%(flood/10) != flood/20 {
			continue
		}

		// The client sends a SYN, then an ACK with a request.
		syn = engineSYN(uint16(50000+i/(flood/10)), 77)
		e.Input(now, syn)
		if len(e.Packets()) != 1 || !e.Packets()[0].Header.Flags.Has(SYN|ACK) {
			t.Fatalf("after %d SYNs the client's is answered by %q", i, engineTexts(e))
		}
		serving = cookieACK(syn, &e.Packets()[0].Header)
		serving.Len = 100
		e.Reset()
		s, v := e.Input(now, serving)
		if got, ok := l.Accept(); !ok || got != s || v.InOrder != 100 || s.Conn().State() != StateEstablished {
			t.Fatalf("after %d SYNs the client gets no connection", i)
		}
		served++
		e.Abort(now, s)
		e.Reset()
	}
	if served != 10 {
		t.Errorf("served %d clients, want 10", served)
	}
	if most > backlog+1 || l.backlog.HalfOpen > backlog {
		t.Errorf("at most %d connections at once, want at most %d", most, backlog+1)
	}
	if n := len(e.sockets); n > backlog+1 {
		t.Errorf("%d places for sockets, want at most %d", n, backlog+1)
	}
	if c := e.Counters(); c.SyncookiesSent+c.PassiveOpens < uint64(flood) || c.SyncookiesFailed != 0 {
		t.Errorf("SyncookiesSent %d, PassiveOpens %d, SyncookiesFailed %d", c.SyncookiesSent, c.PassiveOpens, c.SyncookiesFailed)
	}
	engineCheck(t, e)
	t.Log("# when it is over, nothing is left of it")
	e.Advance(now.Add(10 * time.Minute))
	if e.socketCount() != 0 || l.backlog.HalfOpen != 0 {
		t.Errorf("%d connections, %d half-open, want none", e.socketCount(), l.backlog.HalfOpen)
	}
	engineCheck(t, e)
}
