// Package script parses and runs scenario files in packetdrill's notation.
//
// A scenario lists a program's socket calls, the packets that arrive, the packets that the TCP
// engine must send and when, and what must hold of the connection. A run plays both the program and
// the remote end. The engine is the local end. Time is virtual.
//
// # Usage
//
//	s, err := script.Parse("handshake.pkt", src)
//	report, err := script.Run(s, script.Config{})
//	if f, ok := errors.AsType[*script.Failure](err); ok {
//		// The engine differs from the script. f has the line, the expected and the actual packet,
//		// and the events before.
//	}
//
// Parse reports each unsupported construct with its place and the supported alternatives. RunSource
// parses and runs.
//
// netstack/tcp/testdata/README.md describes scripts, their defaults and their settings. Options and
// Sysctls list the settings.
//
// # Notation
//
// A script is a list of options, then of events, each at a time:
//
//	--tolerance_usecs=1000
//	`sysctl -q net.ipv4.tcp_sack=1`
//	0.000 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
//	+0.1  < S 0:0(0) win 32792 <mss 1000,sackOK,nop,wscale 7>
//	+0    > S. 0:0(0) ack 1 <...>
//	+0    %{ assert tcpi_unacked == 1, tcpi_unacked }%
//
//	time     0.1  +0.1  0.1~0.2  +0.1~+0.2  *  and, for blocking calls, 0.1...0.2
//	flags    F S R P U E W, a dot for ACK, a dash for none
//	marks    [noecn] [ect0] [ect1] [ect01] [ce], before the flags
//	comments // to the end of the line, # likewise, /* between these */
//	ports    < 5000 > 8080 S 0:0(0), with several connections
//
// There are five extensions to packetdrill. # starts a comment. "..." may replace one value in TCP
// options and, at the end of their list, all further options. Times have nine decimals, because
// virtual time counts nanoseconds. Options may have any name, which Run checks. The event
// established(name=value, …) = fd is short for a passive handshake: Parse replaces it by the
// events, which all have its place. The code in %{ }% is a subset of Python: assert and print over
// integers, the names tcpi_*, and names in capitals.
//
// # Files
//
// Syntax: parse*.go, established.go, scan.go, expr.go, packet.go, script.go and format.go. A run
// starts in runner.go, which goes through the events. host.go says what it runs on; engine_host.go
// and engine_socket.go are the simulator's host. setup.go, settings.go and sysctl.go read the
// settings. call.go, args.go, socket.go, sockopt.go and transfer.go make the program's calls.
// inject.go and expect.go handle packets; flow.go and wire.go convert their numbers. code.go and
// info.go evaluate asserts. failure.go and trace.go report differences.
//
// # Time
//
// Time is exact: a packet expected at an instant must be sent at that nanosecond, unless the script
// sets a tolerance. At one instant, the engine's timers expire before the script's events.
//
// # Checks
//
// A run compares each packet with the expected one, field by field, with its time, and each call's
// result with the time of its return. An unexpected packet is a failure. After each step the run
// checks the invariants of the engine and of its connections, that payloads match their sequence
// numbers, and that all readable data has arrived. At the end it aborts all connections. Then no
// timer may be armed.
//
// # Concurrency
//
// Functions may be called from several goroutines; a Script is a value without locks. Two runs of a
// script give the same report, byte for byte.
//
// # Limitations
//
// UDP, encapsulation (ipv4, ipv6, gre, mpls), TOS, TTL and flow labels, MD5 and Fast Open options,
// the AE flag, fuzz annotations, shell commands other than sysctl, and system calls other than
// those of a TCP socket are not supported. A file holds at most 1 MiB, an expression at most 256
// operators and brackets. Payloads are counted, not stored. ICMP messages are injected and never
// expected. Buffers count payload bytes without the kernel's overhead.
//
// # References
//
// Cardwell et al., "packetdrill: Scriptable Network Stack Testing, from Sockets to Packets", USENIX
// ATC 2013.
package script
