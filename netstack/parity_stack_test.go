package netstack

import (
	"encoding/binary"
	"fmt"
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
	"gvisor.dev/gvisor/pkg/waiter"

	"tcpwheel/tcptimers"
)

// TestStackOptionsAsGVisor compares options of the stack that connections must obey.
func TestStackOptionsAsGVisor(t *testing.T) {
	runParity(t, []parityScript{
		{"TIME-WAIT of a connection that was open before", func(r *rig) {
			_, c, p := r.established()
			for _, d := range []time.Duration{20 * time.Second, 3 * time.Second} {
				v := tcpip.TCPTimeWaitTimeoutOption(d)
				r.say(r.s.SetTransportProtocolOption(ProtocolNumber, &v))
			}
			c.shutdown(tcpip.ShutdownWrite)
			p.ack()
			p.fin()
			c.look()
			r.pass(2900 * time.Millisecond)
			c.look()
			r.pass(200 * time.Millisecond)
			c.look()
		}},
		{"TIME-WAIT that has begun", func(r *rig) {
			_, c, p := r.established()
			c.shutdown(tcpip.ShutdownWrite)
			p.ack()
			p.fin()
			v := tcpip.TCPTimeWaitTimeoutOption(time.Second)
			r.say(r.s.SetTransportProtocolOption(ProtocolNumber, &v))
			r.pass(30 * time.Second)
			c.look()
			r.pass(31 * time.Second)
			c.look()
		}},
		{"connect on an accepted socket", func(r *rig) {
			_, c, _ := r.established()
			c.connect(2000)
			c.connect(3000)
			c.look()
		}},
		{"SYN retries", func(r *rig) {
			var n tcpip.TCPSynRetriesOption
			r.say(r.s.TransportProtocolOption(ProtocolNumber, &n))
			c := r.socket("c")
			count, err := c.ep.GetSockOptInt(tcpip.TCPSynCountOption)
			r.notef("%d and %d", n, count)
			r.say(err)
			c.connect(2000)
			r.pass(time.Hour)
			c.look().soError()
		}},
	})
}

// TestSynRetriesAreObeyed compares the number of SYN retries that a socket reports with the number
// of SYNs that leave, for policies that decide about it.
func TestSynRetriesAreObeyed(t *testing.T) {
	for _, name := range tcptimers.Names() {
		policy, err := tcptimers.ParsePolicy(name)
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, NewProtocol, true)
		s := r.socket("s")
		if err := s.ep.(*Endpoint).SetSocketConfig(SocketConfig{Policy: policy}); err != nil {
			t.Fatal(err)
		}
		n, terr := s.ep.GetSockOptInt(tcpip.TCPSynCountOption)
		if terr != nil {
			t.Fatal(terr)
		}
		linear := policy.SynLinearTimeouts
		p := s.connect(2000)
		r.pass(time.Hour)
		if p.sent != n+linear+1 || gtcp.EndpointState(s.ep.State()) != gtcp.StateError {
			t.Errorf("%s: TCP_SYNCNT %d: %d SYNs, then %v, want %d and an error", name, n, p.sent, gtcp.EndpointState(s.ep.State()), n+linear+1)
		}
	}
}

// TestExperimentOptionAsGVisor sends data with the IP experiment option on NICs that
// take part and on others. Ours must put it where gVisor's does, and fit packets into the MTU.
func TestExperimentOptionAsGVisor(t *testing.T) {
	const value = 0xbeef
	for _, v6 := range []bool{false, true} {
		for _, enabled := range []bool{false, true} {
			t.Run(fmt.Sprintf("v6=%v enabled=%v", v6, enabled), func(t *testing.T) {
				ours, gvisors := experimentValues(t, NewProtocol, v6, enabled, value), experimentValues(t, gtcp.NewProtocol, v6, enabled, value)
				want := uint16(0)
				if enabled {
					want = value
				}
				if len(ours) < 1 || len(gvisors) < 1 || ours[0] != want || gvisors[0] != want {
					t.Errorf("the first SYNs have %x and %x, want %x", ours, gvisors, want)
				}
			})
		}
	}
}

