package netstack

import (
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// rig is a stack whose peer is the test: it makes up what the stack receives, and writes down what it sends, what its calls return and
// what it counts. The same script is run with our TCP and with gVisor's, and the transcripts are compared. Time is virtual.
type rig struct {
	t     *testing.T
	ours  bool
	clock *VirtualClock
	s     *stack.Stack
	link  *channel.Endpoint
	peers map[uint16]*rigPeer
	log   []string
	order []uint16 // the peer's ports, by the segments that they were sent
	skip  []string // names of counters that are not compared
	acks  bool     // segments that do nothing but acknowledge are written down, too
}

// The ends of a rig.
var (
	rigHere  = tcpip.AddrFrom4([4]byte{10, 0, 0, 1})
	rigThere = tcpip.AddrFrom4([4]byte{10, 0, 0, 2})
	rigHere6 = tcpip.AddrFrom16([16]byte{0: 0xfd, 15: 1})
)

const (
	rigPort = 80   // of the stack's listeners
	rigISS  = 1000 // of the peer's connections
)

func newRig(t *testing.T, f stack.TransportProtocolFactory, ours bool) *rig {
	t.Helper()
	clock, err := NewVirtualClock(VirtualClockConfig{})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, ours: ours, clock: clock, link: channel.New(4096, 1500, ""), peers: map[uint16]*rigPeer{}}
	r.s = stack.New(stack.Options{
		Clock:              clock,
		RandSource:         &clockRand{src: rand.NewSource(1)},
		SecureRNG:          &clockRand{src: rand.NewSource(2)},
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{f},
	})
	if err := r.s.CreateNIC(1, r.link); err != nil {
		t.Fatal(err)
	}
	for _, a := range []tcpip.ProtocolAddress{
		{Protocol: ipv4.ProtocolNumber, AddressWithPrefix: rigHere.WithPrefix()},
		{Protocol: ipv6.ProtocolNumber, AddressWithPrefix: rigHere6.WithPrefix()},
	} {
		if err := r.s.AddProtocolAddress(1, a, stack.AddressProperties{}); err != nil {
			t.Fatal(err)
		}
	}
	r.s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: 1}, {Destination: header.IPv6EmptySubnet, NIC: 1}})
	if !ours {
		clock.SetSettle(func() { Settle(r.s) })
	}
	clock.Advance(time.Second) // so that no instant is 0
	t.Cleanup(func() {
		r.s.Destroy()
		for pkt := r.link.Read(); pkt != nil; pkt = r.link.Read() {
			pkt.DecRef()
		}
	})
	return r
}

// sameAsGVisor runs the script with both and compares the transcripts, with all counters at the end.
func sameAsGVisor(t *testing.T, script func(r *rig)) {
	t.Helper()
	var logs [2][]string
	for i, f := range []stack.TransportProtocolFactory{NewProtocol, gtcp.NewProtocol} {
		r := newRig(t, f, i == 0)
		script(r)
		r.counters("at the end", r.s.Stats().TCP)
		r.notef("dropped %d", r.s.Stats().DroppedPackets.Value())
		logs[i] = r.log
	}
	if !slices.Equal(logs[0], logs[1]) {
		t.Errorf("transcripts differ, ours (-) and gVisor's (+):\n%s", lineDiff(logs[0], logs[1]))
	}
}

// lineDiff returns the lines of both, those of a only behind "-" and those of b only behind "+".
func lineDiff(a, b []string) string {
	// common[i][j] is the length of the longest common subsequence of a[i:] and b[j:].
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out strings.Builder
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			fmt.Fprintf(&out, "    %s\n", a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			fmt.Fprintf(&out, "  - %s\n", a[i])
			i++
		default:
			fmt.Fprintf(&out, "  + %s\n", b[j])
			j++
		}
	}
	return out.String()
}

func (r *rig) notef(format string, args ...any) { r.log = append(r.log, fmt.Sprintf(format, args...)) }

func (r *rig) say(err tcpip.Error) { r.notef("%s", errName(err)) }

