// Package damage damages captures on purpose, as taps, mirror ports, offloads and bad clocks do:
// packets are missing, captured twice, joined, cut, or stamped at another time.
//
// # Usage
//
//	d, err := damage.Parse("mirror:30us")
//	...
//	counts, err := d.Run(in, out, seed)
//
// Kinds lists the damages. A Source has the packets of a capture: NewFile reads a file, and Frames
// has them in memory. Each damaged packet has the numbers of the packets that it was made from, so
// that what is found in both captures can be compared.
//
// # What changes
//
// Only what the kind says. Checksums that were right are right afterwards, a checksum that the
// sender left to its network interface is still left, and wrong ones stay wrong. The same source,
// damage and seed give the same bytes.
//
// A packet that cannot be rewritten stays as it is, and Counts.Unfit counts it: one without TCP or
// in fragments, and for damages that change its length one in a tunnel or of a rare link type.
//
// # Limitations
//
// Memory is bounded by what a capture has within a millisecond. Lengths that outer headers state,
// of UDP tunnels and PPPoE, are never rewritten. "begin" and "end" need the number of packets.
package damage
