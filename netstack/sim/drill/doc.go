// Package drill runs scenario files, in the notation of package script, against the TCP engine in virtual time: the engine
// is the local end, and the script is the program that uses its sockets, and the remote end and the network between.
//
// # Usage
//
//	report, err := drill.RunSource("handshake.pkt", src, drill.Config{})
//	if f, ok := errors.AsType[*drill.Failure](err); ok {
//		// The engine did not do what the script says: f tells where, what was expected, what came, and what was before.
//	}
//
// What a script may say, what holds if it says nothing, and all its settings stand in netstack/tcp/testdata/README.md;
// Options and Sysctls list the settings.
//
// # Files
//
// Begin with runner.go, which goes through the events. plan.go, settings.go and sysctl.go read what comes before them; call.go, args.go,
// socket.go, sockopt.go and transfer.go are the program's calls; inject.go and expect.go the packets, flow.go and wire.go their
// numbers and octets; code.go and info.go the asserts; failure.go and trace.go what is told of a difference.
//
// # Time
//
// Time is virtual and exact: a packet that must be sent at an instant is sent at this nanosecond, unless the script
// allows a tolerance. At one instant, the timers of the engine expire before what the script does.
//
// # What is checked
//
// Each packet that the script expects, field by field, and when it was sent; each result of a call, and when it returned;
// that no packet is sent that the script does not expect; and after each step the invariants of the engine and of its
// connections, that payloads come from where their sequence numbers say, and that what becomes readable is what arrived.
// At the end all connections are aborted, and no timer may be left.
//
// # Concurrency
//
// Runs share nothing and may go side by side. Two runs of one script give the same report, octet for octet.
//
// # Limitations
//
// There are no payload octets, only counts of them. ICMP messages are put in, and none is expected. Buffers are counted
// in octets of payload, without the kernel's overhead.
//
// # References
//
// Cardwell et al., "packetdrill: Scriptable Network Stack Testing, from Sockets to Packets", USENIX ATC 2013.
package drill
