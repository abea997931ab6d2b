// Package sim is a virtual network: nodes, links between them, and one virtual clock. Links have a
// rate, a queue, delay, jitter, loss, reordering, duplication and corruption.
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
// Package host adds hosts with the TCP engine and bulk flows between them.
//
// A Link models one direction. It needs no clock and no network: Send(now, packet) returns the
// packet's fate at once. Package tun runs the same model in real time.
//
// Quantities are read by package quantity, and losses by ParseLosses, in flags and plan files.
//
// # Files
//
// Start with link.go, the model of one direction, and link_config.go, its parameters. loss*.go,
// queue.go and draw.go are its parts. network.go joins links and nodes to one clock, topology.go
// builds star and dumbbell networks, tap.go captures packets.
//
// # Determinism
//
// The same plan gives the same bytes. Events of one instant happen in the order of scheduling.
// Random draws come from counters: the draw for packet n of a link depends only on the seed, the
// name of the link, the purpose and n. So a change in one place does not change the draws
// elsewhere (common random numbers), nor does the order of making nodes and links. Probabilities
// are the only floating-point numbers, and they are compared exactly.
//
// # Cost
//
// Sending a packet over a link costs O(1) and does not allocate, however long the queue is. The
// queue is a list of the times at which its packets leave and needs no events.
//
// # Concurrency
//
// Nothing here is safe for concurrent use.
package sim
