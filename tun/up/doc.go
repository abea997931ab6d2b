// Package up runs a TCP/IP stack behind a TUN device, with services on it, for programs of the kernel's side to talk to.
//
// # Usage
//
//	site, err := up.Start(up.Config{
//		Device:    "wheel0",
//		Addrs:     []netip.Prefix{netip.MustParsePrefix("10.7.0.2/24")},
//		HostAddrs: []netip.Prefix{netip.MustParsePrefix("10.7.0.1/24")},
//	})
//	...
//	site.Close()
//
// Run does that until a context ends. The command tcpwheel up is Run with flags.
//
// # Services
//
// On each address of the stack: echo at port 7, discard at 9, chargen at 19, and HTTP at 80 with "/", "/bytes/N" and
// "/info". What /bytes/N serves is the first N octets of Content.
//
// Other programs get to the stack by Config.Expose, ports of the stack that lead to the kernel, and Config.Forward, ports of
// the kernel that lead on by the stack. Octets, the ends of halves and resets are carried both ways.
//
// # Time
//
// The stack's clock is a wheel that is finer than the timers of our TCP. A Config.Capture has, on each packet that a timer sent, which
// one it was and how late the packet left.
//
// # Concurrency
//
// Multiple goroutines may invoke the methods of a Host.
//
// # Limitations
//
// Linux only. The stack forwards nothing: it is one host.
package up
