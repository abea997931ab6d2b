// Package script reads and writes scenario files in the notation of packetdrill: what a program does with its socket, what
// arrives from the network, what must be sent and when, and what must hold of the connection. It knows nothing of the engine
// that a scenario is run against.
//
// # Usage
//
//	s, err := script.Parse("handshake.pkt", src)
//	text := script.Format(s)
//
// Parse reports every construct that it does not support, at its place and with what is supported instead; it never passes
// over one in silence. Format writes a script canonically, and Parse of that is the same script but for positions.
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
//	time     0.1  +0.1  0.1~0.2  +0.1~+0.2  *  and, for calls that block, 0.1...0.2
//	flags    F S R P U E W, a dot for ACK, a dash for none
//	marks    [noecn] [ect0] [ect1] [ect01] [ce], before the flags
//	comments // to the end of the line, # likewise, /* between these */
//	ports    < 5000 > 8080 S 0:0(0), where there are several connections
//
// Four things go beyond packetdrill: # starts a comment; "..." may stand for one value in TCP options and, at the end of their
// list, for any that follow; times have nine decimals, because virtual time is whole nanoseconds; and an option may have
// any name, for the runner to know. The code in %{ }% is a small part of Python: assert and print over integers, the names
// tcpi_*, and names in capitals.
//
// # Concurrency
//
// Functions may be called from several goroutines; a Script is a value without locks.
//
// # Limitations
//
// UDP, encapsulation (ipv4, ipv6, gre, mpls), TOS, TTL and flow labels, MD5 and Fast Open options, the AE flag, fuzz
// annotations, shell commands apart from sysctl, and system calls apart from those of a TCP socket are not supported. A file
// holds at most 1 MiB, an expression at most 256 operators and brackets.
//
// # References
//
// Cardwell et al., "packetdrill: Scriptable Network Stack Testing, from Sockets to Packets", USENIX ATC 2013.
package script