// errName returns the name of an error, as both TCPs have them.
func errName(err tcpip.Error) string {
	if err == nil {
		return "ok"
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", err), "*tcpip.Err")
}

// pass lets time pass.
func (r *rig) pass(d time.Duration) {
	r.clock.Advance(d)
	r.drain()
}

// drain writes down what has left.
func (r *rig) drain() {
	r.clock.Advance(0)
	for pkt := r.link.Read(); pkt != nil; pkt = r.link.Read() {
		view := pkt.ToView()
		r.sent(view.AsSlice(), pkt.NetworkProtocolNumber)
		view.Release()
		pkt.DecRef()
	}
}

func (r *rig) sent(b []byte, net tcpip.NetworkProtocolNumber) {
	var raw header.TCP
	if net == ipv6.ProtocolNumber {
		ip := header.IPv6(b)
		if ip.TransportProtocol() != header.TCPProtocolNumber {
			return
		}
		raw = header.TCP(ip.Payload())
	} else {
		ip := header.IPv4(b)
		if ip.TransportProtocol() != header.TCPProtocolNumber {
			return
		}
		raw = header.TCP(ip.Payload())
	}
	p := r.peer(raw.DestinationPort())
	p.last, p.packet = append(header.TCP(nil), raw...), slices.Clone(b)
	flags, n := raw.Flags(), len(raw)-int(raw.DataOffset())
	if flags.Contains(header.TCPFlagSyn) && !p.known {
		p.theirs, p.known = raw.SequenceNumber(), true
	}
	if end := raw.SequenceNumber() + uint32(n); !flags.Contains(header.TCPFlagRst) && int32(end-p.nxt-p.theirs) > 0 {
		p.nxt = end - p.theirs
	}
	if flags.Intersects(header.TCPFlagSyn | header.TCPFlagFin) {
		p.nxt = raw.SequenceNumber() + uint32(n) + 1 - p.theirs
	}
	p.sent++
	r.order = append(r.order, p.port)
	if flags == header.TCPFlagAck && n == 0 && !r.acks {
		return
	}
	seq, ack := raw.SequenceNumber(), uint32(0)
	if p.known && !(flags.Contains(header.TCPFlagRst) && seq == 0) {
		seq -= p.theirs
	}
	if flags.Contains(header.TCPFlagAck) {
		ack = raw.AckNumber() - p.iss
	}
	options := ""
	if flags.Contains(header.TCPFlagSyn) {
		o := header.ParseSynOptions(raw.Options(), flags.Contains(header.TCPFlagAck))
		options = fmt.Sprintf(" mss %d sack %v ts %v", o.MSS, o.SACKPermitted, o.TS)
	}
	zero := ""
	if raw.WindowSize() == 0 && !flags.Contains(header.TCPFlagRst) {
		zero = " win 0"
	}
	// PSH is each sender's own business.
	r.notef("%v > %d %v seq %d ack %d len %d%s%s", time.Duration(r.clock.Time()).Round(time.Millisecond), raw.DestinationPort(),
		flags&^header.TCPFlagPsh, seq, ack, n, options, zero)
}

// rigPeer is a port of the peer's.
type rigPeer struct {
	r      *rig
	port   uint16 // the peer's
	here   uint16 // the stack's
	iss    uint32
	snd    uint32 // what the peer sends next, from its iss
	theirs uint32 // the stack's initial sequence number, once known
	known  bool
	nxt    uint32 // what the stack sends next, from theirs
	sent   int    // segments from the stack
	last   header.TCP
	packet []byte // IP's, with last
	bare   bool   // SYNs have no options
}

func (r *rig) peer(port uint16) *rigPeer {
	p := r.peers[port]
	if p == nil {
		p = &rigPeer{r: r, port: port, here: rigPort, iss: rigISS}
		r.peers[port] = p
	}
	return p
}

// send gives the stack a segment, whose numbers count from the initial ones.
func (p *rigPeer) send(flags header.TCPFlags, seq, ack uint32, n int) {
	p.raw(flags, p.iss+seq, p.theirs+ack, make([]byte, n), 0)
}

// raw is send with numbers as they are on the wire, and with what is added to the checksum.
func (p *rigPeer) raw(flags header.TCPFlags, seq, ack uint32, data []byte, bad uint16) {
	r := p.r
	var opts []byte
	if flags.Contains(header.TCPFlagSyn) && !p.bare {
		opts = []byte{header.TCPOptionMSS, 4, 1460 >> 8, 1460 & 255}
	}
	if !flags.Contains(header.TCPFlagAck) {
		ack = 0
	}
	size := header.TCPMinimumSize + len(opts)
	b := make([]byte, header.IPv4MinimumSize+size+len(data))
	ip := header.IPv4(b)
	ip.Encode(&header.IPv4Fields{
		TotalLength: uint16(len(b)), TTL: 64, Protocol: uint8(header.TCPProtocolNumber), SrcAddr: rigThere, DstAddr: rigHere,
	})
	ip.SetChecksum(^ip.CalculateChecksum())
	seg := header.TCP(b[header.IPv4MinimumSize:])
	seg.Encode(&header.TCPFields{
		SrcPort: p.port, DstPort: p.here, SeqNum: seq, AckNum: ack, DataOffset: uint8(size), Flags: flags, WindowSize: 65535,
	})
	copy(seg[header.TCPMinimumSize:], opts)
	copy(seg[size:], data)
	sum := header.PseudoHeaderChecksum(header.TCPProtocolNumber, rigThere, rigHere, uint16(len(seg)))
	seg.SetChecksum(^seg.CalculateChecksum(checksum.Combine(sum, checksum.Checksum(data, 0))) + bad)
	r.inject(b)
}

func (r *rig) inject(b []byte) {
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(b)})
	r.link.InjectInbound(ipv4.ProtocolNumber, pkt)
	pkt.DecRef()
	r.drain()
}

