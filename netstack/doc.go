// Package netstack binds the TCP engine to gVisor's network stack: it is protocol 6 of a stack.Stack, in place of gVisor's own TCP.
//
// # Usage
//
//	s := stack.New(stack.Options{
//		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol},
//		TransportProtocols: []stack.TransportProtocolFactory{netstack.NewProtocol},
//	})
//
// From then on programs that use the stack's endpoints, or gonet on top of them, run over this TCP. NewProtocolWith takes a
// configuration: the timer policy, the congestion control, ECN, pacing. Endpoint.SetSocketConfig gives single sockets another.
//
// # Files
//
// Begin with protocol.go, what a stack is given, and endpoint.go, a socket; endpoint_run.go has the passes that are told of below.
//
//	endpoint_*.go, listener*.go  the calls of an endpoint; connections that nobody has accepted yet
//	inbox.go, segment.go, transmit.go, icmp.go
//	                             what comes from the stack, and goes to it
//	queue_*.go, recv_join.go     the octets that were written, and that have arrived
//	shard.go, crew.go            timers of many connections; who runs those that would keep others waiting
//	options*.go, protocol_options.go, socket_config.go
//	                             gVisor's options, and those that are only ours
//	clock*.go, armed.go, cause.go
//	                             the wheel as a stack's clock; which timers run, and which sent a packet
//
// # Time
//
// All time comes from the stack's clock. What arrives is stamped when it arrives; timers expire on the ticks of the policy's wheel.
//
// # Concurrency
//
// Multiple goroutines may invoke the methods of endpoints. A connection has one lock and one baton, which is a count of work: whoever
// raises it from 0 runs the connection until it is 0 again. A run is made of passes. In each, under the lock, the state machine is
// told what has come from the network, which timers have expired, and what the application has done; what it wants sent and told is
// carried out after the lock is released, still under the baton, which keeps the order on the wire. No lock is held while the stack or
// the application is called, since many links deliver in the goroutine of the sender. There is no goroutine per connection.
//
// A shard is a timing wheel with a short lock and one timer of the stack's clock for the next tick that matters. Connections are spread
// over the shards. A timer that has expired is told to its connection, which looks whether it was stopped meanwhile.
//
// # Memory
//
// What the application has written is kept in views of chunks with counted references. Segments that are sent, and sent again, refer
// to windows of them; and what has arrived is read from the chunks in which it came.
//
// # Options
//
// Options, errors, states and statistics are gVisor's, and tests run the same scripts with both TCPs. What differs on purpose:
//
//   - An accepted socket has all options of its listener, as in Linux, and not only some.
//   - TCP_MAXSEG of a connection tells the MSS in use, as in Linux. TCP_WINDOW_CLAMP, TCP_QUICKACK and TCP_SYNCNT, which gVisor only keeps,
//     take effect; TCP_SYNCNT from the next handshake on.
//   - An ICMP message counts if it quotes a segment in flight (RFC 5927 §4.1), and the error queue is bounded.
//   - An ACK that nobody waits for is dropped, and not answered by a RST, while the answer to a SYN cookie may have been lost for want of
//     room in the queue for Accept: it may follow on that.
//   - A connection that ends by keepalive, or half-open with its listener, tells its peer by a RST.
//   - TIME-WAIT lasts four minutes at most, and the RTO a day, whatever the options say.
//
// SocketConfig is what a socket may have of its own beside gVisor's options: its timer policy, ECN, pacing.
//
// # Limitations
//
// Urgent data is read in line. Stacks are not saved and restored.
package netstack
