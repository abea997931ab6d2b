// Package tcp is the TCP engine's room: what a connection is made of, without a goroutine, lock, clock, I/O or payload octet.
//
// It knows sequence ranges and not payloads, so that one engine can serve a simulator, a replayer and a real stack: what
// arrives gets a verdict, and what is to be sent is named by its range. Time is an argument, wheel.Time.
//
// # Limitations
//
// These are the parts. The connection that puts them together is not there yet.
//
// # Concurrency
//
// Nothing here is safe for concurrent use.
package tcp
