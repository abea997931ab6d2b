package tcp

import (
	"net/netip"
	"testing"
	"time"

	"tcpwheel/wheel"
)

func TestBacklogOverflow(t *testing.T) {
	e := newTestEngine(t, func(c *EngineConfig) { c.MaxSynRcvd = 8 })
	l := engineListen(t, e, ListenConfig{Backlog: 1})

	t.Log("# four clients are half-open, and two of them fill the queue")
	type client struct {
		syn    *Packet
		synAck Header
	}
	var clients []client
	for port := uint16(1); port <= 4; port++ {
		syn := engineSYN(port, 1000)
		e.Input(0, syn)
		clients = append(clients, client{syn, e.Packets()[0].Header})
		e.Reset()
	}
	ack := func(i int) *Socket {
		p := engineSegment(ACK, 1001, clients[i].synAck.Seq+1, 0)
		p.Src = clients[i].syn.Src
		p.Header.Options = Options{HasTimestamps: true, TSVal: 1001, TSEcr: clients[i].synAck.Options.TSVal}
		s, _ := e.Input(0, p)
		return s
	}
	first, second, third := ack(0), ack(1), ack(2)
	if l.Len() != 2 || l.backlog.HalfOpen != 2 || third.Conn().State() != StateSynReceived {
		t.Fatalf("%d wait, %d are half-open, the third in %v, want 2, 2, SYN-RECEIVED", l.Len(), l.backlog.HalfOpen, third.Conn().State())
	}
	if c := e.Counters(); c.ListenOverflows != 1 || c.ListenDrops != 1 || c.CurrEstab != 2 {
		t.Errorf("ListenOverflows %d, ListenDrops %d, CurrEstab %d, want 1, 1, 2", c.ListenOverflows, c.ListenDrops, c.CurrEstab)
	}
	t.Log("# a SYN that comes now is dropped")
	e.Reset()
	if s, _ := e.Input(0, engineSYN(9, 1)); s != nil || len(e.Packets()) != 0 {
		t.Errorf("SYN while the queue is full: answered by %q", engineTexts(e))
	}
	engineCheck(t, e)

	t.Log("# after an Accept the third client's retransmitted ACK finds room")
	if s, ok := l.Accept(); s != first || !ok {
		t.Errorf("accepted %v, %v, want the first", s, ok)
	}
	if ack(2); third.Conn().State() != StateEstablished {
		t.Errorf("the third is in %v, want ESTABLISHED", third.Conn().State())
	}
	if s, _ := l.Accept(); s != second {
		t.Error("the second one to be established is not the second one to be accepted")
	}
	if s, _ := l.Accept(); s != third {
		t.Error("the third one to be established is not the third one to be accepted")
	}
	if s, ok := l.Accept(); ok {
		t.Errorf("accepted %v, want nothing more", s)
	}
	engineCheck(t, e)
}

func TestRetransmittedSynAckReplacesDroppedAck(t *testing.T) {
	p := newEnginePair(t, nil, func(c *EngineConfig) { c.MaxSynRcvd = 8 })
	l := engineListen(t, p.server(), ListenConfig{})
	var clients []*Socket
	for range 2 {
		s, err := p.client().Dial(p.now, netip.AddrPortFrom(engineClient.Addr(), 0), engineServer, nil)
		if err != nil {
			t.Fatal(err)
		}
		clients = append(clients, s)
	}
	p.run(wheel.Time(500 * time.Millisecond))
	if l.Len() != 1 || l.backlog.HalfOpen != 1 {
		t.Fatalf("%d wait, %d are half-open, want 1 and 1", l.Len(), l.backlog.HalfOpen)
	}
	l.Accept()
	p.run(wheel.Time(10 * time.Second))
	if l.Len() != 1 || l.backlog.HalfOpen != 0 || clients[1].Conn().State() != StateEstablished {
		t.Errorf("%d wait, %d are half-open, client in %v, want 1, 0, ESTABLISHED",
			l.Len(), l.backlog.HalfOpen, clients[1].Conn().State())
	}
}

