package tcp

import (
	"net/netip"
	"time"

	"tcpwheel/wheel"
)

// EngineConfig is what an engine is made by.
type EngineConfig struct {
	Conn Config // of connections that bring none of their own; with its policy's tick the wheel is made

	Scheme string // of the wheel; "" is scheme6
	Count  bool   // the wheel counts its operations

	MTU int // of all paths, until ICMP says otherwise; 0 is 1500

	Key  [16]byte // of the Secret
	Seed uint64   // of the randomness in challenge ACKs and the jitter of timeouts

	ChallengeLimit int // challenge ACKs per second, about; 0 is 1000

	SYNCookies SYNCookies
	MaxSynRcvd int // half-open connections of a listener; 0 is its backlog

	MaxTimeWait int // connections in TIME-WAIT; those beyond are closed at once; 0 is 1<<18

	Trace Tracer // nil for none
}

// SYNCookies is when a listener answers SYNs with cookies.
type SYNCookies uint8

const (
	CookiesOnOverflow SYNCookies = iota // when its queue of half-open connections is full
	CookiesNever
	CookiesAlways
)

// Engine is the TCP of one host: its connections and listeners, the wheel with all their timers, and the counters. It knows no
// clock and sends nothing itself: Packets and Notices are what the owner finds after each call and carries out.
//
// After each call of a method that takes now, the owner takes Packets and Notices and calls Reset. Not safe for
// concurrent use.
type Engine struct {
	wheel wheel.Facility
	out   Output

	packets []Packet
	notices []Notice
}

// Packet is a segment between two ends.
type Packet struct {
	Src, Dst netip.AddrPort
	Header   Header  // its ports count for nothing in what arrives, and are filled in in what is sent
	Len      uint32  // octets of payload
	Offset   uint64  // of what is sent: where the payload begins in what was written to Socket
	Socket   *Socket // that sent it; nil for answers of the engine itself
	CE       bool    // of what arrives
	ECT      bool    // of what is sent
	Rexmit   uint8   // of what is sent: how many times its octets were sent before
}

// Notice tells what has happened to a connection.
type Notice struct {
	Socket *Socket
	Events Events
}

// Socket is a connection of an engine.
type Socket struct {
	conn          Conn
	local, remote netip.AddrPort

	// User is the owner's business.
	User any
}

// NewEngine makes an engine whose time begins at now.
func NewEngine(now wheel.Time, cfg EngineConfig) (*Engine, error) { return nil, nil }

// Packets returns what is to be sent, in order; Notices what has happened. Both are good until Reset.
func (e *Engine) Packets() []Packet { return e.packets }

// Notices returns what has happened to connections, in order, one for each call that had something to tell.
func (e *Engine) Notices() []Notice { return e.notices }

// Reset forgets packets and notices, which the owner has taken.
func (e *Engine) Reset() {}

// NextTimeout returns when Advance is to be called next at the latest, and whether any timer runs. It may be early.
func (e *Engine) NextTimeout() (at wheel.Time, ok bool) { return 0, false }

// Advance lets the timers expire that are due.
func (e *Engine) Advance(now wheel.Time) {}

// Listener takes connections for a local port.
type Listener struct{}

// ListenConfig is what a listener is made by.
type ListenConfig struct {
	Backlog     int           // connections that wait for Accept, at least 1
	Conn        *Config       // nil is the engine's
	DeferAccept time.Duration // TCP_DEFER_ACCEPT: a connection waits for its first octets for so long; 0 is off
}

// Listen makes a listener: a passive OPEN. With an address that IsUnspecified, it is for all of its family.
func (e *Engine) Listen(local netip.AddrPort, cfg ListenConfig) (*Listener, error) { return nil, nil }

// Accept takes a connection out of the queue. Of those that were accepted by nobody, Notices tell with the listener's
// first notice: EventConnected of a passive connection says that Accept has one.
func (l *Listener) Accept() (*Socket, bool) { return nil, false }

// Close ends the listener, and resets what nobody has accepted.
func (l *Listener) Close(now wheel.Time) {}

// Dial opens a connection actively. cfg nil is the engine's. The ends must not have one already.
func (e *Engine) Dial(now wheel.Time, local, remote netip.AddrPort, cfg *Config) (*Socket, error) {
	return nil, nil
}

// Input takes a segment that arrives for this host, with a checksum that was right. s is the connection that took it,
// nil if there is none.
func (e *Engine) Input(now wheel.Time, p *Packet) (s *Socket, v Verdict) { return nil, Verdict{} }

// ICMP takes an error message about a segment from local to remote.
func (e *Engine) ICMP(now wheel.Time, local, remote netip.AddrPort, m ICMPError) {}

// Wrote, Consumed, Shutdown, Close, Abort and SetOptions are those of Conn.
func (e *Engine) Wrote(now wheel.Time, s *Socket, n uint32, flags WriteFlags) {}
func (e *Engine) Consumed(now wheel.Time, s *Socket, n uint32)                {}
func (e *Engine) Shutdown(now wheel.Time, s *Socket)                          {}
func (e *Engine) Close(now wheel.Time, s *Socket, linger time.Duration)       {}
func (e *Engine) Abort(now wheel.Time, s *Socket)                             {}
func (e *Engine) SetOptions(now wheel.Time, s *Socket, opts SocketOptions)    {}

// Conn returns the connection, to be asked and not to be changed.
func (s *Socket) Conn() *Conn { return &s.conn }

// Local and Remote return the ends.
func (s *Socket) Local() netip.AddrPort  { return s.local }
func (s *Socket) Remote() netip.AddrPort { return s.remote }

// Counters returns what was counted so far.
func (e *Engine) Counters() Counters { return e.out.Counters }

// Check returns an error if an invariant does not hold: those of each connection, that exactly those timers run that the
// connections have started, and that no timer is left of one that is closed. It is for tests.
func (e *Engine) Check() error { return nil }

// Sockets calls f with each connection, in the order in which they were made.
func (e *Engine) Sockets(f func(*Socket)) {}

// Tracer takes the events of an engine.
type Tracer interface{}
