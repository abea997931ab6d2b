// Package swap is a program for gVisor's TCP, with the names that programs use. TestSwap also
// compiles it with the import path of netstack in place of gVisor's.
package swap

import (
	"fmt"
	"io"
	"net"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"
)

const protocol = tcp.ProtocolNumber

// New makes a stack that forwards every connection to the host.
func New(cubic bool) (*stack.Stack, error) {
	factory := tcp.NewProtocol
	if cubic {
		factory = tcp.NewProtocolCUBIC
	}
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{factory, udp.NewProtocol},
	})
	sack := tcpip.TCPSACKEnabled(true)
	send := tcpip.TCPSendBufferSizeRangeOption{
		Min: tcp.MinBufferSize, Default: tcp.DefaultSendBufferSize, Max: tcp.MaxBufferSize,
	}
	recv := tcpip.TCPReceiveBufferSizeRangeOption{
		Min: tcp.MinBufferSize, Default: tcp.DefaultReceiveBufferSize, Max: tcp.MaxBufferSize,
	}
	linger := tcpip.TCPLingerTimeoutOption(min(tcp.DefaultTCPLingerTimeout, tcp.MaxTCPLingerTimeout))
	timeWait := tcpip.TCPTimeWaitTimeoutOption(tcp.DefaultTCPTimeWaitTimeout)
	minRTO, maxRTO := tcpip.TCPMinRTOOption(tcp.MinRTO), tcpip.TCPMaxRTOOption(tcp.MaxRTO)
	retries, syns := tcpip.TCPMaxRetriesOption(tcp.MaxRetries), tcpip.TCPSynRetriesOption(tcp.DefaultSynRetries)
	for _, o := range []tcpip.SettableTransportProtocolOption{
		&sack, &send, &recv, &linger, &timeWait, &minRTO, &maxRTO, &retries, &syns,
	} {
		if err := s.SetTransportProtocolOption(protocol, o); err != nil {
			return nil, fmt.Errorf("option %T: %s", o, err)
		}
	}
	var f *tcp.Forwarder = tcp.NewForwarder(s, 0, 1024, func(r *tcp.ForwarderRequest) { forward(r) })
	s.SetTransportProtocolHandler(protocol, f.HandlePacket)
	return s, nil
}

// forward connects a request to the host.
func forward(r *tcp.ForwarderRequest) {
	id := r.ID()
	if _, ok := r.ForwardedPacketExperimentOption(); ok {
		r.Complete(true)
		return
	}
	host, err := net.Dial("tcp", fmt.Sprintf("%s:%d", id.LocalAddress, id.LocalPort))
	if err != nil {
		r.Complete(true)
		return
	}
	defer host.Close()
	var wq waiter.Queue
	ep, terr := r.CreateEndpoint(&wq)
	r.Complete(false)
	if terr != nil {
		return
	}
	idle := tcpip.KeepaliveIdleOption(tcp.DefaultKeepaliveIdle)
	interval := tcpip.KeepaliveIntervalOption(tcp.DefaultKeepaliveInterval)
	_ = ep.SetSockOpt(&idle)
	_ = ep.SetSockOpt(&interval)
	_ = ep.SetSockOptInt(tcpip.KeepaliveCountOption, tcp.DefaultKeepaliveCount)
	ep.SocketOptions().SetKeepAlive(true)
	guest := gonet.NewTCPConn(&wq, ep)
	defer guest.Close()
	go io.Copy(host, guest)
	io.Copy(guest, host)
}

// Describe names the state of an endpoint and counts its segments.
func Describe(ep tcpip.Endpoint) string {
	state := tcp.EndpointState(ep.State())
	switch state {
	case tcp.StateInitial, tcp.StateBound, tcp.StateConnecting, tcp.StateSynSent, tcp.StateSynRecv:
		return "opening"
	case tcp.StateListen, tcp.StateEstablished:
		return "open"
	case tcp.StateFinWait1, tcp.StateFinWait2, tcp.StateCloseWait, tcp.StateLastAck, tcp.StateClosing, tcp.StateTimeWait:
		return "closing"
	case tcp.StateClose, tcp.StateError:
		return "closed"
	}
	if e, ok := ep.(*tcp.Endpoint); ok {
		state = e.EndpointState()
	}
	stats, _ := ep.Stats().(*tcp.Stats)
	var (
		received tcp.ReceiveErrors = stats.ReceiveErrors
		sent     tcp.SendErrors    = stats.SendErrors
	)
	return fmt.Sprintf("%s, %d received, %d retransmitted, %d malformed", state,
		stats.SegmentsReceived.Value(), sent.Retransmits.Value(), received.MalformedPacketsReceived.Value())
}
