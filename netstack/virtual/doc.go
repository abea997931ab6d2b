// Package virtual connects two gVisor stacks by an emulated link in virtual time. Programs on
// package sockets run on them, with this module's TCP or gVisor's own. Equal programs make equal
// runs, to the byte.
//
// # Usage
//
//	n, err := virtual.New(virtual.Config{
//		Seed: 1,
//		TCP:  [2]virtual.TCP{{}, {GVisor: true}}, // end 0 has this module's TCP, end 1 gVisor's
//		Link: [2]sim.LinkConfig{
//			{Delay: 20 * time.Millisecond, Rate: 10e6, Loss: sim.Losses{sim.Bernoulli{P: 0.01}}},
//			{Delay: 20 * time.Millisecond},
//		},
//	})
//	defer n.Close()
//	n.Tasks.Go(func() { l, err := n.Listen(0, 80); ... })
//	n.Tasks.Go(func() { c, err := n.Dial(1, 40000, 80); ... })
//	n.Run(time.Minute, nil)
//
// # The link
//
// Config.Link is package sim's model for each direction: delay, rate, queue, loss, reordering,
// duplication, corruption and ECN marks. A program that must see the packets, or decide about them
// itself, sets Config.Wire instead.
//
// # Scenarios
//
// NewScriptHost lets package script run scenarios on a stack with this module's TCP instead of on
// the simulator's host: script.Config{Host: virtual.NewScriptHost}. testdata/scenarios.txt lists
// the scenarios that cannot pass there, with the reasons.
//
// # Time
//
// Both stacks share one clock with a resolution of 1 ns. gVisor's TCP never reads the same time
// twice, as on a real machine: if two segments are sent at one time and the first is acknowledged,
// its RACK declares the second lost (rackControl.detectLoss). TCP.StrictClock gives this module's
// TCP the same clock.
//
// # Concurrency
//
// The driver (the goroutine that calls Run) and tasks may call a Net; others must not. Different
// Nets share nothing.
package virtual
