package netstack_test

import (
	"fmt"
	"io"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/loopback"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/waiter"

	tcp "tcpwheel/netstack" // instead of "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

// A stack with this package's TCP, a protocol option, and a forwarder that accepts for every
// address.
func Example() {
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol},
	})
	defer s.Destroy()
	sack := tcpip.TCPSACKEnabled(true)
	s.SetTransportProtocolOption(tcp.ProtocolNumber, &sack)
	s.CreateNIC(1, loopback.New())
	s.SetPromiscuousMode(1, true) // packets to any address are for this stack
	s.SetSpoofing(1, true)        // and it may answer from any address
	s.AddProtocolAddress(1, tcpip.ProtocolAddress{
		Protocol:          ipv4.ProtocolNumber,
		AddressWithPrefix: tcpip.AddrFrom4([4]byte{10, 0, 0, 1}).WithPrefix(),
	}, stack.AddressProperties{})
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: 1}})

	f := tcp.NewForwarder(s, 0, 16, func(r *tcp.ForwarderRequest) {
		var wq waiter.Queue
		ep, err := r.CreateEndpoint(&wq)
		r.Complete(err != nil)
		if err != nil {
			return
		}
		conn := gonet.NewTCPConn(&wq, ep)
		defer conn.Close()
		fmt.Fprintf(conn, "you asked for %v", conn.LocalAddr())
	})
	s.SetTransportProtocolHandler(tcp.ProtocolNumber, f.HandlePacket)

	to := tcpip.FullAddress{NIC: 1, Addr: tcpip.AddrFrom4([4]byte{192, 0, 2, 7}), Port: 80}
	conn, err := gonet.DialTCP(s, to, ipv4.ProtocolNumber)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	text, err := io.ReadAll(conn)
	fmt.Printf("%s %v\n", text, err)
	// Output: you asked for 192.0.2.7:80 <nil>
}

// A socket with its own floor of the timeout, send buffer and congestion control.
func ExampleEndpoint_SetSocketConfig() {
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol},
	})
	defer s.Destroy()
	var wq waiter.Queue
	ep, _ := s.NewEndpoint(tcp.ProtocolNumber, ipv4.ProtocolNumber, &wq)
	defer ep.Close()

	e := ep.(*tcp.Endpoint) // of stack.NewEndpoint, or ForwarderRequest.CreateEndpoint
	c := e.SocketConfig()
	c.Policy.Bounds.Min = time.Second // the floor of the timeout
	err := e.SetSocketConfig(c)
	e.SocketOptions().SetSendBufferSize(3<<20, true)
	control := tcpip.CongestionControlOption("reno")
	e.SetSockOpt(&control)

	e.GetSockOpt(&control)
	fmt.Println(err, e.SocketConfig().Policy.Bounds.Min, e.SocketOptions().GetSendBufferSize()>>20, control)
	// Output: <nil> 1s 3 reno
}
