package netstack

import (
	"reflect"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/link/loopback"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
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
