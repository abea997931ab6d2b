// Package netstack binds the TCP engine to gVisor's network stack: it is the stack's TCP (protocol
// 6) in place of gVisor's own.
//
// # Usage
//
// Where a program names gVisor's package tcp, name this one. The whole swap is:
//
//	import tcp "tcpwheel/netstack" // was: "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
//
//	s := stack.New(stack.Options{
//		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol},
//		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol},
//	})
//	f := tcp.NewForwarder(s, 0, 1024, func(r *tcp.ForwarderRequest) {
//		var wq waiter.Queue
//		ep, err := r.CreateEndpoint(&wq) // gonet.NewTCPConn(&wq, ep) or sockets.NewConn(s, &wq, ep)
//		r.Complete(err != nil)
//		...
//	})
//	s.SetTransportProtocolHandler(tcp.ProtocolNumber, f.HandlePacket)
//	sack := tcpip.TCPSACKEnabled(true)
//	s.SetTransportProtocolOption(tcp.ProtocolNumber, &sack)
//
// Swap all of it: gVisor's tcp.NewForwarder panics on a stack whose TCP is this package's.
// NewForwarder, Forwarder and ForwarderRequest have the shape of gVisor's. The other names that
// programs use also exist here: NewProtocolCUBIC, EndpointState and its constants, Stats, the
// default buffer sizes and times. NewProtocolProbe and the types that gVisor exports for its own
// tests do not.
//
// Stack and socket options keep gVisor's names, meanings and defaults. Package sockets and gVisor's
// gonet give net.Conn and net.Listener.
//
// NewProtocolWith takes a configuration: timer policy, congestion control, ECN, pacing.
// Endpoint.SetSocketConfig configures a single socket.
//
// # Files
//
// Begin with protocol.go (what a stack is given), endpoint.go (a socket) and endpoint_run.go (its
// steps).
//
//	endpoint_*.go, listener*.go  the calls of an endpoint; connections before Accept
//	inbox.go, segment.go, transmit.go, icmp.go
//	                             packets from and to the stack
//	queue_*.go, recv_join.go     written and received data
//	shard.go, worker_pool.go     timers of many connections; goroutines for bulk flows
//	timewait*.go                 closed connections in TIME-WAIT, without endpoints
//	options*.go, protocol_options.go, socket_config.go
//	                             gVisor's options, and this package's own
//	compat.go                    the other names of gVisor's package tcp
//	clock*.go, armed.go, cause.go
//	                             the wheel as a clock; running timers and the packets they caused
//
// # Time
//
// All time comes from the stack's clock. A segment is stamped when it arrives. Timers expire on the
// ticks of the policy's wheel.
//
// # Concurrency
//
// Multiple goroutines may invoke the methods of endpoints. There is no goroutine per connection.
//
// A connection has one lock and one baton, which is a count of work. The goroutine that raises the
// count from 0 runs the connection until it is 0 again, in steps. Under the lock a step feeds the
// engine: received segments, expired timers, calls of the application. After the lock is released
// it sends the engine's output and notifies the application. It still holds the baton, which keeps
// the order on the wire. No lock is held while the stack or the application is called, as many
// links deliver in the sender's goroutine.
//
// A shard is a timing wheel with a short lock, and one timer of the stack's clock for the next
// wake-up. Connections are spread over the shards. An expired timer is a message to its connection,
// which ignores it if the timer was stopped meanwhile.
//
// Notifications (waiter.Queue) come from the goroutine that holds the baton. That is the caller of
// the endpoint's method, the goroutine that delivers a packet, or the timer's. A callback must
// return soon. It may call the endpoint: the call then only announces work.
//
// # Memory
//
// Written data is kept in reference-counted chunks. Segments and their retransmissions refer to
// windows of them. Received data is read from the chunks it arrived in.
//
// A connection in TIME-WAIT that the application has closed is a record of some 300 bytes, and its
// endpoint is free. The stack's own lists of endpoints lack it: see TimeWaits.
//
// # Differences from gVisor
//
// Options, errors, states and statistics are gVisor's; tests run the same scripts with both TCPs.
// docs/differences.md lists the deliberate differences.
//
// # Limitations
//
// Urgent data is read in line. Stacks cannot be saved and restored.
package netstack
