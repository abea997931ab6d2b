// Package testbed is what the studies of TCP share: TCPs under test, by a text that names their
// timers, and the hosts, links and losses around them, in virtual time.
//
// # Timers
//
// Timers is a timer policy and the changes that a study makes to it, as text. Plans, cells and
// tables use the same text:
//
//	POLICY[@TICK] [KEY=VALUE]... [+SWITCH|-SWITCH]...
//
// as in "linux", "rfc6298@10ms floor=1s -tlp -rack" or "per-segment@500ms". POLICY is a name of
// package tcptimers. TICK is the tick of expiry; "exact" is a microsecond. Keys are rtt-tick,
// floor, phase (shared, own, countdown, jiffies), rexmit (per-segment, restart, rto-restart),
// delack (a duration, or off), var-min, jitter and control. Switches are those of
// tcptimers.Switches and sack, timestamps, vegas-check, pacing and reno. @TICK sets the tick of
// expiry and nothing else: the four knobs of granularity stay apart.
//
// # Hosts
//
// Pair is two hosts with engines, Star is a client and many servers around a switch, and Dumbbell
// is pairs that share a bottleneck. Record lists the retransmissions.
//
// Stacks is a client in a gVisor stack, with the TCP of a Subject, and a server in another. Wire is
// the path between them; its hooks lose, delay and count, so a study has no Wire of its own for
// that. StackStar is a Star whose servers are a Subject. FanIn is the barrier-synchronised workload
// of incast on either Star.
//
// # Subjects
//
// Subject is a TCP by its text, for the beds of studies: timers, "binding TIMERS", or "gvisor
// floor=1s -rack".
//
// Run runs a small piece of work with a TCP of choice as its sender. It reports how long each
// object took, and each retransmission: when it was sent, and whether it was needed.
//
//	r, err := testbed.Run(ctx, &testbed.Spec{
//		Kind: testbed.Engine, Timers: testbed.MustTimers("per-segment"), Peer: testbed.MustTimers("linux"), Seed: 1,
//		Work: testbed.Work{Shape: testbed.Answers, Objects: 20, Bytes: 14_000},
//		Path: testbed.Path{Data: link, Acks: link},
//		Flows: 1, Limit: time.Minute,
//	})
//
// Engine is package netstack/tcp in the virtual network of package netstack/sim. Binding is the
// same engine in a gVisor stack, as in package netstack. GVisor is gVisor's own TCP. Binding and
// GVisor run on package netstack/virtual. The receiver is this project's TCP with Spec.Peer, in the
// same surroundings as the sender. RunKernel runs the same work with the kernel of this machine, in
// real time.
//
// Retransmissions are counted on the path, for all subjects alike. One is spurious if an earlier
// transmission of the same bytes was not lost. Only the sender reports causes: timeouts and probes.
//
// # Common random numbers
//
// A StreamLoss, and a Fates of a Spec, lose a packet by a hash of the seed, the flow, the place of
// its bytes in the stream and the number of the transmission. So subjects and timers that differ
// meet the same losses, as far as they send the same bytes. Models of package sim draw by the
// number of the packet on its flow instead.
//
// # Determinism
//
// The same Spec gives the same Result, to the byte. Several goroutines may call Run.
package testbed
