package sockets_test

import (
	"net/netip"
	"os"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/loopback"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"tcpwheel/netstack"
	"tcpwheel/netstack/leaktest"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/virtual"
	"tcpwheel/wheel"
)

// TestMain fails if a goroutine or a packet buffer is left after all tests.
func TestMain(m *testing.M) { os.Exit(leaktest.Main(m, "tcpwheel/netstack")) }

// protocols are the TCPs that the tests run on.
var protocols = []struct {
	name string
	make stack.TransportProtocolFactory
	tcp  virtual.TCP
}{
	{"ours", netstack.NewProtocol, virtual.TCP{Control: "cubic"}},
	{"gvisor", gtcp.NewProtocol, virtual.TCP{GVisor: true, Control: "newreno"}},
}

func forProtocols(t *testing.T, f func(t *testing.T, p stack.TransportProtocolFactory)) {
	for _, p := range protocols {
		t.Run("tcp="+p.name, func(t *testing.T) { f(t, p.make) })
	}
}

func forVirtual(t *testing.T, f func(t *testing.T, tcp virtual.TCP)) {
	for _, p := range protocols {
		t.Run("tcp="+p.name, func(t *testing.T) { f(t, p.tcp) })
	}
}

func port(a string) netip.AddrPort { return netip.MustParseAddrPort(a) }

// newLoop makes a stack with a loopback link, in real time.
func newLoop(t testing.TB, p stack.TransportProtocolFactory) *stack.Stack {
	t.Helper()
	s := newStack(stack.Options{TransportProtocols: []stack.TransportProtocolFactory{p}}, loopback.New(),
		netip.MustParsePrefix("127.0.0.1/8"), netip.MustParsePrefix("::1/128"))
	t.Cleanup(s.Destroy)
	return s
}

// newStack makes a stack on a link.
func newStack(o stack.Options, link stack.LinkEndpoint, addrs ...netip.Prefix) *stack.Stack {
	o.NetworkProtocols = []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol}
	s := stack.New(o)
	if err := s.CreateNIC(1, link); err != nil {
		panic(err.String())
	}
	for _, p := range addrs {
		proto := header.IPv4ProtocolNumber
		if p.Addr().Is6() {
			proto = header.IPv6ProtocolNumber
		}
		addr := tcpip.ProtocolAddress{Protocol: proto, AddressWithPrefix: tcpip.AddressWithPrefix{
			Address: tcpip.AddrFromSlice(p.Addr().AsSlice()), PrefixLen: p.Bits()}}
		if err := s.AddProtocolAddress(1, addr, stack.AddressProperties{}); err != nil {
			panic(err.String())
		}
	}
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: 1}, {Destination: header.IPv6EmptySubnet, NIC: 1}})
	return s
}

// virtualNet is a virtual.Net whose wire the test can cut. Clients dial from end 0 to end 1.
type virtualNet struct {
	*virtual.Net
	late    time.Duration // bound on late deadlines: gVisor's clock advances with each reading
	links   [2]*sim.Link
	cut     [2]bool   // the direction loses everything
	packets [2]int    // sent
	sums    [2]uint64 // of the packets sent and their times
}

const addrB = "10.9.0.2" // of end 1

// newVirtual makes a virtualNet whose ends have the same TCP and whose directions have the same
// link.
func newVirtual(tcp virtual.TCP, link sim.LinkConfig) *virtualNet {
	v := &virtualNet{}
	if tcp.GVisor {
		v.late = time.Microsecond
	}
	for i := range v.links {
		var err error
		if v.links[i], err = sim.NewLink(link, sim.LinkKey(1, string('a'+rune(i)))); err != nil {
			panic(err)
		}
		v.sums[i] = 14695981039346656037
	}
	var err error
	if v.Net, err = virtual.New(virtual.Config{Seed: 1, TCP: [2]virtual.TCP{tcp, tcp}, Wire: v}); err != nil {
		panic(err)
	}
	return v
}

func (v *virtualNet) now() time.Duration { return time.Duration(v.Now()) }

func (v *virtualNet) dialer() *sockets.Dialer {
	return &sockets.Dialer{Stack: v.Stack(0), Tasks: v.Tasks}
}

func (v *virtualNet) listen(at string) (*sockets.Listener, error) {
	return (&sockets.ListenConfig{Stack: v.Stack(1), Tasks: v.Tasks}).ListenTCP(port(at))
}

// Send implements virtual.Wire.
func (v *virtualNet) Send(now wheel.Time, from int, p *virtual.Packet) (time.Duration, bool) {
	v.packets[from]++
	for _, b := range append([]byte(time.Duration(now).String()), p.Bytes...) {
		v.sums[from] = (v.sums[from] ^ uint64(b)) * 1099511628211
	}
	fate := v.links[from].Send(now, &sim.Packet{Size: p.Size})
	return fate.At.Sub(now), fate.Outcome == sim.Delivered && !v.cut[from]
}

// Arrive implements virtual.Wire.
func (*virtualNet) Arrive(wheel.Time, int, *virtual.Packet) bool { return true }
