// Package link joins two TUN devices by an emulated link, so that the TCPs of two kernels, in two network namespaces, talk
// over losses and delays that are known: a netem in user space that writes down what it does to each packet.
//
// # Usage
//
//	err := link.Run(ctx, link.Config{
//		Sides: [2]link.Side{
//			{Netns: "left", Addrs: []netip.Prefix{netip.MustParsePrefix("10.9.0.1/24")}},
//			{Netns: "right", Addrs: []netip.Prefix{netip.MustParsePrefix("10.9.0.2/24")}},
//		},
//		Links: [2]sim.LinkConfig{{Delay: 5 * time.Millisecond}, {Delay: 5 * time.Millisecond}},
//		Log:   "fates.jsonl",
//	}, ...)
//
// Side 0 is a, side 1 is b; direction 0 is from a to b. The model of a direction is package sim's.
//
// # The log
//
// Config.Log gets a JSON object per line. The first has "record":"plan", with the seed, the models, and epoch: the instant 0
// of all times, in nanoseconds since 1970. All other times are nanoseconds since the epoch, and outages count from there. The
// last has "record":"end", so that a log without it is of a link that is still there or was killed. Between them is a line for
// each packet, "record":"packet", of each direction in the order of sending: see Entry for the fields. A line is written when
// nothing more can happen to its packet. With the same plan, seed and direction, packet n meets the same fate in each run, as
// far as the model draws it: which packet is the n-th, and what waits in a queue, is up to the kernels.
//
// # Captures
//
// Config.Captures are what would be captured at either end: what its kernel sends, stamped as it enters the link, and what
// it gets, stamped as it leaves the link, by the clock and with the times of the log plus the epoch. They are in the order of
// their stamps. A comment tells what happened to a packet beyond its arrival. Packets have their
// direction, and no link header (LINKTYPE_RAW).
//
// All files hold whole lines or blocks at any time, up to about 0.1 s ago.
//
// # Precision
//
// A packet is never earlier than the model has it. How late packets were is in the Summary, and in the log for each. What
// the kernels take before a packet is read from the device, and after it is written, is not part of it. With
// Config.Realtime lateness is that of the timer, tens of microseconds; without, other programs that want the processors
// add milliseconds. A link that is given more than it can carry is late without bound.
//
// # Concurrency
//
// Multiple goroutines may invoke the methods of a Link.
//
// # Limitations
//
// Linux only. What the kernel drops before the link reads it, as its queue for the device is full, is counted in the Summary
// and is in no log.
package link
