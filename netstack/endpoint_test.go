package netstack

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/waiter"
)

// TestPortComesBack binds a socket to any address, connects and closes it: the port is free again.
func TestPortComesBack(t *testing.T) {
	n := newPair(t, pairConfig{})
	l := n.listen(false)
	for range 2 {
		var wq waiter.Queue
		ep, err := n.a.stack.NewEndpoint(ProtocolNumber, ipv6.ProtocolNumber, &wq)
		if err != nil {
			t.Fatal(err)
		}
		if err := ep.Bind(tcpip.FullAddress{Port: 4001}); err != nil {
			t.Fatalf("bind: %v", err)
		}
		at, _ := n.b.at(false)
		if _, ok := ep.Connect(at).(*tcpip.ErrConnectStarted); !ok {
			t.Fatal("Connect did not start")
		}
		c, aerr := l.Accept()
		if aerr != nil {
			t.Fatal(aerr)
		}
		ep.(*Endpoint).Abort()
		c.Close()
		eventually(t, "the endpoints are unregistered", func() bool {
			return len(n.a.stack.RegisteredEndpoints()) == 0 && len(n.b.stack.RegisteredEndpoints()) == 1
		})
	}
}

// TestShutdownRead shuts down reading with unread data. That data and later data can be read; an
// empty queue reads as the end of the stream. gVisor's TCP and Linux's do the same.
func TestShutdownRead(t *testing.T) {
	n := newPair(t, pairConfig{})
	a, b := n.connect(false)
	a.Write([]byte("before"))
	if _, err := io.ReadFull(b, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	b.CloseRead()
	if got, err := io.ReadAll(b); string(got) != "ore" || err != nil {
		t.Errorf("read %q, %v, want the data before the shutdown and io.EOF", got, err)
	}
	a.Write([]byte("after"))
	var got []byte
	eventually(t, "data that arrives after the shutdown is read", func() bool {
		more, err := io.ReadAll(b)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, more...)
		return string(got) == "after"
	})
}

// TestResetIsVerified aborts a connection whose last data was lost. Its RST is not at RCV.NXT, so
// the peer sends a challenge ACK (RFC 5961 §3.2). It is answered, although the link delivers it
// before the endpoint is gone.
func TestResetIsVerified(t *testing.T) {
	n := newPair(t, pairConfig{})
	a, b := n.connect(false)
	// A probe's retransmission is lost too.
	n.a.link.setDrop(func(pkt *stack.PacketBuffer) bool { return pkt.Data().Size() > 0 })
	if _, err := a.Write([]byte("lost")); err != nil {
		t.Fatal(err)
	}
	for _, te := range n.a.stack.RegisteredEndpoints() {
		te.Abort()
	}
	b.SetReadDeadline(time.Now().Add(time.Minute))
	_, err := b.Read(make([]byte, 1))
	if want := (&tcpip.ErrConnectionReset{}).String(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the peer reads: %v, want %s", err, want)
	}
	if c, _ := Counters(n.b.stack); c.TCPChallengeACK != 1 {
		t.Errorf("%d challenge ACKs, want 1", c.TCPChallengeACK)
	}
}

// TestSendBufferGrows: the send buffer follows the congestion window, as gVisor's does, unless the
// application has set it.
func TestSendBufferGrows(t *testing.T) {
	for _, fixed := range []bool{false, true} {
		n := newPair(t, pairConfig{})
		limits := tcpip.TCPSendBufferSizeRangeOption{Min: 4096, Default: 16 << 10, Max: 100 << 10}
		if err := n.a.stack.SetTransportProtocolOption(ProtocolNumber, &limits); err != nil {
			t.Fatal(err)
		}
		a, b := n.connect(false)
		var ep *Endpoint
		for _, e := range n.a.stack.RegisteredEndpoints() {
			ep = e.(*Endpoint)
		}
		if fixed {
			ep.SocketOptions().SetSendBufferSize(20<<10, true)
		}
		exchange(t, a, b, 1<<20)
		least, most := int64(limits.Default)+1, int64(limits.Max)
		if fixed {
			least, most = 20<<10, 20<<10
		}
		if got := ep.SocketOptions().GetSendBufferSize(); got < least || got > most {
			t.Errorf("send buffer after a transfer = %d, want %d..%d with fixed=%v", got, least, most, fixed)
		}
	}
}

// TestLongWriteIsOneWrite: the pieces of a long write leave as one write does, in full segments
// with PSH on the last.
func TestLongWriteIsOneWrite(t *testing.T) {
	// No probes: on a slow machine one may send the end of a piece, as new data (RFC 8985 §7.3).
	cfg := DefaultConfig()
	cfg.CheckInvariants, cfg.Conn.Policy.TLP = true, false
	withoutProbes, err := NewProtocolWith(cfg)
	if err != nil {
		t.Fatal(err)
	}
	n := newPair(t, pairConfig{a: withoutProbes})
	a, b := n.connect(false)
	ours := a.LocalAddr().(*net.TCPAddr).Port
	var mu sync.Mutex
	small, mss := map[uint32]bool{}, 0 // by sequence number: a timeout may repeat the last segment
	n.a.link.setDrop(func(pkt *stack.PacketBuffer) bool {
		mu.Lock()
		defer mu.Unlock()
		h := header.TCP(pkt.TransportHeader().Slice())
		if size := pkt.Data().Size(); int(h.SourcePort()) == ours && size > 0 {
			if mss = max(mss, size); size < mss || h.Flags()&header.TCPFlagPsh != 0 {
				small[h.SequenceNumber()] = true
			}
		}
		return false
	})
	const size = 5*pieceSize + 100
	go a.Write(make([]byte, size))
	if _, err := io.ReadFull(b, make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(small) != 1 {
		t.Errorf("%d segments are small or have PSH, want 1", len(small))
	}
}
