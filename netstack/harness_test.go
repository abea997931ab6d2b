package netstack

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/nested"
	"gvisor.dev/gvisor/pkg/tcpip/link/pipe"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"tcpwheel/netstack/leaktest"
)

// TestMain fails if a goroutine or a packet buffer is left after all tests.
func TestMain(m *testing.M) { os.Exit(leaktest.Main(m, "tcpwheel/netstack")) }

// scaled returns full if TCPWHEEL_LONG is set, and short for the default run.
func scaled(short, full int) int {
	if os.Getenv("TCPWHEEL_LONG") != "" {
		return full
	}
	return short
}

// side is one stack of a pair.
type side struct {
	stack *stack.Stack
	addr4 tcpip.Address
	addr6 tcpip.Address
	link  *lossy
}

// pairNet is two stacks on the ends of a pipe.
type pairNet struct {
	t    testing.TB
	a, b side
}

type pairConfig struct {
	a, b stack.TransportProtocolFactory
	mtu  uint32
	loss float64
}

func newPair(t testing.TB, cfg pairConfig) *pairNet {
	t.Helper()
	if cfg.mtu == 0 {
		cfg.mtu = 1500
	}
	if cfg.a == nil {
		cfg.a = verified
	}
	if cfg.b == nil {
		cfg.b = verified
	}
	la, lb := pipe.New("\x02\x00\x00\x00\x00\x01", "\x02\x00\x00\x00\x00\x02", cfg.mtu)
	n := &pairNet{t: t}
	n.a = newSide(t, cfg.a, newLossy(la, cfg.loss, 1), 1)
	n.b = newSide(t, cfg.b, newLossy(lb, cfg.loss, 2), 2)
	t.Cleanup(func() {
		n.a.stack.Destroy()
		n.b.stack.Destroy()
	})
	return n
}

func newSide(t testing.TB, f stack.TransportProtocolFactory, link *lossy, host byte) side {
	t.Helper()
	s := newSideOn(t, f, link, host)
	s.link = link
	return s
}

// newSideOn is newSide on a given link.
func newSideOn(t testing.TB, f stack.TransportProtocolFactory, link stack.LinkEndpoint, host byte) side {
	t.Helper()
	s := side{
		stack: stack.New(stack.Options{
			NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol},
			TransportProtocols: []stack.TransportProtocolFactory{f},
		}),
		addr4: tcpip.AddrFrom4([4]byte{10, 0, 0, host}),
		addr6: tcpip.AddrFrom16([16]byte{0: 0xfd, 15: host}),
	}
	if err := s.stack.CreateNIC(1, link); err != nil {
		t.Fatalf("NIC: %v", err)
	}
	for _, p := range []tcpip.ProtocolAddress{
		{Protocol: ipv4.ProtocolNumber, AddressWithPrefix: tcpip.AddressWithPrefix{Address: s.addr4, PrefixLen: 24}},
		{Protocol: ipv6.ProtocolNumber, AddressWithPrefix: tcpip.AddressWithPrefix{Address: s.addr6, PrefixLen: 64}},
	} {
		if err := s.stack.AddProtocolAddress(1, p, stack.AddressProperties{}); err != nil {
			t.Fatalf("address: %v", err)
		}
	}
	s.stack.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: 1}, {Destination: header.IPv6EmptySubnet, NIC: 1}})
	return s
}

// lossy is a link that loses packets and needs no address resolution.
type lossy struct {
	nested.Endpoint
	mu   sync.Mutex
	loss float64
	rng  *rand.Rand
	drop func(*stack.PacketBuffer) bool
}

func newLossy(lower stack.LinkEndpoint, loss float64, seed int64) *lossy {
	l := &lossy{loss: loss, rng: rand.New(rand.NewSource(seed))}
	l.Endpoint.Init(lower, l)
	return l
}

func (l *lossy) Capabilities() stack.LinkEndpointCapabilities {
	return l.Endpoint.Capabilities() &^ stack.CapabilityResolutionRequired
}

func (l *lossy) WritePackets(pkts stack.PacketBufferList) (int, tcpip.Error) {
	n := 0
	for _, pkt := range pkts.AsSlice() {
		n++
		l.mu.Lock()
		lost := l.loss > 0 && l.rng.Float64() < l.loss || l.drop != nil && l.drop(pkt)
		l.mu.Unlock()
		if lost {
			continue
		}
		var one stack.PacketBufferList
		one.PushBack(pkt)
		if _, err := l.Endpoint.WritePackets(one); err != nil {
			return n, err
		}
	}
	return n, nil
}

// setDrop makes the link lose the packets for which f returns true.
func (l *lossy) setDrop(f func(*stack.PacketBuffer) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop = f
}

const pairPort = 80

