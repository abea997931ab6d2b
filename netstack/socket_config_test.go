package netstack

import (
	"errors"
	"fmt"
	"math"
	"math/rand"
	"strings"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
)

// endpoint returns the socket's endpoint of this package.
func (s *rigSocket) endpoint() *Endpoint { return s.ep.(*Endpoint) }

// configure changes the socket's configuration.
func (s *rigSocket) configure(f func(*SocketConfig)) error {
	c := s.endpoint().SocketConfig()
	f(&c)
	return s.endpoint().SetSocketConfig(c)
}

// retransmittedAfter returns the time from a write to its retransmission; the peer does not answer.
func (s *rigSocket) retransmittedAfter(p *rigPeer, n int) time.Duration {
	s.r.t.Helper()
	s.write(n)
	start, sent := s.r.clock.Time(), p.sent
	for p.sent == sent {
		if s.r.clock.Time().Sub(start) > time.Minute || !s.r.clock.Step() {
			s.r.t.Fatal("nothing was retransmitted within a minute")
		}
		s.r.drain()
	}
	return s.r.clock.Time().Sub(start)
}

// plain is RFC 6298 without probes: only the retransmission timer retransmits.
func plain(floor, tick time.Duration) func(*SocketConfig) {
	return func(c *SocketConfig) {
		c.Policy = tcptimers.MustPolicy("rfc6298")
		c.Policy.Bounds.Min, c.Policy.Tick = floor, tick
	}
}

// TestSocketsHavePolicies gives sockets of one stack different RTO floors and ticks, before they
// connect and listen.
func TestSocketsHavePolicies(t *testing.T) {
	r := newRig(t, NewProtocol, true)
	l := r.socket("l").bind(rigPort)
	if err := l.configure(plain(30*time.Millisecond, 100*time.Microsecond)); err != nil {
		t.Fatal(err)
	}
	l.listen(8)
	for i, c := range []struct{ floor, tick, min, max time.Duration }{
		{time.Second, time.Millisecond, time.Second, 1001 * time.Millisecond},
		{20 * time.Millisecond, 10 * time.Microsecond, 20 * time.Millisecond, 20*time.Millisecond + 10*time.Microsecond},
		{20 * time.Millisecond, 250 * time.Millisecond, 20 * time.Millisecond, 250 * time.Millisecond},
	} {
		s := r.socket("s")
		if err := s.configure(plain(c.floor, c.tick)); err != nil {
			t.Fatal(err)
		}
		p := s.connect(uint16(2000 + i))
		p.synAck()
		if d := s.retransmittedAfter(p, 10); d < c.min || d > c.max {
			t.Errorf("floor %v, tick %v: retransmitted after %v, want %v to %v", c.floor, c.tick, d, c.min, c.max)
		}
		if rest := time.Duration(r.clock.Time()) % c.tick; rest != 0 {
			t.Errorf("tick %v: a timer expired at %v", c.tick, r.clock.Time())
		}
		s.abort()
	}
	p := r.peer(3000)
	p.syn()
	p.ack()
	c := l.accept("c")
	if d := c.retransmittedAfter(p, 10); d < 30*time.Millisecond || d > 30*time.Millisecond+100*time.Microsecond {
		t.Errorf("accepted: retransmitted after %v, want 30 ms, the listener's floor", d)
	}
}

