package sockets_test

import (
	"bytes"
	"net/netip"
	"os"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/link/loopback"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"tcpwheel/netstack"
	"tcpwheel/netstack/leaktest"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
)

// TestMain fails if a goroutine or a packet buffer is left after all tests.
func TestMain(m *testing.M) { os.Exit(leaktest.Main(m, "tcpwheel/netstack")) }

// protocols are the TCPs that all tests run on.
var protocols = []struct {
	name string
	make stack.TransportProtocolFactory
}{{"ours", netstack.NewProtocol}, {"gvisor", gtcp.NewProtocol}}

func forProtocols(t *testing.T, f func(t *testing.T, p stack.TransportProtocolFactory)) {
	for _, p := range protocols {
		t.Run("tcp="+p.name, func(t *testing.T) { f(t, p.make) })
	}
}

func port(a string) netip.AddrPort { return netip.MustParseAddrPort(a) }

// newLoop makes a stack that talks to itself, in real time.
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

// virtual is two stacks in virtual time, at the ends of an emulated link, with the tasks that use them.
type virtual struct {
	clock *netstack.VirtualClock
	tasks *sockets.Tasks
	a, b  *stack.Stack
	wires [2]*wire
}

const (
	addrA = "10.0.0.1"
	addrB = "10.0.0.2"
)

// newVirtual makes them. The link is the same in both directions.
func newVirtual(p stack.TransportProtocolFactory, link sim.LinkConfig) *virtual {
	clock, err := netstack.NewVirtualClock(netstack.VirtualClockConfig{})
	if err != nil {
		panic(err)
	}
	v := &virtual{clock: clock, tasks: sockets.NewTasks(clock)}
	ends := [2]*channel.Endpoint{channel.New(1<<12, 1500, ""), channel.New(1<<12, 1500, "")}
	for i, end := range ends {
		model, err := sim.NewLink(link, sim.LinkKey(1, string('a'+rune(i))))
		if err != nil {
			panic(err)
		}
		v.wires[i] = &wire{clock: clock, model: model, from: end, to: ends[1-i], sum: 14695981039346656037}
		end.AddNotify(v.wires[i])
	}
	stackAt := func(host int64, link stack.LinkEndpoint, addr string) *stack.Stack {
		return newStack(stack.Options{
			Clock: clock, RandSource: netstack.NewSeededSource(host), SecureRNG: netstack.NewSeededSource(host),
			TransportProtocols: []stack.TransportProtocolFactory{p},
		}, link, netip.PrefixFrom(netip.MustParseAddr(addr), 24))
	}
	v.a, v.b = stackAt(1, ends[0], addrA), stackAt(2, ends[1], addrB)
	clock.SetSettle(func() { v.tasks.Settle(v.a, v.b) })
	return v
}

// close ends the stacks.
func (v *virtual) close() {
	v.clock.SetSettle(nil)
	v.a.Destroy()
	v.b.Destroy()
}

func (v *virtual) now() time.Duration { return time.Duration(v.clock.Time()) }

func (v *virtual) dialer() *sockets.Dialer { return &sockets.Dialer{Stack: v.a, Tasks: v.tasks} }

func (v *virtual) listen(at string) (*sockets.Listener, error) {
	return (&sockets.ListenConfig{Stack: v.b, Tasks: v.tasks}).ListenTCP(port(at))
}

// wire is one direction of the link: sim.Link, which delivers in functions of the clock.
type wire struct {
	clock    *netstack.VirtualClock
	model    *sim.Link
	from, to *channel.Endpoint
	cut      bool   // all is lost
	packets  int    // that were sent
	sum      uint64 // of what was sent, and when
}

// WriteNotify implements channel.Notification.
func (w *wire) WriteNotify() {
	for pkt := w.from.Read(); pkt != nil; pkt = w.from.Read() {
		view := pkt.ToView()
		data, proto := bytes.Clone(view.AsSlice()), pkt.NetworkProtocolNumber
		view.Release()
		pkt.DecRef()
		now := w.clock.Time()
		w.packets++
		for _, b := range append([]byte(time.Duration(now).String()), data...) {
			w.sum = (w.sum ^ uint64(b)) * 1099511628211
		}
		fate := w.model.Send(now, &sim.Packet{Size: uint32(len(data))})
		if fate.Verdict == sim.Delivered && !w.cut {
			w.clock.AfterFunc(fate.At.Sub(now), func() { deliver(w.to, proto, data) })
		}
	}
}

func deliver(to *channel.Endpoint, proto tcpip.NetworkProtocolNumber, data []byte) {
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(data)})
	defer pkt.DecRef()
	to.InjectInbound(proto, pkt)
}
