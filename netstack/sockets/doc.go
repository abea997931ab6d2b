// Package sockets provides net.Conn and net.Listener on the TCP of a gVisor stack: package
// netstack's or gVisor's own.
//
// # Usage
//
//	l, err := (&sockets.ListenConfig{Stack: s}).Listen("tcp", ":80")
//	...
//	d := sockets.Dialer{Stack: s, Timeout: 5 * time.Second}
//	c, err := d.DialContext(ctx, "tcp", "10.7.0.1:80")
//
// http.Transport takes a Dialer's DialContext, and http.Server a Listener. NewConn makes a Conn
// from any connected endpoint, such as a forwarder's.
//
// # Files
//
// Begin with dial.go and listen.go, then conn.go. Goroutines wait in gate.go, until a deadline in
// deadline.go; tasks.go runs them in virtual time.
//
// # Errors
//
// Errors are those of package net: a *net.OpError that wraps os.ErrDeadlineExceeded, net.ErrClosed,
// or the *os.SyscallError of a syscall.Errno. errors.Is finds each of them. Unlike a kernel's
// socket, a failed connection returns its error every time: a read after a reset never returns
// io.EOF.
//
// # Time
//
// All time is on the stack's clock. A deadline expires by its timer: never early, and late by less
// than the clock's granularity.
//
// On a netstack.VirtualClock a deadline expires at its exact time, and goroutines that wait must be
// Tasks: set Tasks in the Dialer and the ListenConfig. Package virtual sets up two such stacks with
// a lossy link between them. Contexts with a timeout use the machine's clock, so do not use them in
// virtual time.
//
// # Concurrency
//
// Multiple goroutines may invoke the methods of all types. There is no goroutine per connection.
// The data of concurrent Writes is not interleaved. No lock is held while data is copied to or from
// the caller, or while the stack is called.
//
// # Limitations
//
// Names need a Resolver in the Dialer; addresses are tried one after another. Keepalive is off by
// default. SetLinger with more than 0 seconds is like less than 0: Close sends the data in the
// background.
package sockets
