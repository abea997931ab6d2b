package tcp

import (
	"testing"
	"time"

	"tcpwheel/wheel"
)

// cookieACK completes the handshake of a SYN-ACK with a cookie.
func cookieACK(syn *Packet, synAck *Header) *Packet {
	p := engineSegment(ACK, syn.Header.Seq+1, synAck.Seq+1, 0)
	p.Src = syn.Src
	if synAck.Options.HasTimestamps {
		p.Header.Options = Options{HasTimestamps: true, TSVal: syn.Header.Options.TSVal + 1, TSEcr: synAck.Options.TSVal}
	}
	return p
}

// TestLateCookie: a SYN is answered by a cookie, and its retransmission by a connection. The ACK of
// the cookie restarts that connection; it is not reset.
func TestLateCookie(t *testing.T) {
	e := newTestEngine(t, func(c *EngineConfig) { c.MaxSynRcvd = 1 })
	l := engineListen(t, e, ListenConfig{Backlog: 4})
	first, _ := e.Input(0, engineSYN(1, 500))
	e.Reset()
	syn := engineSYN(2, 1000)
	if s, _ := e.Input(0, syn); s != nil {
		t.Fatal("the second SYN opened a connection, want a cookie")
	}
	cookie := e.Packets()[0].Header
	e.Abort(0, first)
	e.Reset()
	s, _ := e.Input(0, syn)
	if s == nil || s.Conn().State() != StateSynReceived || e.Packets()[0].Header.Seq == cookie.Seq {
		t.Fatalf("the SYN again gives %v, want a half-open connection with another ISS", s)
	}
	e.Reset()
	ack := cookieACK(syn, &cookie)
	ack.Len = 5
	got, v := e.Input(0, ack)
	if got != s || s.Conn().State() != StateEstablished || v.InOrder != 5 || e.Counters().OutRsts != 1 {
		t.Errorf("the cookie's ACK gives %v in %v with %d bytes and %d resets, want ESTABLISHED, 5, and the first one's",
			got, s.Conn().State(), v.InOrder, e.Counters().OutRsts)
	}
	if a, ok := l.Accept(); !ok || a != s {
		t.Error("the connection is not accepted")
	}
	engineCheck(t, e)
}

// TestBehindALostCookieACK: the ACK of a cookie met a full queue. What follows it is dropped for
// the lifetime of a cookie, and reset after that.
func TestBehindALostCookieACK(t *testing.T) {
	e := newTestEngine(t, func(c *EngineConfig) { c.SYNCookies = CookiesAlways })
	engineListen(t, e, ListenConfig{})
	var acks []*Packet
	for port := uint16(1); port <= 2; port++ {
		syn := engineSYN(port, 1000)
		e.Input(0, syn)
		acks = append(acks, cookieACK(syn, &e.Packets()[0].Header))
		e.Reset()
	}
	for _, ack := range acks {
		e.Input(0, ack)
		e.Reset()
	}
	behind := engineSegment(ACK, 1101, 7, 0)
	behind.Src = engineSYN(2, 0).Src
	for _, test := range []struct {
		at   time.Duration
		sent int
	}{{0, 0}, {CookieMaxLifetime, 0}, {CookieMaxLifetime + 1, 1}} {
		e.Input(wheel.Time(test.at), behind)
		if n := len(e.Packets()); n != test.sent {
			t.Errorf("after %v the ACK behind draws %q, want %d packets", test.at, engineTexts(e), test.sent)
		}
		e.Reset()
	}
}
