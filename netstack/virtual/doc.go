// Package virtual is two network stacks and the wire between them, in virtual time: the TCPs of this house and of
// gVisor, as programs use them, for studies that are deterministic to the byte.
//
// # Usage
//
//	n, err := virtual.New(virtual.Config{Seed: 1, TCP: [2]virtual.TCP{{GVisor: true}, {Config: cfg}}, Wire: wire})
//	defer n.Close()
//	n.Tasks.Go(func() { l, err := n.Listen(0, 80); … })
//	n.Tasks.Go(func() { c, err := n.Dial(1, 40000, 80); … })
//	n.Run(time.Minute, nil)
//
// # The wire
//
// A Wire decides about each packet when it leaves one end and once more when it comes to the other: how long it takes,
// and whether it arrives. It is told which octets of its stream a segment carries, counted from behind the SYN. A Relay
// decides once more on the way, at a switch that connections may share.
//
// # Time
//
// Both stacks have one clock, of nanoseconds. To gVisor's TCP it never tells the same time twice, as that of a machine
// does not: to its RACK, of two segments that were sent at the same time the later one is lost when the earlier one has
// arrived (rackControl.detectLoss), for which there is no occasion in real time. With TCP.Strict that of this house has
// such a clock too.
//
// # Concurrency
//
// All calls are to be made by the driver or by tasks (package sockets). Different Nets have nothing in common.
package virtual
