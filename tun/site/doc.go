// Package site is two kernels and an emulated link between them, for programs that talk over it and want to know what
// becomes of each segment.
//
// # Usage
//
//	s, err := site.New(site.Config{There: link, Back: link, Seen: func(p site.Passed) { … }})
//	defer s.Close()
//	l, err := s.Listen(80)             // in the server's kernel
//	c, err := s.Dial(ctx, 40000, 80)   // in the client's
//
// A Host is one such kernel by itself, for programs with another link or another peer.
//
// The kernels are those of two network namespaces with a TUN device each, which end with Close. Nothing is offloaded,
// so that segments are packets. What connections have learnt is forgotten, and congestion control is CUBIC where the
// kernel has it.
//
// # Concurrency
//
// Multiple goroutines may invoke the methods of a Site or Host. Different ones have nothing in common but the machine.
//
// # Limitations
//
// Linux only, as root, with TUN devices; elsewhere New returns an error, and there is no Host.
package site
