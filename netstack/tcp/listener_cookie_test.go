package tcp

import (
	"net/netip"
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

func TestSYNCookies(t *testing.T) {
	for _, test := range []struct {
		name                 string
		options              Options
		wantMSS              uint32
		wantSACK, wantWScale bool
	}{
		{"all options", engineSYN(1, 1).Header.Options, 1460 - timestampsLen, true, true},
		{"without timestamps the others are lost", Options{HasMSS: true, MSS: 1460, HasWScale: true, SACKPermitted: true}, 1460, false, false},
		{"no options", Options{}, DefaultMSS4, false, false},
	} {
		e := newTestEngine(t, func(c *EngineConfig) { c.SYNCookies = CookiesAlways })
		l := engineListen(t, e, ListenConfig{Backlog: 4})
		syn := engineSYN(1, 1000)
		syn.Header.Options = test.options
		if s, _ := e.Input(0, syn); s != nil || e.socketCount() != 0 || len(e.Packets()) != 1 {
			t.Fatalf("%s: %d connections after the SYN, %q, want none and a SYN-ACK", test.name, e.socketCount(), engineTexts(e))
		}
		synAck := e.Packets()[0].Header
		e.Reset()
		if opt := synAck.Options; opt.SACKPermitted != test.wantSACK || opt.HasWScale != test.wantWScale || !opt.HasMSS || opt.MSS != 1460 {
			t.Errorf("%s: SYN-ACK offers %+v", test.name, opt)
		}
		ack := cookieACK(syn, &synAck)
		ack.Len = 5
		s, v := e.Input(wheel.Time(time.Second), ack)
		if s == nil || s.Conn().State() != StateEstablished || v.InOrder != 5 {
			t.Fatalf("%s: the ACK gives %v and %+v, want a connection with 5 bytes", test.name, s, v)
		}
		if c := &s.conn; c.snd.mss != test.wantMSS || c.rcv.sackOn != test.wantSACK || c.rcv.win.scaled != test.wantWScale {
			t.Errorf("%s: MSS %d, SACK %v, window scale %v, want %d, %v, %v",
				test.name, c.snd.mss, c.rcv.sackOn, c.rcv.win.scaled, test.wantMSS, test.wantSACK, test.wantWScale)
		}
		if got, ok := l.Accept(); !ok || got != s {
			t.Errorf("%s: not accepted", test.name)
		}
		if c := e.Counters(); c.SyncookiesSent != 1 || c.SyncookiesRecv != 1 || c.SyncookiesFailed != 0 || c.PassiveOpens != 1 || c.CurrEstab != 1 {
			t.Errorf("%s: counted %+v", test.name, c)
		}
		engineCheck(t, e)
	}
}

func TestBadSYNCookies(t *testing.T) {
	e := newTestEngine(t, func(c *EngineConfig) { c.SYNCookies = CookiesAlways })
	engineListen(t, e, ListenConfig{Backlog: 4})
	syn := engineSYN(1, 1000)
	e.Input(0, syn)
	synAck := e.Packets()[0].Header
	e.Reset()
	for _, test := range []struct {
		name   string
		at     time.Duration
		change func(*Packet)
	}{
		{"a number that was not sent", 0, func(p *Packet) { p.Header.Ack++ }},
		{"another client", 0, func(p *Packet) { p.Src = netip.AddrPortFrom(p.Src.Addr(), 2) }},
		{"another ISN of the client", 0, func(p *Packet) { p.Header.Seq++ }},
		{"a SYN-ACK", 0, func(p *Packet) { p.Header.Flags |= SYN }},
		{"too late", CookieMaxLifetime, func(*Packet) {}},
	} {
		ack := cookieACK(syn, &synAck)
		test.change(ack)
		e.Reset()
		if s, _ := e.Input(wheel.Time(test.at), ack); s != nil || e.socketCount() != 0 {
			t.Errorf("%s: a connection was made", test.name)
		}
		if len(e.Packets()) != 1 || e.Packets()[0].Header.Flags != RST || e.Packets()[0].Header.Seq != ack.Header.Ack {
			t.Errorf("%s: answered by %q, want a RST at %d", test.name, engineTexts(e), ack.Header.Ack)
		}
	}
	if c := e.Counters(); c.SyncookiesRecv != 0 || c.SyncookiesFailed != 4 {
		t.Errorf("SyncookiesRecv %d, SyncookiesFailed %d, want 0 and 4", c.SyncookiesRecv, c.SyncookiesFailed)
	}
}

func TestUnsentCookieIsRejected(t *testing.T) {
	e := newTestEngine(t, nil)
	engineListen(t, e, ListenConfig{Backlog: 4})
	syn := engineSYN(1, 1000)
	cookie := e.secret.synCookie(0, engineServer, syn.Src, 1000, 1460)
	if s, _ := e.Input(0, cookieACK(syn, &Header{Seq: cookie})); s != nil {
		t.Error("a cookie was taken that was never sent")
	}
}

func TestCookieMeetsFullQueue(t *testing.T) {
	e := newTestEngine(t, func(c *EngineConfig) { c.SYNCookies = CookiesAlways })
	l := engineListen(t, e, ListenConfig{})
	var acks []*Packet
	for port := uint16(1); port <= 2; port++ {
		syn := engineSYN(port, 1000)
		e.Input(0, syn)
		acks = append(acks, cookieACK(syn, &e.Packets()[0].Header))
		e.Reset()
	}
	e.Input(0, acks[0])
	e.Reset()
	if s, _ := e.Input(0, acks[1]); s != nil || len(e.Packets()) != 0 || e.Counters().ListenOverflows != 1 {
		t.Errorf("answered by %q, ListenOverflows %d, want silence and 1", engineTexts(e), e.Counters().ListenOverflows)
	}
	t.Log("# the cookie is still good when there is room")
	l.Accept()
	if s, _ := e.Input(0, acks[1]); s == nil || s.Conn().State() != StateEstablished {
		t.Error("the second client gets no connection")
	}
	engineCheck(t, e)
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
