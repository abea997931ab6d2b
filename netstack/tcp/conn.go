package tcp

import (
	"time"

	"tcpwheel/wheel"
)

// Conn is one connection: a state machine without I/O. What happens to it are its methods, which take the time and an Output, and
// leave there what is to be sent, which timers are to be started and stopped, and what the application is to be told.
//
//	Init                            once, then one of
//	Connect, Accept, AcceptCookie   an active open, a SYN to a listener, the ACK of a SYN cookie
//	Input, ICMP, Expire             what comes from the network, and the expiry of a timer
//	Wrote, Consumed                 the application has written, or read
//	Shutdown, Close, Abort          the application is done with writing, or altogether
//
// After EventClosed all calls do nothing. A Conn belongs to one goroutine at a time; it is not to be copied once Init was called.
type Conn struct {
	state State
}

// WriteFlags say how data was written.
type WriteFlags uint8

const (
	WriteMore   WriteFlags = 1 << iota // MSG_MORE: more follows, so that a segment that is not full waits for it
	WriteUrgent                        // MSG_OOB: the last octet is urgent
)

// NoLinger is what Close takes for a close in the background.
const NoLinger time.Duration = -1

// Init makes c a connection in CLOSED. cfg is kept; cfg and path have been checked. iss is the initial sequence number, as
// Secret.ISN or SYNCookie gives it, and tsOffset the offset of timestamps, as Secret.TimestampOffset does.
func (c *Conn) Init(cfg *Config, path Path, iss Seq, tsOffset uint32) {}

// Connect sends a SYN: an active OPEN.
func (c *Conn) Connect(now wheel.Time, o *Output) {}

// Accept takes the SYN that a listener received, and answers it: a passive OPEN, which ends in EventConnected.
func (c *Conn) Accept(now wheel.Time, syn *Inbound, o *Output) {}

// AcceptCookie takes the ACK that ends the handshake of a SYN cookie, of which CheckSYNCookie has told the mss, and the timestamps opts,
// if ok. The connection is established then, and the ACK is input to it.
func (c *Conn) AcceptCookie(now wheel.Time, ack *Inbound, mss uint16, opts CookieOptions, ok bool, o *Output) Verdict {
	return Verdict{}
}

// Input takes a segment (RFC 9293 §3.10.7).
func (c *Conn) Input(now wheel.Time, in *Inbound, o *Output) Verdict { return Verdict{} }

// Expire tells that the timer of a slot has expired, which stopped it. One that c has not started, or has stopped
// since, changes nothing.
func (c *Conn) Expire(now wheel.Time, slot Slot, o *Output) {}

// Wrote tells that the application has written n octets more. Where the state does not allow that, nothing is taken:
// CanWrite tells before.
func (c *Conn) Wrote(now wheel.Time, n uint32, flags WriteFlags, o *Output) {}

// CanWrite reports whether Wrote takes octets: from the open on, until Shutdown, Close or the end.
func (c *Conn) CanWrite() bool { return false }

// Consumed tells that the application has read n octets.
func (c *Conn) Consumed(now wheel.Time, n uint32, o *Output) {}

// Shutdown tells that the application will write no more: a FIN follows what was written.
func (c *Conn) Shutdown(now wheel.Time, o *Output) {}

// Close tells that the application is done with the connection: it will write no more, and read no more. With a linger of 0 the
// connection is aborted; with more, EventLingered tells when that time is over, or EventClosed that the close was earlier.
// Octets that were received and not read, or that arrive later, reset it (RFC 9293 §3.10.4, RFC 2525 §2.17).
func (c *Conn) Close(now wheel.Time, linger time.Duration, o *Output) {}

// Abort ends the connection at once, with a RST where RFC 9293 §3.10.5 wants one.
func (c *Conn) Abort(now wheel.Time, o *Output) {}

// SetOptions changes the socket options, which have been checked.
func (c *Conn) SetOptions(now wheel.Time, opts SocketOptions, o *Output) {}

// Options returns the socket options.
func (c *Conn) Options() SocketOptions { return SocketOptions{} }

// ICMPError is an ICMP message about a segment that c is said to have sent.
type ICMPError struct {
	Kind ICMPKind
	Seq  Seq    // of the segment that the message quotes
	MTU  uint32 // of the next hop, for ICMPTooBig; 0 if the router did not say
}

// ICMPKind is what an ICMP message says, whichever the version.
type ICMPKind uint8

const (
	ICMPNetUnreachable ICMPKind = iota
	ICMPHostUnreachable
	ICMPProtocolUnreachable
	ICMPPortUnreachable
	ICMPProhibited
	ICMPTooBig // fragmentation needed, or packet too big
	ICMPTimeExceeded
	ICMPParameterProblem
	ICMPSourceQuench
)

// ICMP takes an error message (RFC 5927, RFC 9293 §3.9.2.2).
func (c *Conn) ICMP(now wheel.Time, m ICMPError, o *Output) {}

// State returns the state.
func (c *Conn) State() State { return c.state }

// Err returns why the connection has ended before its time, nil if it has not. The error is an Error.
func (c *Conn) Err() error { return nil }

// SoftErr returns the last error that the network reported and that did not end the connection.
func (c *Conn) SoftErr() error { return nil }

// Acked returns how many octets of what was written are acknowledged: the owner needs to keep only those after.
func (c *Conn) Acked() uint64 { return 0 }

// Received returns how many octets of what the peer sends have become readable.
func (c *Conn) Received() uint64 { return 0 }

// Armed calls f with each slot whose timer c has started. It costs O(segments in flight).
func (c *Conn) Armed(f func(Slot)) {}

// Check returns an error if an invariant of c does not hold: it is for tests. It costs O(segments in flight).
func (c *Conn) Check() error { return nil }
