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
// Parse reports each fault with its place. RunSource parses and runs.
//
// netstack/tcp/testdata/README.md describes scripts, their defaults and their settings. Options
// lists the settings.
//
// # Notation
//
// A script is a list of options, then of events, each at a time and on a line of its own:
//
//	--timestamps=0
//	0.000 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
//	+0.1  < S 0:0(0) win 32792 <mss 1000,sackOK,nop,wscale 7>
//	+0    > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 7>
//	+0    %{ assert tcpi_unacked == 1 }%
//
//	time     0.1  +0.1  *  and, for blocking calls, 0.1...0.2
//	flags    F S R P U E W, a dot for ACK, a dash for none
//	marks    [noecn] [ect0] [ce], before the flags
//	comments // to the end of the line
//	ports    < 5000 > 8080 S 0:0(0), with several connections
//
// There are three extensions to packetdrill. Times have nine decimals, because virtual time counts
// nanoseconds. Options may have the name of any setting. The event established(name=value, …) = fd
// is short for a passive handshake: Parse replaces it by the events, which all have its place.
//
// # Files
//
// Syntax: scan.go, parse*.go, established.go, script.go and format.go. A run starts in runner.go,
// which goes through the events. host.go says what it runs on; engine_host.go and engine_socket.go
// are the simulator's host. setup.go reads the settings. call.go, socket.go, sockopt.go and
// transfer.go make the program's calls. inject.go and expect.go handle packets; flow.go and wire.go
// convert their numbers. assert.go and info.go evaluate asserts. failure.go and trace.go report
// differences.
//
// # Time
//
// Time is exact: a packet expected at an instant must be sent at that nanosecond. At one instant,
// the engine's timers expire before the script's events.
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
// A script has what the scenarios of netstack/tcp use: no shell commands, no other code than assert,
// and no other system calls than those of a TCP socket. A file holds at most 1 MiB. Payloads are
// counted, not stored. ICMP messages are injected and never expected. Buffers count payload bytes
// without the kernel's overhead.
//
// # References
//
// Cardwell et al., "packetdrill: Scriptable Network Stack Testing, from Sockets to Packets", USENIX
// ATC 2013.
package script
