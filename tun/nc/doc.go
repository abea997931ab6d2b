// Package nc connects standard input and output to a connection of a stack behind a TUN device, as netcat does with a connection of
// the kernel.
//
// # Usage
//
//	err := nc.Run(ctx, nc.Config{
//		Site: up.Config{Addrs: ..., HostAddrs: ...},
//		At:   netip.MustParseAddrPort("10.7.0.1:8080"),
//		In:   os.Stdin,
//		Out:  os.Stdout,
//	})
//
// # The end
//
// The end of In ends the stream to the peer, and the other direction goes on. A connection has ended well when both streams have, and the
// peer has acknowledged all of ours: then its TCP has every octet. In whatever other way it ends is an error, which package sockets
// words as package net does.
//
// # Concurrency
//
// In is read ahead by one piece, in a goroutine that outlives Run when it is blocked there.
//
// # Limitations
//
// Linux only, as package up. A server has one connection at a time.
package nc
