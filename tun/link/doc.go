// Package link joins two TUN devices by an emulated link, for the command tcpwheel link and for
// netstack/programs/samples. The TCPs of two kernels, in two network namespaces, then communicate over known
// losses and delays. It is a netem in user space that logs what it does to each packet.
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
// Side 0 is a, side 1 is b. Direction 0 is from a to b. Package sim models each direction.
//
// # The log
//
// Config.Log receives one JSON object per line:
//
//	"record":"plan"    first: the seed, the models, and epoch, a time in UTC
//	"record":"packet"  each packet of each direction, in sending order: see events.Packet
//	"record":"end"     last: the summary; without it the link is still up or was killed
//
// Times are seconds since the epoch, which outages count from too. A line is written when its
// packet's fate is complete. With the same plan, seed and direction, packet n meets the same random
// fate in each run. Which packet is the n-th, and which packets wait in a queue, depends on the
// kernels.
//
// # Captures
//
// Config.Captures are captures at either end. Packets that the end's kernel sends are stamped as
// they enter the link, packets that it receives as they leave it. Stamps are the log's times plus
// the epoch, and packets are in the order of their stamps. A comment says what happened to a packet
// besides its arrival. Packets have a direction, and no link header (LINKTYPE_RAW).
//
// Every file always ends with a whole line or block, at most about 0.1 s old.
//
// # Precision
//
// A packet never arrives before its time in the model. The Summary, and the log for each packet,
// say how late packets were. The time before the link reads a packet from the device, and after it
// writes one, is not included. With Config.Realtime, packets are late by the timer's lateness, tens
// of microseconds. Without it, other programs that need the processors add milliseconds. An
// overloaded link is late without bound.
//
// # Concurrency
//
// Multiple goroutines may invoke methods on a Link.
//
// # Limitations
//
// Linux only. The Summary counts the packets that the kernel dropped before the link read them,
// because its queue for the device was full. The log does not list them.
package link
