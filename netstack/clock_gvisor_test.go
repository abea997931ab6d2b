package netstack

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// clockNet is two stacks on a wire, a at 10.0.0.1 and b at 10.0.0.2, by default with gVisor's TCP.
// The wire delivers in timer functions and logs each packet sent.
type clockNet struct {
	t     *testing.T
	clock *VirtualClock
	delay time.Duration
	a, b  *stack.Stack
	drop  func(p clockPacket) bool
	log   []clockPacket
}

// clockPacket is a packet in the log.
type clockPacket struct {
	at    time.Duration
	from  byte // 'a' or 'b'
	flags header.TCPFlags
	seq   uint32
	ack   uint32
	data  int
	hash  uint64 // of all bytes
	lost  bool

	causes []Cause
}

func (p clockPacket) String() string {
	lost := ""
	if p.lost {
		lost = " lost"
	}
	return fmt.Sprintf("%v %c %v seq %d ack %d data %d hash %x%s", p.at, p.from, p.flags, p.seq, p.ack, p.data, p.hash, lost)
}

func clockAddr(host byte) tcpip.Address { return tcpip.AddrFrom4([4]byte{10, 0, 0, host}) }

// newClockNet makes a net. view returns the clock of stack a; nil is the net's own clock.
func newClockNet(t *testing.T, delay time.Duration, view func(*VirtualClock) tcpip.Clock) *clockNet {
	t.Helper()
	n := newClockNetOf(t, delay, view, tcp.NewProtocol)
	// RACK and TLP would act before the retransmission timer, which the test measures.
	for _, s := range []*stack.Stack{n.a, n.b} {
		none := tcpip.TCPRecovery(0)
		if err := s.SetTransportProtocolOption(tcp.ProtocolNumber, &none); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// newClockNetOf is newClockNet with a given TCP.
func newClockNetOf(t *testing.T, delay time.Duration, view func(*VirtualClock) tcpip.Clock, f stack.TransportProtocolFactory) *clockNet {
	t.Helper()
	clock, err := NewVirtualClock(VirtualClockConfig{})
	if err != nil {
		t.Fatal(err)
	}
	n := &clockNet{t: t, clock: clock, delay: delay}
	aClock := tcpip.Clock(clock)
	if view != nil {
		aClock = view(clock)
	}
	la, lb := channel.New(1024, 1500, ""), channel.New(1024, 1500, "")
	n.a, n.b = n.newStack(1, aClock, la, f), n.newStack(2, clock, lb, f)
	la.AddNotify(&clockWire{n, 'a', la, lb})
	lb.AddNotify(&clockWire{n, 'b', lb, la})
	clock.SetSettle(func() { Settle(n.a, n.b) })
	t.Cleanup(func() {
		n.a.Destroy()
		n.b.Destroy()
	})
	return n
}

func (n *clockNet) newStack(host byte, clock tcpip.Clock, link stack.LinkEndpoint, f stack.TransportProtocolFactory) *stack.Stack {
	n.t.Helper()
	s := stack.New(stack.Options{
		Clock:              clock,
		RandSource:         NewSeededSource(int64(host)),
		SecureRNG:          NewSeededSource(int64(host)),
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{f},
	})
	if err := s.CreateNIC(1, link); err != nil {
		n.t.Fatal(err)
	}
	addr := tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber, AddressWithPrefix: clockAddr(host).WithPrefix()}
	if err := s.AddProtocolAddress(1, addr, stack.AddressProperties{}); err != nil {
		n.t.Fatal(err)
	}
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: 1}})
	return s
}

// clockWire is one direction of the wire.
type clockWire struct {
	net      *clockNet
	name     byte
	from, to *channel.Endpoint
}

func (w *clockWire) WriteNotify() {
	n := w.net
	for pkt := w.from.Read(); pkt != nil; pkt = w.from.Read() {
		view := pkt.ToView()
		data := bytes.Clone(view.AsSlice())
		view.Release()
		p := parseClockPacket(data)
		p.causes = Causes(pkt)
		pkt.DecRef()
		p.at, p.from = time.Duration(n.clock.Time()), w.name
		p.lost = n.drop != nil && n.drop(p)
		n.log = append(n.log, p)
		if !p.lost {
			n.clock.AfterFunc(n.delay, func() { deliverClockPacket(w.to, data) })
		}
	}
}

func parseClockPacket(data []byte) clockPacket {
	seg := header.TCP(header.IPv4(data).Payload())
	sum := fnv.New64a()
	sum.Write(data)
	return clockPacket{
		flags: seg.Flags(), seq: seg.SequenceNumber(), ack: seg.AckNumber(), hash: sum.Sum64(),
		data: len(seg) - int(seg.DataOffset()),
	}
}