// What peers send in order.
func (p *rigPeer) syn() {
	p.send(header.TCPFlagSyn, 0, 0, 0)
	p.snd = 1
}
func (p *rigPeer) synAck() {
	p.send(header.TCPFlagSyn|header.TCPFlagAck, 0, 1, 0)
	p.snd = 1
}
func (p *rigPeer) ack() { p.send(header.TCPFlagAck, p.snd, p.nxt, 0) }
func (p *rigPeer) data(n int) {
	p.send(header.TCPFlagAck, p.snd, p.nxt, n)
	p.snd += uint32(n)
}
func (p *rigPeer) fin() {
	p.send(header.TCPFlagFin|header.TCPFlagAck, p.snd, p.nxt, 0)
	p.snd++
}
func (p *rigPeer) rst() { p.send(header.TCPFlagRst, p.snd, 0, 0) }

// icmp has a router say something about the last segment from the stack.
func (p *rigPeer) icmp(code header.ICMPv4Code, mtu uint16) {
	quote := p.packet[:min(len(p.packet), 60)]
	b := make([]byte, header.IPv4MinimumSize+header.ICMPv4MinimumSize+len(quote))
	ip := header.IPv4(b)
	ip.Encode(&header.IPv4Fields{
		TotalLength: uint16(len(b)), TTL: 64, Protocol: uint8(header.ICMPv4ProtocolNumber), SrcAddr: rigThere, DstAddr: rigHere,
	})
	ip.SetChecksum(^ip.CalculateChecksum())
	m := header.ICMPv4(b[header.IPv4MinimumSize:])
	m.SetType(header.ICMPv4DstUnreachable)
	m.SetCode(code)
	m.SetMTU(mtu)
	copy(m[header.ICMPv4MinimumSize:], quote)
	m.SetChecksum(header.ICMPv4Checksum(m, 0))
	p.r.inject(b)
}

// rigSocket is an endpoint of a rig. Its methods write down what they return, and the state after it.
type rigSocket struct {
	r    *rig
	name string
	ep   tcpip.Endpoint
	wq   *waiter.Queue
}

func (r *rig) socket(name string) *rigSocket { return r.socketOf(name, ipv4.ProtocolNumber) }

func (r *rig) socketOf(name string, net tcpip.NetworkProtocolNumber) *rigSocket {
	r.t.Helper()
	wq := new(waiter.Queue)
	ep, err := r.s.NewEndpoint(header.TCPProtocolNumber, net, wq)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(ep.Close)
	return &rigSocket{r, name, ep, wq}
}

func (s *rigSocket) say(what string, err tcpip.Error) *rigSocket {
	s.r.drain()
	s.r.notef("%s.%s: %s, %v", s.name, what, errName(err), gtcp.EndpointState(s.ep.State()))
	return s
}

func (s *rigSocket) bind(port uint16) *rigSocket {
	return s.say(fmt.Sprint("bind ", port), s.ep.Bind(tcpip.FullAddress{Port: port}))
}
func (s *rigSocket) listen(backlog int) *rigSocket {
	return s.say(fmt.Sprint("listen ", backlog), s.ep.Listen(backlog))
}

