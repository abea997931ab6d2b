// Package sockets is net.Conn and net.Listener on the TCP of a gVisor stack: on package netstack's, and on gVisor's own.
//
// # Usage
//
//	l, err := (&sockets.ListenConfig{Stack: s}).Listen("tcp", ":80")
//	...
//	d := sockets.Dialer{Stack: s, Timeout: 5 * time.Second}
//	c, err := d.DialContext(ctx, "tcp", "10.7.0.1:80")
//
// A Dialer's DialContext is what http.Transport takes, and a Listener what http.Server serves. NewConn makes a Conn of an endpoint
// that came another way, such as a forwarder's.
//
// # Files
//
// Begin with dial.go and listen.go, then conn.go. gate.go is where goroutines wait, deadline.go for how long at most, and tasks.go runs them
// in virtual time.
//
// # Errors
//
// They are those of package net: a *net.OpError around os.ErrDeadlineExceeded, net.ErrClosed, or the *os.SyscallError of a
// syscall.Errno, all of which errors.Is finds. Unlike a socket of the kernel, a connection that has failed tells so each time: what
// is read after a reset is an error again, and never an end of the stream.
//
// # Time
//
// All time is that of the stack's clock: a deadline is compared with its Now, and expires by its timer, not before and no later than
// the clock's granularity. On a netstack.VirtualClock it expires at its very instant. Goroutines that wait in virtual time are to be
// run by Tasks, which the Dialer and the ListenConfig are told; contexts that end by themselves do so by the machine's clock, and so
// have no place there.
//
// # Concurrency
//
// Multiple goroutines may invoke the methods of all types. There is no goroutine per connection. What one Write is given is not
// mixed with what another one is. No lock is held while octets are copied to or from the caller, nor while the stack is called.
//
// # Limitations
//
// Names are looked up only by a Resolver that the Dialer is given, and addresses are tried one after another. Keepalive is off
// unless it is asked for, so that what is idle stays so. SetLinger with more than 0 seconds is as with less: what was written is sent
// in the background.
package sockets