// experimentValues returns the option's value in each SYN of a connection that finds no peer.
func experimentValues(t *testing.T, f stack.TransportProtocolFactory, v6, enabled bool, value uint16) (all []uint16) {
	t.Helper()
	clock, err := NewVirtualClock(VirtualClockConfig{})
	if err != nil {
		t.Fatal(err)
	}
	s := stack.New(stack.Options{
		Clock: clock, RandSource: NewSeededSource(1), SecureRNG: NewSeededSource(2),
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{f},
	})
	link := channel.New(64, 1500, "")
	net, at, to, everywhere := ipv4.ProtocolNumber, rigHere, rigThere, header.IPv4EmptySubnet
	if v6 {
		net, at, to, everywhere = ipv6.ProtocolNumber, rigHere6, tcpip.AddrFrom16([16]byte{0: 0xfd, 15: 2}), header.IPv6EmptySubnet
	}
	if err := s.CreateNICWithOptions(1, link, stack.NICOptions{EnableExperimentIPOption: enabled}); err != nil {
		t.Fatal(err)
	}
	if err := s.AddProtocolAddress(1, tcpip.ProtocolAddress{Protocol: net, AddressWithPrefix: at.WithPrefix()}, stack.AddressProperties{}); err != nil {
		t.Fatal(err)
	}
	s.SetRouteTable([]tcpip.Route{{Destination: everywhere, NIC: 1}})
	ep, terr := s.NewEndpoint(ProtocolNumber, net, new(waiter.Queue))
	if terr != nil {
		t.Fatal(terr)
	}
	ep.SocketOptions().SetExperimentOptionValue(value)
	ep.Connect(tcpip.FullAddress{Addr: to, Port: 80})
	clock.Advance(0)
	if o, ok := ep.(*Endpoint); ok {
		want := 1500
		if enabled {
			want = map[bool]int{false: 1496, true: 1492}[v6]
		}
		if got := o.ConnInfo().PMTU; int(got) != want {
			t.Errorf("path MTU %d, want %d", got, want)
		}
	}
	for pkt := link.Read(); pkt != nil; pkt = link.Read() {
		if pkt.TransportProtocolNumber == ProtocolNumber {
			ip, v := pkt.NetworkHeader().Slice(), uint16(0)
			switch {
			case v6 && len(ip) == header.IPv6MinimumSize+header.IPv6ExperimentHdrLength:
				v = binary.BigEndian.Uint16(ip[header.IPv6MinimumSize+2:])
			case !v6 && len(ip) == header.IPv4MinimumSize+header.IPv4OptionExperimentLength:
				v = binary.BigEndian.Uint16(ip[header.IPv4MinimumSize+header.IPv4OptionExperimentValueOffset:])
			}
			all = append(all, v)
		}
		pkt.DecRef()
	}
	ep.Close()
	s.Destroy()
	for pkt := link.Read(); pkt != nil; pkt = link.Read() {
		pkt.DecRef()
	}
	return all
}

// TestNotifiesInTheDeliverer checks that an event comes from the goroutine that delivers the
// packet, before the delivery returns, and that its callback may call the endpoint.
func TestNotifiesInTheDeliverer(t *testing.T) {
	r := newRig(t, NewProtocol, true)
	_, c, p := r.established()
	delivering, read := false, ""
	entry := waiter.NewFunctionEntry(waiter.ReadableEvents, func(waiter.EventMask) {
		if !delivering {
			t.Error("the event comes outside of the delivery")
		}
		var b strings.Builder
		if _, err := c.ep.Read(&b, tcpip.ReadOptions{}); err != nil {
			t.Errorf("Read in the callback: %v", err)
		}
		read = b.String()
	})
	c.wq.EventRegister(&entry)
	defer c.wq.EventUnregister(&entry)
	delivering = true
	p.data(5)
	delivering = false
	if len(read) != 5 {
		t.Errorf("the callback read %d bytes, want 5", len(read))
	}
}

// TestNoDanglingEndpoints checks that closed sockets are not on gVisor's list for save and restore.
func TestNoDanglingEndpoints(t *testing.T) {
	r := newRig(t, NewProtocol, true)
	_, c, _ := r.established()
	c.close()
	for _, e := range tcpip.GetDanglingEndpoints() {
		if e == c.ep {
			t.Error("a closed socket dangles")
		}
	}
	if c.ep.State() != uint32(gtcp.StateFinWait1) {
		t.Errorf("the closed socket is in %v, want FIN-WAIT-1", gtcp.EndpointState(c.ep.State()))
	}
}
