// Package up runs a TCP/IP stack behind a TUN device, with services for programs on the kernel's
// side. It is for the command tcpwheel, whose up is Run with flags.
//
// # Usage
//
//	host, err := up.Start(up.Config{
//		Device:    "wheel0",
//		Addrs:     []netip.Prefix{netip.MustParsePrefix("10.7.0.2/24")},
//		HostAddrs: []netip.Prefix{netip.MustParsePrefix("10.7.0.1/24")},
//	})
//	...
//	host.Close()
//
// Run does this until a context ends.
//
// # Services
//
// Each address of the stack answers ICMP echo requests, and has echo at port 7 (TCP and UDP),
// discard at 9, chargen at 19, and HTTP at 80 with "/" and "/bytes/N", the first N bytes of Content,
// unless Config.Serve names others.
//
// Other programs reach the stack through ports that pass connections on: Config.Expose lists ports
// of the stack that connect to the kernel, Config.Forward ports of the kernel that connect through
// the stack. Data, half-closes and resets are passed on in both directions.
//
// # Time
//
// The stack's clock is a wheel, finer than the timers of this module's TCP. In a Config.Capture,
// each packet that a timer sent has a comment that names the timer and says how late the packet
// left.
//
// # Concurrency
//
// Multiple goroutines may invoke methods on a Host.
//
// # Limitations
//
// Linux only. The stack is a single host and forwards no packets.
package up