// TestSocketConfigWhileConnected changes the policy of a connection.
func TestSocketConfigWhileConnected(t *testing.T) {
	r := newRig(t, NewProtocol, true)
	s := r.socket("s")
	if err := s.configure(plain(time.Second, time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	p := s.connect(2000)
	if err := s.configure(plain(time.Second, time.Millisecond)); !errors.Is(err, ErrHandshake) {
		t.Errorf("while connecting: %v, want ErrHandshake", err)
	}
	p.synAck()
	if err := s.configure(plain(20*time.Millisecond, 4*time.Millisecond)); err != nil {
		t.Fatalf("when established: %v", err)
	}
	if d := s.retransmittedAfter(p, 10); d < 20*time.Millisecond || d > 24*time.Millisecond {
		t.Errorf("retransmitted after %v, want the new floor of 20 ms, at the next of ticks of 4 ms", d)
	}
	p.ack()
	for _, c := range []struct {
		want   string
		change func(*SocketConfig)
	}{
		{"tick 100µs", plain(time.Second, 100*time.Microsecond)},
		{"RACK true", func(c *SocketConfig) { c.Policy.RACK = true }},
		{"rto-min", plain(-1, time.Millisecond)},
	} {
		before := s.endpoint().SocketConfig()
		if err := s.configure(c.change); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
		if s.endpoint().SocketConfig() != before {
			t.Errorf("%s: the error changed the configuration", c.want)
		}
	}
	s.abort()
	if err := s.configure(func(*SocketConfig) {}); !errors.Is(err, ErrSocketClosed) {
		t.Errorf("after the end: %v, want ErrSocketClosed", err)
	}
}

// TestGranularitiesAreBounded asks for more ticks than a stack allows.
func TestGranularitiesAreBounded(t *testing.T) {
	r := newRig(t, NewProtocol, true)
	failed := 0
	for i := range 2 * maxGranularities {
		err := r.socket("s").configure(func(c *SocketConfig) { c.Policy.Tick = time.Duration(i+2) * time.Microsecond })
		if errors.Is(err, ErrGranularities) {
			failed++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if want := maxGranularities + 1; failed != want {
		t.Errorf("%d sockets of %d were refused, want %d", failed, 2*maxGranularities, want)
	}
	if err := r.socket("s").configure(func(c *SocketConfig) { c.Policy.Tick = 5 * time.Microsecond }); err != nil {
		t.Errorf("a tick already in use: %v", err)
	}
}

// TestSocketConfigQuickAckAndECN checks what the peer sees of QuickAck and ECN.
func TestSocketConfigQuickAckAndECN(t *testing.T) {
	r := newRig(t, NewProtocol, true)
	s := r.socket("s")
	if err := s.configure(func(c *SocketConfig) { c.ECN, c.QuickAck = true, true }); err != nil {
		t.Fatal(err)
	}
	p := s.connect(2000)
	if f := tcp.Flags(p.last.Flags()); f&(tcp.ECE|tcp.CWR) != tcp.ECE|tcp.CWR {
		t.Errorf("SYN with flags %v, want an ECN-setup SYN", f)
	}
	p.synAck()
	for i := range 40 {
		before := p.sent
		p.data(10)
		s.read()
		if p.sent == before {
			t.Fatalf("segment %d was not acknowledged at once", i)
		}
	}
}

// TestControlChangesWhileConnected sets TCP_CONGESTION on a connection, which keeps its window.
func TestControlChangesWhileConnected(t *testing.T) {
	r := newRig(t, NewProtocol, true)
	_, c, p := r.established()
	for range 5 {
		c.write(3000)
		p.ack()
	}
	was := c.endpoint().ConnInfo()
	for _, name := range []tcpip.CongestionControlOption{"reno", "vegas", "cubic"} {
		if err := c.ep.SetSockOpt(&name); err != nil {
			t.Fatal(err)
		}
		is := c.endpoint().ConnInfo()
		if is.Control.Name != engineControl(string(name)) || is.CwndSegs != was.CwndSegs {
			t.Errorf("set to %s: %s with a window of %d segments, want %d", name, is.Control.Name, is.CwndSegs, was.CwndSegs)
		}
	}
	for range 20 {
		c.write(3000)
		p.ack()
	}
}

// window returns the window field of the stack's last segment, unscaled.
func (p *rigPeer) window() int { return int(p.last.WindowSize()) }

// TestReceiveBufferWhileConnected sets SO_RCVBUF on a connection. The window shrinks to it as soon
// as possible and grows at once.
func TestReceiveBufferWhileConnected(t *testing.T) {
	r := newRig(t, NewProtocol, true)
	_, c, p := r.established()
	c.ep.SocketOptions().SetReceiveBufferSize(20_000, true)
	for p.window() > 0 && p.snd < 200_000 {
		p.data(min(1000, p.window()))
	}
	if p.snd < 60_000 || p.snd > 70_000 {
		t.Errorf("the stack took %d bytes, want the 65535 of the SYN-ACK's window", p.snd)
	}
	c.read()
	r.drain()
	if got := p.window(); got > 20_000 || got < 15_000 {
		t.Errorf("window %d after everything was read, want the buffer of 20000", got)
	}
	before := p.sent
	c.ep.SocketOptions().SetReceiveBufferSize(50_000, true)
	r.drain()
	if got := p.window(); p.sent == before || got < 45_000 {
		t.Errorf("%d ACKs after the buffer grew, with a window of %d, want one with 50000", p.sent-before, got)
	}
	if got := c.ep.SocketOptions().GetReceiveBufferSize(); got != 50_000 {
		t.Errorf("SO_RCVBUF = %d, want 50000", got)
	}
}

// TestWindowClampIsOffered: TCP_WINDOW_CLAMP bounds the window.
func TestWindowClampIsOffered(t *testing.T) {
	r := newRig(t, NewProtocol, true)
	_, c, p := r.established()
	if err := c.ep.SetSockOptInt(tcpip.TCPWindowClampOption, 5000); err != nil {
		t.Fatal(err)
	}
	for p.snd < 100_000 {
		p.data(min(1000, p.window()))
		c.read()
	}
	if got := p.window(); got > 5000 {
		t.Errorf("window %d, want the clamp of 5000", got)
	}
}

// TestQuickAckOff: with TCP_QUICKACK 0, ACKs are delayed from the next segment on.
func TestQuickAckOff(t *testing.T) {
	r := newRig(t, NewProtocol, true)
	_, c, p := r.established()
	p.data(10)
	c.read()
	r.pass(time.Second)
	for _, on := range []bool{false, true} {
		c.ep.SocketOptions().SetQuickAck(on)
		before := p.sent
		p.data(10)
		if got := p.sent > before; got != on {
			t.Errorf("TCP_QUICKACK %v: acknowledged at once: %v", on, got)
		}
		c.read()
		r.pass(time.Second)
	}
}

// TestSynCount counts the SYNs sent.
func TestSynCount(t *testing.T) {
	for _, n := range []int{1, 3, 6} {
		r := newRig(t, NewProtocol, true)
		s := r.socket("s")
		if err := s.ep.SetSockOptInt(tcpip.TCPSynCountOption, n); err != nil {
			t.Fatal(err)
		}
		p := s.connect(2000)
		r.pass(time.Hour)
		if p.sent != n+1 || gtcp.EndpointState(s.ep.State()) != gtcp.StateError {
			t.Errorf("TCP_SYNCNT %d: %d SYNs, then %v, want %d and an error", n, p.sent, gtcp.EndpointState(s.ep.State()), n+1)
		}
	}
}

// TestAnyOptionsMakeAConfiguration sets all options to random and extreme values. What the stack
// accepts gives a valid configuration, and a connection opens with it.
func TestAnyOptionsMakeAConfiguration(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	pick := func() int64 {
		all := []int64{0, 1, -1, 2, 255, 256, 1 << 16, 1 << 31, 1 << 40, math.MaxInt64, math.MinInt64, int64(time.Second), int64(time.Hour), rng.Int63()}
		return all[rng.Intn(len(all))]
	}
	for i := range 200 {
		r := newRig(t, NewProtocol, true)
		lo, hi := tcpip.TCPMinRTOOption(pick()), tcpip.TCPMaxRTOOption(pick())
		tw, linger := tcpip.TCPTimeWaitTimeoutOption(pick()), tcpip.TCPLingerTimeoutOption(pick())
		retries, syn := tcpip.TCPMaxRetriesOption(pick()), tcpip.TCPSynRetriesOption(pick())
		recovery, sack := tcpip.TCPRecovery(pick()), tcpip.TCPSACKEnabled(pick() > 1)
		recv := tcpip.TCPReceiveBufferSizeRangeOption{Min: 1, Default: int(pick()), Max: int(pick())}
		for _, o := range []tcpip.SettableTransportProtocolOption{&hi, &lo, &tw, &linger, &retries, &syn, &recovery, &sack, &recv} {
			r.s.SetTransportProtocolOption(ProtocolNumber, o)
		}
		s := r.socket("s")
		idle, every := tcpip.KeepaliveIdleOption(pick()), tcpip.KeepaliveIntervalOption(pick())
		uto, linger2 := tcpip.TCPUserTimeoutOption(pick()), tcpip.TCPLingerTimeoutOption(pick())
		set := func() {
			for _, o := range []tcpip.SettableSocketOption{&idle, &every, &uto, &linger2} {
				s.ep.SetSockOpt(o)
			}
			for _, o := range []tcpip.SockOptInt{tcpip.KeepaliveCountOption, tcpip.MaxSegOption, tcpip.TCPSynCountOption, tcpip.TCPWindowClampOption} {
				s.ep.SetSockOptInt(o, int(pick()))
			}
			s.ep.SocketOptions().SetReceiveBufferSize(pick(), true)
			s.ep.SocketOptions().SetKeepAlive(rng.Intn(2) == 0)
			e := s.endpoint()
			e.mu.Lock()
			socket := e.socketOptions()
			c := e.p.makeConfig(e.opts, e.recvBufferFixed, socket, recvBufferOf(&e.ops))
			e.mu.Unlock()
			if err := errors.Join(c.Check(), socket.Check()); err != nil {
				t.Fatalf("run %d: %v", i, err)
			}
		}
		set()
		p := s.connect(2000)
		p.synAck()
		set()
		s.write(10)
		if got := gtcp.EndpointState(s.ep.State()); got != gtcp.StateEstablished && uto >= 0 && uto < 2 {
			t.Fatalf("run %d: %v, want ESTABLISHED\n%s", i, got, fmt.Sprint(strings.Join(r.log, "\n")))
		}
		s.abort()
	}
}