func deliverClockPacket(to *channel.Endpoint, data []byte) {
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(data)})
	defer pkt.DecRef()
	to.InjectInbound(ipv4.ProtocolNumber, pkt)
}

// dial connects a to port 80 of b, and returns both ends.
func (n *clockNet) dial() (client, server tcpip.Endpoint) {
	n.t.Helper()
	listener := n.endpoint(n.b)
	addr := tcpip.FullAddress{NIC: 1, Addr: clockAddr(2), Port: 80}
	if err := listener.Bind(addr); err != nil {
		n.t.Fatal(err)
	}
	if err := listener.Listen(8); err != nil {
		n.t.Fatal(err)
	}
	client = n.endpoint(n.a)
	if _, started := client.Connect(addr).(*tcpip.ErrConnectStarted); !started {
		n.t.Fatal("connect did not start")
	}
	n.clock.Run(time.Minute)
	server, _, err := listener.Accept(nil)
	if err != nil {
		n.t.Fatalf("accept: %v\n%s", err, n)
	}
	return client, server
}

func (n *clockNet) endpoint(s *stack.Stack) tcpip.Endpoint {
	n.t.Helper()
	ep, err := s.NewEndpoint(tcp.ProtocolNumber, ipv4.ProtocolNumber, &waiter.Queue{})
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(ep.Abort)
	return ep
}

func (n *clockNet) write(ep tcpip.Endpoint, data []byte) {
	n.t.Helper()
	wrote, err := ep.Write(bytes.NewReader(data), tcpip.WriteOptions{})
	if err != nil || wrote != int64(len(data)) {
		n.t.Fatalf("wrote %d of %d bytes: %v", wrote, len(data), err)
	}
}

// read returns the data that ep has received.
func (n *clockNet) read(ep tcpip.Endpoint) []byte {
	n.t.Helper()
	var got bytes.Buffer
	for {
		switch _, err := ep.Read(&got, tcpip.ReadOptions{}); err.(type) {
		case nil:
		case *tcpip.ErrWouldBlock, *tcpip.ErrClosedForReceive:
			return got.Bytes()
		default:
			n.t.Fatalf("read: %v", err)
		}
	}
}

func (n *clockNet) String() string {
	var sb strings.Builder
	for _, p := range n.log {
		fmt.Fprintln(&sb, p)
	}
	return sb.String()
}

// sentAt returns when a sent the packets that pick selects.
func (n *clockNet) sentAt(pick func(p clockPacket) bool) (at []time.Duration) {
	for _, p := range n.log {
		if p.from == 'a' && pick(p) {
			at = append(at, p.at)
		}
	}
	return at
}

// TestClockCoarseRTOOfGVisor: with coarse timers the same retransmissions wait for the next tick
// only. Each timeout counts from the previous one, so rounding adds up if the RTO is no multiple of
// the tick.
func TestClockCoarseRTOOfGVisor(t *testing.T) {
	for _, tc := range []struct {
		tick time.Duration
		want []time.Duration // in ms; the RTO is 300, 600 and 1200 ms
	}{
		{200, []time.Duration{150, 600, 1200, 2400}}, // 450 is rounded up
		{200, []time.Duration{200, 600, 1200, 2400}}, // 500 as well
		{200, []time.Duration{300, 600, 1200, 2400}}, // 600 is on a tick
		{200, []time.Duration{320, 800, 1400, 2600}}, // 620 is rounded up
		{500, []time.Duration{150, 500, 1500, 3000}}, // 450, 1100 and 2700 are rounded up
		{500, []time.Duration{320, 1000, 2000, 3500}},
	} {
		t.Run(fmt.Sprintf("tick=%dms/sent=%dms", tc.tick, tc.want[0]), func(t *testing.T) {
			n := newClockNet(t, 50*time.Millisecond, func(c *VirtualClock) tcpip.Clock {
				return c.Coarse(tc.tick * time.Millisecond)
			})
			client, _ := n.dial()
			n.drop = clockLoseFirst(3)
			n.clock.Advance(tc.want[0]*time.Millisecond - time.Duration(n.clock.Time()))
			n.write(client, []byte("tail"))
			n.clock.Advance(10 * time.Second)
			got := n.sentAt(func(p clockPacket) bool { return p.data > 0 })
			for i := range got {
				got[i] /= time.Millisecond
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("the segment was sent at %d ms, want %d\n%s", got, tc.want, n)
			}
		})
	}
}

// clockLoseFirst drops the first n data packets of a.
func clockLoseFirst(n int) func(p clockPacket) bool {
	return func(p clockPacket) bool {
		lost := p.from == 'a' && p.data > 0 && n > 0
		if lost {
			n--
		}
		return lost
	}
}
