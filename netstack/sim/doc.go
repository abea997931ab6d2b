// Package sim is a virtual network: links with a rate, a queue, delay, jitter, loss, reordering, duplication and
// corruption, nodes between them, and one virtual clock, which is a timer facility of package wheel.
//
// # Usage
//
//	net, err := sim.NewNetwork[Segment](sim.Config{Seed: 1})
//	a, err := net.AddNode("a", client)      // a Node: Receive(now, via, datagram)
//	b, err := net.AddNode("b", server)
//	there, back, err := net.Connect(a, b, cfg, cfg)
//	net.Send(there, &datagram)
//	net.Run(10 * second)
//
// A Link is the model of one direction by itself. It knows no clock and no network: Send(now, packet) decides at once
// what becomes of the packet, so that the same model also runs where now is the time of day.
//
// # Files
//
// Begin with link.go, the model of one direction, which knows no network: package tun runs it in real time. link_config.go, loss*.go,
// queue.go and draw.go are what it is made of. network.go joins links and nodes on one clock, topology.go plans some, and tap.go
// with pcapng.go writes down what passes.
//
// # Determinism
//
// Same plan, same bytes. Events of one instant happen in the order in which they were scheduled (START order), whatever the
// scheme of the clock: NewNetwork refuses schemes that do not promise it. All randomness is drawn from counters: the
// draw for the n-th packet of a link depends on the seed, the name of the link, the purpose and n, and on nothing else.
// So a change in one place leaves the luck of all others as it was (common random numbers), and the order in which nodes
// and links are made changes no draw. It can change the order of events of one instant, as far as the calls that start
// them come in another order. No floating-point result enters an instant or a draw, probabilities apart, which
// are compared exactly.
//
// # Cost
//
// A traversal of a link costs O(1) and does not allocate, whatever the length of the queue: the queue is kept as the
// instants at which its packets leave, and no event is needed for that.
//
// # Concurrency
//
// Nothing here is safe for concurrent use.
package sim
