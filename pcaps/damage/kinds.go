package damage

import "time"

// Kinds are all damages.
var Kinds = []Kind{
	// An overloaded tap.
	{
		Name: "drop", Default: "1%", Tries: []string{"0.1%", "1%", "5%"}, parse: shareParam(0, 1), run: dropAlone,
		About: "drop packets at random",
	},
	{
		Name: "burst", Default: "1%", Tries: []string{"1%", "5%"}, parse: shareParam(0, 0.5), run: dropBursts,
		About: "drop packets in bursts of eight on average",
	},

	// Filters and asymmetric routes.
	{Name: "noacks", run: dropACKs, About: "drop all ACKs without data"},
	{
		Name: "oneway", Default: "high", Tries: []string{"low", "high"}, parse: wordParam("low", "high"), run: keepSide,
		About: "keep only what the end with the low, or high, address and port sent",
	},

	// Mirror ports.
	{
		Name: "twice", Default: "0s", Tries: []string{"0s", "30us", "300us"}, parse: spanParam(0, mostDelay), run: copyTwice, moves: noMove,
		About: "copy each packet, so much later",
	},
	{
		Name: "mirror", Default: "30us", Tries: []string{"30us", "300us"}, parse: spanParam(0, mostDelay), run: copyMirror,
		About: "copy each packet behind a router: TTL less 1, other MACs, up to so much later",
	},
	{
		Name: "vlan", Default: "30us", Tries: []string{"30us", "300us"}, parse: spanParam(0, mostDelay), run: copyVLAN,
		About: "copy each packet with a VLAN tag, up to so much later",
	},
	{
		Name: "swapped", Default: "300us", parse: spanParam(0, mostDelay), run: copySwapped,
		About: "like mirror, but the copies overtake each other",
	},
	{
		Name: "nat", Default: "0s", parse: spanParam(0, mostDelay), run: copyNAT, moves: spanMoves,
		About: "copy each packet as the other side of a NAT has it, so much apart",
	},
	{
		Name: "tunnel", Default: "0s", parse: spanParam(0, mostDelay), run: copyTunnel, moves: spanMoves,
		About: "copy each packet as the other end of a tunnel (IP in IP) has it, so much apart",
	},

	// TSO and GRO on bridges and hypervisors.
	{
		Name: "segments", Default: "1448", parse: numberParam(100, 9000), run: addSegments,
		About: "add the segments of so many bytes behind each longer super-packet",
	},
	{
		Name: "tso", Default: "100us", parse: spanParam(0, mostDelay), run: collectRun, end: endRuns,
		About: "add a super-packet in front of segments sent within so long",
	},
	{
		Name: "gro", Default: "100us", parse: spanParam(0, mostDelay), run: collectRun, end: endRuns, moves: spanMoves,
		About: "join segments captured within so long into a super-packet",
	},

	// Snap lengths and ring buffers.
	{
		Name: "cut", Default: "96", Tries: []string{"54", "68", "96"}, parse: numberParam(1, 1<<18), run: cutShort, Fields: true,
		About: "keep so many bytes of each packet",
	},
	{
		Name: "begin", Default: "33%", parse: shareParam(0, 1), run: beginLate, whole: true,
		About: "drop this share of the packets at the beginning",
	},
	{
		Name: "end", Default: "33%", parse: shareParam(0, 1), run: endEarly, whole: true,
		About: "drop this share of the packets at the end",
	},

	// Clocks of virtual machines and network cards.
	{
		Name: "step", Default: "50ms", Tries: []string{"5ms", "50ms"}, parse: spanParam(0, time.Hour), run: stepClock, moves: spanMoves,
		About: "step the clock forward and back by so much, every 100 packets or so",
	},
	{
		Name: "drift", Default: "100ppm", parse: driftParam, run: driftClock,
		About: "have the clock run fast",
	},
	{
		Name: "resolution", Default: "1ms", Tries: []string{"1ms", "4ms", "16ms"}, parse: spanParam(1, time.Second), run: coarseClock, moves: spanMoves,
		About: "round stamps down",
	},
	{
		Name: "apart", Default: "1ms", Tries: []string{"100us", "1ms"}, parse: spanParam(0, mostDelay), run: delaySide, moves: spanMoves,
		About: "capture what the end with the higher address sent so much late",
	},

	// Stacks and middleboxes.
	{Name: "echoes", run: garbleEchoes, Fields: true, About: "replace the timestamps that are echoed by garbage"},
	{Name: "nostamps", run: removeStamps, Fields: true, About: "replace the timestamp option by padding"},
	{
		Name: "ticks", Default: "1/100", Tries: []string{"1000", "1/10", "1/100"}, parse: factorParam, run: scaleStamps, Fields: true,
		About: "have timestamps count so many times faster: 1000 makes 1 ms 1 µs",
	},
	{
		Name: "ids", Default: "zero", Tries: []string{"zero", "random"}, parse: wordParam("zero", "random"), run: replaceIDs, Fields: true,
		About: "set IPv4's identification to 0 or a random number",
	},

	// Scans and firewalls.
	{
		Name: "unanswered", Default: "100", parse: numberParam(1, 1<<30), run: addUnanswered,
		About: "add a connection for each so many packets: SYNs without an answer",
	},
	{
		Name: "refused", Default: "100", parse: numberParam(1, 1<<30), run: addRefused,
		About: "add connections whose SYNs are answered by a RST",
	},
	{
		Name: "unreachable", Default: "100", parse: numberParam(1, 1<<30), run: addUnreachable,
		About: "add connections whose SYNs are answered by an ICMP error",
	},
	{
		Name: "fins", Default: "100", parse: numberParam(1, 1<<30), run: addFINs,
		About: "add connections that end with FINs that are never acknowledged",
	},
}

// mostDelay bounds how long packets wait, and so the memory.
const mostDelay = 100 * time.Millisecond

func spanMoves(p param) time.Duration { return p.span }
