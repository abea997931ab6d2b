// Package subject runs one small piece of work over an emulated link in virtual time, with a TCP of choice as its
// sender, and tells what came of it: how long each object took, and what was sent again, when, and whether it had to
// be.
//
// # Usage
//
//	r, err := subject.Run(ctx, &subject.Spec{
//		Kind: subject.Engine, Timers: lab.MustTimers("per-segment"), Peer: lab.MustTimers("linux"), Seed: 1,
//		Work: subject.Work{Shape: subject.Answers, Objects: 20, Octets: 14_000},
//		Path: subject.Path{Data: sim.LinkConfig{Delay: 10 * time.Millisecond}, Acks: sim.LinkConfig{Delay: 10 * time.Millisecond}},
//		Flows: 1, Limit: time.Minute,
//	})
//
// # Subjects
//
// Engine is package netstack/tcp in the virtual network of package netstack/sim. Binding is the same engine in a gVisor
// stack, as package netstack has it, and GVisor is gVisor's own TCP; both run on package netstack/virtual. The receiver
// is this house's TCP with Spec.Peer, in the same surroundings as the sender. All of them meet the same links and the
// same fates. RunKernel has the kernel of this machine do the same in real time.
//
// # Fates
//
// What a Fates loses is a function of the seed, the flow, the connection of the flow, the place in its stream and how
// often that has been sent: subjects and timers that differ meet the same luck, as far as they send the same. Models of
// package sim draw by the number of the packet on its flow instead.
//
// # What is seen
//
// All that is counted of segments is seen on the path, for all subjects alike: a transmission was lost, or it was not.
// A retransmission is needless if an earlier one of the same octets was not lost. Only the causes, timeouts and probes,
// are told by the sender.
//
// # Determinism
//
// The same Spec gives the same Result, to the byte. Run may be called by several goroutines at once.
package subject