// connect connects to a port of the peer's.
func (s *rigSocket) connect(port uint16) *rigPeer {
	err := s.ep.Connect(tcpip.FullAddress{Addr: rigThere, Port: port})
	p := s.r.peer(port)
	if at, err := s.ep.GetLocalAddress(); err == nil {
		p.here = at.Port
	}
	s.say(fmt.Sprint("connect ", port), err)
	return p
}
func (s *rigSocket) close() *rigSocket {
	s.ep.Close()
	return s.say("close", nil)
}
func (s *rigSocket) abort() *rigSocket {
	s.ep.Abort()
	return s.say("abort", nil)
}
func (s *rigSocket) shutdown(f tcpip.ShutdownFlags) *rigSocket {
	return s.say(fmt.Sprint("shutdown ", f), s.ep.Shutdown(f))
}
func (s *rigSocket) write(n int) *rigSocket {
	_, err := s.ep.Write(strings.NewReader(strings.Repeat("x", n)), tcpip.WriteOptions{})
	return s.say(fmt.Sprint("write ", n), err)
}
func (s *rigSocket) writeAtomic(n int) *rigSocket {
	took, err := s.ep.Write(strings.NewReader(strings.Repeat("x", n)), tcpip.WriteOptions{Atomic: true})
	return s.say(fmt.Sprintf("atomic write of %d takes %d", n, took), err)
}
func (s *rigSocket) read() *rigSocket {
	var b strings.Builder
	res, err := s.ep.Read(&b, tcpip.ReadOptions{})
	return s.say(fmt.Sprint("read ", res.Count), err)
}

// soError reads SO_ERROR.
func (s *rigSocket) soError() *rigSocket { return s.say("error", s.ep.SocketOptions().GetLastError()) }

// look writes the state down, and what the socket is ready for.
func (s *rigSocket) look() *rigSocket {
	const all = waiter.EventIn | waiter.EventOut | waiter.EventHUp | waiter.EventErr | waiter.EventRdHUp
	s.r.drain()
	s.r.notef("%s is %v, ready for %b", s.name, gtcp.EndpointState(s.ep.State()), s.ep.Readiness(all))
	return s
}

// accept takes a connection, nil if there is none.
func (s *rigSocket) accept(name string) *rigSocket {
	var from tcpip.FullAddress
	ep, wq, err := s.ep.Accept(&from)
	s.say("accept", err)
	if err != nil {
		return nil
	}
	s.r.notef("from %v port %d on %d", from.Addr, from.Port, from.NIC)
	s.r.t.Cleanup(ep.Close)
	return &rigSocket{s.r, name, ep, wq}
}

// quietly does what f does, and forgets the segments that leave meanwhile.
func (r *rig) quietly(f func()) {
	n := len(r.log)
	f()
	r.log = append(r.log[:n], slices.DeleteFunc(slices.Clone(r.log[n:]), func(s string) bool { return strings.Contains(s, " > ") })...)
}

// timing has what depends on when timers expire not be compared: it is each TCP's own business.
func (r *rig) timing() {
	r.skip = append(r.skip, "SegmentsSent", "Retransmits", "Timeouts")
}

// established returns a connection that the peer has opened, with the listener and the peer.
func (r *rig) established() (l, c *rigSocket, p *rigPeer) {
	r.t.Helper()
	l = r.socket("l").bind(rigPort).listen(8)
	p = r.peer(2000)
	p.syn()
	p.ack()
	if c = l.accept("c"); c == nil {
		r.t.Fatalf("nothing to accept:\n%s", strings.Join(r.log, "\n"))
	}
	return l, c, p
}

// stats writes down what the endpoint has counted.
func (s *rigSocket) stats() {
	s.r.counters(s.name, reflect.Indirect(reflect.ValueOf(s.ep.Stats())).Interface())
}

// counters writes down all counters of a struct that are not 0.
func (r *rig) counters(what string, of any) {
	note := func(path string, n uint64) {
		if n != 0 && !slices.ContainsFunc(r.skip, func(s string) bool { return strings.HasSuffix(path, s) }) {
			r.notef("%s: %s %d", what, path, n)
		}
	}
	var walk func(path string, v reflect.Value)
	walk = func(path string, v reflect.Value) {
		switch c := v.Interface().(type) {
		case *tcpip.StatCounter:
			note(path, c.Value())
			return
		case tcpip.StatCounter:
			note(path, c.Value())
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				walk(strings.TrimPrefix(path+"."+f.Name, "."), v.Field(i))
			}
		}
	}
	walk("", reflect.ValueOf(of))
}
