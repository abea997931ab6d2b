package netstack

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

// rig is a stack whose peer is the test, in virtual time. The test makes up what the stack
// receives, and logs what it sends, returns and counts. Tests run one script with our TCP and
// gVisor's, and compare the logs.
type rig struct {
	t     *testing.T
	ours  bool
	clock *VirtualClock
	s     *stack.Stack
	link  *channel.Endpoint
	peers map[uint16]*rigPeer
	log   []string
	order []uint16 // ports of the peer, in the order of segments sent to them
	skip  []string // names of counters that are not compared
	acks  bool     // log pure ACKs too
}

// The addresses of a rig.
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
	return newRigOn(t, f, ours, func(c *VirtualClock) tcpip.Clock { return c })
}

// newRigOn is newRig with a stack that sees the clock through a view.
func newRigOn(t *testing.T, f stack.TransportProtocolFactory, ours bool, view func(*VirtualClock) tcpip.Clock) *rig {
	t.Helper()
	clock, err := NewVirtualClock(VirtualClockConfig{})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, ours: ours, clock: clock, link: channel.New(4096, 1500, ""), peers: map[uint16]*rigPeer{}}
	r.s = stack.New(stack.Options{
		Clock:              view(clock),
		RandSource:         NewSeededSource(1),
		SecureRNG:          NewSeededSource(2),
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
	clock.Advance(time.Second) // no time in the log is 0
	t.Cleanup(func() {
		r.s.Destroy()
		for pkt := r.link.Read(); pkt != nil; pkt = r.link.Read() {
			pkt.DecRef()
		}
	})
	return r
}

// sameAsGVisor runs a script with both TCPs and compares the logs, with all counters at the end.
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

// lineDiff returns the lines of both; "-" marks those of a only, "+" those of b only.
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

// errName returns the name of an error, without its type's prefix.
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

// drain logs the packets that have left.
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
		if ip.NextHeader() != uint8(header.TCPProtocolNumber) {
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
	p.all = append(p.all, p.last)
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
	// PSH may differ.
	r.notef("%v > %d %v seq %d ack %d len %d%s%s", time.Duration(r.clock.Time()).Round(time.Millisecond), raw.DestinationPort(),
		flags&^header.TCPFlagPsh, seq, ack, n, options, zero)
}

// quietly runs f without logging its segments.
func (r *rig) quietly(f func()) {
	n := len(r.log)
	f()
	r.log = append(r.log[:n], slices.DeleteFunc(slices.Clone(r.log[n:]), func(s string) bool { return strings.Contains(s, " > ") })...)
}

// timing skips the counters that depend on when timers expire.
func (r *rig) timing() {
	r.skip = append(r.skip, "SegmentsSent", "Retransmits", "Timeouts")
}

// counters logs all non-zero counters of a struct.
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
