package netstack

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/link/loopback"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// twins makes a stack with our TCP and one with gVisor's, to compare their answers.
func twins(t *testing.T) (ours, theirs *stack.Stack) {
	var all []*stack.Stack
	for _, f := range []stack.TransportProtocolFactory{NewProtocol, gtcp.NewProtocol} {
		s := stack.New(stack.Options{
			NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol},
			TransportProtocols: []stack.TransportProtocolFactory{f},
		})
		if err := s.CreateNIC(1, loopback.New()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Destroy)
		all = append(all, s)
	}
	return all[0], all[1]
}

// TestSocketOptions sets valid and invalid socket options in our TCP and gVisor's, and compares the
// results and the values read.
func TestSocketOptions(t *testing.T) {
	ours, theirs := twins(t)
	var wq waiter.Queue
	a, err := ours.NewEndpoint(ProtocolNumber, ipv4.ProtocolNumber, &wq)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := theirs.NewEndpoint(ProtocolNumber, ipv4.ProtocolNumber, &wq)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()

	ints := []tcpip.SockOptInt{
		tcpip.KeepaliveCountOption, tcpip.IPv4TOSOption, tcpip.IPv6TrafficClassOption, tcpip.MaxSegOption, tcpip.MTUDiscoverOption,
		tcpip.ReceiveQueueSizeOption, tcpip.IPv4TTLOption, tcpip.IPv6HopLimitOption, tcpip.TCPSynCountOption, tcpip.TCPWindowClampOption,
		tcpip.MulticastTTLOption,
	}
	read := func(when string) {
		t.Helper()
		for _, o := range ints {
			va, ea := a.GetSockOptInt(o)
			vb, eb := b.GetSockOptInt(o)
			if va != vb || !reflect.DeepEqual(ea, eb) {
				t.Errorf("%s: option %d = %d, %v, gVisor's %d, %v", when, o, va, ea, vb, eb)
			}
		}
		for _, get := range []func() tcpip.GettableSocketOption{
			func() tcpip.GettableSocketOption { return new(tcpip.KeepaliveIdleOption) },
			func() tcpip.GettableSocketOption { return new(tcpip.KeepaliveIntervalOption) },
			func() tcpip.GettableSocketOption { return new(tcpip.TCPUserTimeoutOption) },
			func() tcpip.GettableSocketOption { return new(tcpip.TCPDeferAcceptOption) },
		} {
			oa, ob := get(), get()
			ea, eb := a.GetSockOpt(oa), b.GetSockOpt(ob)
			if !reflect.DeepEqual(oa, ob) || !reflect.DeepEqual(ea, eb) {
				t.Errorf("%s: %T = %v, %v, gVisor's %v, %v", when, oa, reflect.ValueOf(oa).Elem(), ea, reflect.ValueOf(ob).Elem(), eb)
			}
		}
	}
	read("in the beginning")
	for _, o := range ints {
		for _, v := range []int{-1, 0, 1, 7, 255, 256, 1400, 70000} {
			if ea, eb := a.SetSockOptInt(o, v), b.SetSockOptInt(o, v); !reflect.DeepEqual(ea, eb) {
				t.Errorf("option %d set to %d: %v, gVisor's %v", o, v, ea, eb)
			}
		}
	}
	for _, set := range []func() tcpip.SettableSocketOption{
		func() tcpip.SettableSocketOption { o := tcpip.KeepaliveIdleOption(3 * time.Second); return &o },
		func() tcpip.SettableSocketOption { o := tcpip.KeepaliveIntervalOption(time.Second); return &o },
		func() tcpip.SettableSocketOption { o := tcpip.TCPUserTimeoutOption(time.Minute); return &o },
		func() tcpip.SettableSocketOption { o := tcpip.TCPDeferAcceptOption(time.Hour); return &o },
		func() tcpip.SettableSocketOption { o := tcpip.CongestionControlOption("reno"); return &o },
		func() tcpip.SettableSocketOption { o := tcpip.CongestionControlOption("none such"); return &o },
	} {
		if ea, eb := a.SetSockOpt(set()), b.SetSockOpt(set()); !reflect.DeepEqual(ea, eb) {
			t.Errorf("%T: %v, gVisor's %v", set(), ea, eb)
		}
	}
	read("after all were set")
}