func (s *side) at(v6 bool) (tcpip.FullAddress, tcpip.NetworkProtocolNumber) {
	if v6 {
		return tcpip.FullAddress{NIC: 1, Addr: s.addr6, Port: pairPort}, ipv6.ProtocolNumber
	}
	return tcpip.FullAddress{NIC: 1, Addr: s.addr4, Port: pairPort}, ipv4.ProtocolNumber
}

// listen makes b listen.
func (n *pairNet) listen(v6 bool) net.Listener {
	n.t.Helper()
	at, proto := n.b.at(v6)
	l, err := gonet.ListenTCP(n.b.stack, at, proto)
	if err != nil {
		n.t.Fatalf("listen: %v", err)
	}
	n.t.Cleanup(func() { l.Close() })
	return l
}

// dial connects a to b.
func (n *pairNet) dial(v6 bool) *gonet.TCPConn {
	n.t.Helper()
	c, err := n.tryDial(v6, time.Minute)
	if err != nil {
		n.t.Fatalf("dial: %v", err)
	}
	n.t.Cleanup(func() { c.Close() })
	return c
}

func (n *pairNet) tryDial(v6 bool, limit time.Duration) (*gonet.TCPConn, error) {
	at, proto := n.b.at(v6)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return gonet.DialContextTCP(ctx, n.a.stack, at, proto)
}

// connect returns both ends of a connection from a to b.
func (n *pairNet) connect(v6 bool) (a, b *gonet.TCPConn) {
	n.t.Helper()
	l := n.listen(v6)
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			n.t.Errorf("accept: %v", err)
		}
		accepted <- c
	}()
	a = n.dial(v6)
	c := <-accepted
	if c == nil {
		n.t.FailNow()
	}
	n.t.Cleanup(func() { c.Close() })
	return a, c.(*gonet.TCPConn)
}

// send writes size bytes made from seed and closes its stream.
func send(c *gonet.TCPConn, size int, seed int64) ([32]byte, error) {
	h := sha256.New()
	rng := rand.New(rand.NewSource(seed))
	buf := make([]byte, 32<<10)
	for size > 0 {
		n := min(size, 1+rng.Intn(len(buf)))
		rng.Read(buf[:n])
		h.Write(buf[:n])
		if _, err := c.Write(buf[:n]); err != nil {
			return [32]byte{}, fmt.Errorf("write: %w", err)
		}
		size -= n
	}
	return [32]byte(h.Sum(nil)), c.CloseWrite()
}

// receive reads to the end of the stream.
func receive(c net.Conn) (size int, sum [32]byte, err error) {
	h := sha256.New()
	n, err := io.Copy(h, c)
	return int(n), [32]byte(h.Sum(nil)), err
}

// exchange sends size bytes in both directions and checks them.
func exchange(t *testing.T, a, b *gonet.TCPConn, size int) {
	t.Helper()
	type result struct {
		size int
		sum  [32]byte
		err  error
	}
	sent := [2]chan result{make(chan result, 1), make(chan result, 1)}
	got := [2]chan result{make(chan result, 1), make(chan result, 1)}
	for i, c := range []*gonet.TCPConn{a, b} {
		c.SetDeadline(time.Now().Add(3 * time.Minute))
		go func() {
			sum, err := send(c, size, int64(i))
			sent[i] <- result{size, sum, err}
		}()
		go func() {
			n, sum, err := receive(c)
			got[1-i] <- result{n, sum, err}
		}()
	}
	for i := range 2 {
		s, g := <-sent[i], <-got[i]
		if s.err != nil || g.err != nil {
			t.Fatalf("direction %d: sent: %v, received: %v, after %d bytes of %d", i, s.err, g.err, g.size, size)
		}
		if s != g {
			t.Fatalf("direction %d: received %d bytes that differ from the %d sent", i, g.size, s.size)
		}
	}
}

// protocols are the pairs of TCPs that tests run.
var protocols = []struct {
	name string
	a, b stack.TransportProtocolFactory
}{
	{"ours-ours", verified, verified},
	{"ours-gvisor", verified, gtcp.NewProtocol},
	{"gvisor-ours", gtcp.NewProtocol, verified},
}

// verified is NewProtocol with Config.CheckInvariants.
var verified = func() stack.TransportProtocolFactory {
	cfg := DefaultConfig()
	cfg.CheckInvariants = true
	f, err := NewProtocolWith(cfg)
	if err != nil {
		panic(err)
	}
	return f
}()

func families(t *testing.T, f func(t *testing.T, v6 bool)) {
	t.Run("ipv4", func(t *testing.T) { f(t, false) })
	t.Run("ipv6", func(t *testing.T) { f(t, true) })
}

func viewWith(b []byte) *buffer.View { return buffer.NewViewWithData(b) }