func TestListenerCountsHalfOpen(t *testing.T) {
	e := newTestEngine(t, func(c *EngineConfig) { c.SYNCookies = CookiesNever })
	l := engineListen(t, e, ListenConfig{Backlog: 2})
	a, _ := e.Input(0, engineSYN(1, 1000))
	b, _ := e.Input(0, engineSYN(2, 1000))
	aISS := e.Packets()[0].Header.Seq
	e.Reset()
	t.Log("# the half-open queue is full: SYNs are dropped")
	if s, _ := e.Input(0, engineSYN(3, 1000)); s != nil {
		t.Error("a third connection was made")
	}
	if c := e.Counters(); c.TCPReqQFullDrop != 1 || c.ListenDrops != 1 {
		t.Errorf("TCPReqQFullDrop %d, ListenDrops %d, want 1 and 1", c.TCPReqQFullDrop, c.ListenDrops)
	}
	t.Log("# a duplicate SYN goes to its connection")
	if s, _ := e.Input(0, engineSYN(1, 1000)); s != a || l.backlog.HalfOpen != 2 {
		t.Errorf("%d half-open connections, want 2", l.backlog.HalfOpen)
	}
	t.Log("# a reset leads back to LISTEN: RFC 9293 §3.10.7.4")
	rst := engineSegment(RST, 1001, 0, 0)
	rst.Src = a.Remote()
	e.Input(0, rst)
	if a.Conn().State() != StateClosed || l.backlog.HalfOpen != 1 || e.socketCount() != 1 {
		t.Errorf("%v, %d half-open, want CLOSED and 1", a.Conn().State(), l.backlog.HalfOpen)
	}
	engineCheck(t, e)
	again, _ := e.Input(0, engineSYN(1, 2000))
	if again == nil || again == a || again.ID() == a.ID() {
		t.Fatal("the client is not served again")
	}
	_ = aISS
	t.Log("# the handshakes time out")
	e.Advance(wheel.Time(10 * time.Minute))
	if l.backlog.HalfOpen != 0 || e.socketCount() != 0 || b.Conn().Err() != ErrTimeout {
		t.Errorf("%d half-open, %d connections, %v, want none and a timeout", l.backlog.HalfOpen, e.socketCount(), b.Conn().Err())
	}
	engineCheck(t, e)
}

func TestListenerCloseResetsUnaccepted(t *testing.T) {
	e := newTestEngine(t, nil)
	l := engineListen(t, e, ListenConfig{Backlog: 4})
	accepted, _, _ := engineHandshake(t, e, 0, 1, 1000)
	waiting, _, _ := engineHandshake(t, e, 0, 2, 1000)
	half, _ := e.Input(0, engineSYN(3, 1000))
	if s, _ := l.Accept(); s != accepted {
		t.Fatal("accepted another one than the first")
	}
	e.Reset()
	l.Close(0)
	if got := len(e.Packets()); got != 2 || e.Counters().OutRsts != 2 {
		t.Errorf("sent %q, want two resets", engineTexts(e))
	}
	if waiting.Conn().State() != StateClosed || half.Conn().State() != StateClosed || accepted.Conn().State() != StateEstablished {
		t.Errorf("%v, %v and %v, want CLOSED, CLOSED and ESTABLISHED for the accepted one",
			waiting.Conn().State(), half.Conn().State(), accepted.Conn().State())
	}
	if s, ok := l.Accept(); ok {
		t.Errorf("accepted %v from a closed listener", s)
	}
	engineCheck(t, e)
	e.Reset()
	l.Close(0)
	e.Input(0, engineSYN(4, 1000))
	if got, want := engineTexts(e), "R. 0:0 ack 1001"; got != want {
		t.Errorf("SYN after the close: %q, want %q", got, want)
	}
	if _, err := e.Listen(engineServer, ListenConfig{Backlog: 1}); err != nil {
		t.Errorf("Listen after Close: %v", err)
	}
}

func TestDeferAccept(t *testing.T) {
	p := newEnginePair(t, nil, nil)
	l := engineListen(t, p.server(), ListenConfig{Backlog: 4, DeferAccept: 2 * time.Second})
	quick, err := p.client().Dial(0, engineClient, engineServer, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.run(wheel.Time(100 * time.Millisecond))
	if l.Len() != 0 || p.server().Counters().TCPDeferAcceptDrop == 0 {
		t.Fatalf("%d wait without a word of the client, want none", l.Len())
	}
	t.Log("# with the first bytes the connection is there")
	p.client().Wrote(p.now, quick, 100, 0)
	p.run(wheel.Time(200 * time.Millisecond))
	s, ok := l.Accept()
	if !ok || s.Conn().Received() != 100 {
		t.Fatalf("accepted %v, want the connection with 100 bytes", ok)
	}
	t.Log("# a silent client is accepted after the wait, by a retransmitted SYN-ACK")
	if _, err := p.client().Dial(p.now, netip.AddrPortFrom(engineClient.Addr(), 2), engineServer, nil); err != nil {
		t.Fatal(err)
	}
	p.run(wheel.Time(2 * time.Second))
	if l.Len() != 0 {
		t.Fatal("the silent client was accepted too early")
	}
	p.run(wheel.Time(10 * time.Second))
	if l.Len() != 1 {
		t.Errorf("%d wait, want the silent client", l.Len())
	}
}