// TestProtocolOptions compares the protocol's options with gVisor's.
func TestProtocolOptions(t *testing.T) {
	ours, theirs := twins(t)
	set := func(o tcpip.SettableTransportProtocolOption) {
		t.Helper()
		if ea, eb := ours.SetTransportProtocolOption(ProtocolNumber, o), theirs.SetTransportProtocolOption(ProtocolNumber, o); !reflect.DeepEqual(ea, eb) {
			t.Errorf("%T set: %v, gVisor's %v", o, ea, eb)
		}
	}
	v1, v2 := tcpip.TCPSACKEnabled(false), tcpip.TCPDelayEnabled(true)
	set(&v1)
	set(&v2)
	set(&tcpip.TCPSendBufferSizeRangeOption{Min: 10, Default: 5, Max: 20})
	set(&tcpip.TCPSendBufferSizeRangeOption{Min: 4096, Default: 8192, Max: 65536})
	set(&tcpip.TCPReceiveBufferSizeRangeOption{Min: 4096, Default: 8192, Max: 65536})
	cc, bad := tcpip.CongestionControlOption("cubic"), tcpip.CongestionControlOption("bbr9")
	set(&cc)
	set(&bad)
	lo, hi, over := tcpip.TCPMinRTOOption(time.Second), tcpip.TCPMaxRTOOption(10*time.Second), tcpip.TCPMinRTOOption(time.Minute)
	set(&lo)
	set(&hi)
	set(&over)
	tw, linger := tcpip.TCPTimeWaitTimeoutOption(time.Second), tcpip.TCPLingerTimeoutOption(-1)
	set(&tw)
	set(&linger)
	retries, syn, cookies := tcpip.TCPMaxRetriesOption(5), tcpip.TCPSynRetriesOption(0), tcpip.TCPAlwaysUseSynCookies(true)
	set(&retries)
	set(&syn)
	set(&cookies)
	reuse := tcpip.TCPTimeWaitReuseOption(9)
	set(&reuse)
	for _, o := range []tcpip.GettableTransportProtocolOption{
		new(tcpip.TCPSACKEnabled), new(tcpip.TCPDelayEnabled), new(tcpip.TCPSendBufferSizeRangeOption), new(tcpip.TCPReceiveBufferSizeRangeOption),
		new(tcpip.CongestionControlOption), new(tcpip.TCPMinRTOOption), new(tcpip.TCPMaxRTOOption), new(tcpip.TCPTimeWaitTimeoutOption),
		new(tcpip.TCPLingerTimeoutOption), new(tcpip.TCPMaxRetriesOption), new(tcpip.TCPSynRetriesOption), new(tcpip.TCPAlwaysUseSynCookies),
		new(tcpip.TCPTimeWaitReuseOption), new(tcpip.TCPModerateReceiveBufferOption),
	} {
		ea := ours.TransportProtocolOption(ProtocolNumber, o)
		got := reflect.ValueOf(o).Elem().Interface()
		eb := theirs.TransportProtocolOption(ProtocolNumber, o)
		if want := reflect.ValueOf(o).Elem().Interface(); got != want || !reflect.DeepEqual(ea, eb) {
			t.Errorf("%T = %v, %v, gVisor's %v, %v", o, got, ea, want, eb)
		}
	}
}

// TestSynCookies: a listener keeps no state for a SYN.
func TestSynCookies(t *testing.T) {
	forAll(t, func(t *testing.T, n *pairNet) {
		always := tcpip.TCPAlwaysUseSynCookies(true)
		if err := n.b.stack.SetTransportProtocolOption(ProtocolNumber, &always); err != nil {
			t.Fatal(err)
		}
		a, b := n.connect(false)
		exchange(t, a, b, 100_000)
		if got := n.b.stack.Stats().TCP.ListenOverflowSynCookieSent.Value(); got == 0 {
			t.Error("no cookie was sent")
		}
	})
}

// icmpError is a stack.TransportError.
type icmpError struct {
	stack.TransportError
	kind stack.TransportErrorKind
	info uint32
}

func (e *icmpError) Kind() stack.TransportErrorKind { return e.kind }
func (e *icmpError) Info() uint32                   { return e.info }

// TestUnreachable: an ICMP unreachable message makes the dial fail at once, as in gVisor.
func TestUnreachable(t *testing.T) {
	n := newPair(t, pairConfig{})
	syn := make(chan []byte, 1)
	n.a.link.setDrop(func(pkt *stack.PacketBuffer) bool {
		select {
		case syn <- append([]byte(nil), pkt.TransportHeader().Slice()[:8]...):
		default:
		}
		return true
	})
	done := make(chan error, 1)
	go func() {
		_, err := n.tryDial(false, 10*time.Second)
		done <- err
	}()
	quote := <-syn
	for _, e := range n.a.stack.RegisteredEndpoints() {
		pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(quote)})
		pkt.NetworkProtocolNumber = ipv4.ProtocolNumber
		e.HandleError(&icmpError{kind: stack.DestinationHostUnreachableTransportError}, pkt)
		pkt.DecRef()
	}
	if err, want := <-done, (&tcpip.ErrHostUnreachable{}).String(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("dial: %v, want %s", err, want)
	}
}

// TestUserTimeout: a connection gives up on a peer that does not answer.
func TestUserTimeout(t *testing.T) {
	n := newPair(t, pairConfig{})
	a, _ := n.connect(false)
	for _, e := range n.a.stack.RegisteredEndpoints() {
		o := tcpip.TCPUserTimeoutOption(50 * time.Millisecond)
		if err := e.(*Endpoint).SetSockOpt(&o); err != nil {
			t.Fatal(err)
		}
	}
	n.a.link.setDrop(func(*stack.PacketBuffer) bool { return true })
	a.Write([]byte("lost"))
	_, err := a.Read(make([]byte, 1))
	if want := (&tcpip.ErrTimeout{}).String(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("read: %v, want %s", err, want)
	}
	if _, err := a.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the next read: %v, want the end", err)
	}
}
