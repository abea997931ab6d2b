// Package netns sets up kernels and links in network namespaces of their own: for the tests of tun,
// for tcpwheel/experiments and for tcpwheel/cmd.
//
// # Usage
//
//	p, err := netns.NewPair(netns.PairConfig{There: link, Back: link, Sent: func(p netns.Packet) { … }})
//	defer p.Close()
//	l, control, err := p.Listen(80)    // at the server
//	c, err := p.Dial(ctx, 40000, 80)   // from the client's kernel
//
// The kernel of a host is this machine's kernel in a namespace with a TUN device. A Pair is two
// hosts joined by an emulated link: the client is a kernel, the server another one or a gVisor
// stack. Offload is off, so every segment is one packet. The kernel does not reuse what earlier
// connections learned about a path, and its congestion control is CUBIC where it has CUBIC.
//
// Configure, LoopbackUp and WriteSysctls prepare a namespace; ReadCounters reads the kernel's TCP
// counters there. Test gives a test a namespace, or skips the test where TUN devices are not
// available; Lateness measures how busy the machine was meanwhile.
//
// # Concurrency
//
// Multiple goroutines may invoke methods on a Pair. Different Pairs share nothing.
//
// # Limitations
//
// Linux only, with root and TUN devices. On other systems NewPair returns an error, and only Pair
// and Lateness exist.
package netns
