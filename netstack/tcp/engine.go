package tcp

import (
	"fmt"
	"math/rand"
	randv2 "math/rand/v2"
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

// Engine is the TCP of one host: its connections and listeners, the wheel with all their timers,
// and the counters. It knows no clock and sends nothing itself: Packets and Notices are what the
// owner finds after each call and carries out.
//
// After each call of a method that takes now, the owner takes Packets and Notices and calls Reset.
// A now that is earlier than one seen before counts as no time passing. Not safe for concurrent
// use.
type Engine struct {
	cfg        EngineConfig
	checked    *Config // the last configuration of others that was found good
	tick       time.Duration
	secret     Secret
	now        wheel.Time // the latest seen
	wheel      wheel.Facility
	expireFunc func(wheel.Timer) // Engine.expired, made once
	out        Output

	packets []Packet
	notices []Notice

	lastHit   lastFound
	byEnds    endsTable // of indices into sockets
	sockets   []*Socket // nil where there is none
	free      []uint32  // the indices of these, the last one given back first
	listeners map[netip.AddrPort]*Listener
	lastID    uint64 // sockets, ever
	timeWait  int    // sockets in TIME-WAIT
	nextPort  uint32 // the counter of ephemeral ports

	timerPool []*socketTimers // that no connection has

	trace *tracing // nil for none
}

// Packet is a segment between two ends.
type Packet struct {
	Src, Dst netip.AddrPort
	Header   Header  // its ports count for nothing in what arrives, and are filled in in what is sent
	Len      uint32  // bytes of payload
	Offset   uint64  // of what is sent: where the payload begins in what was written to Socket
	Socket   *Socket // that sent it; nil for answers of the engine itself
	CE       bool    // of what arrives
	ECT      bool    // of what is sent
	Rexmit   uint8   // of what is sent: how many times its bytes were sent before
}

// Notice tells what has happened to a connection.
type Notice struct {
	Socket *Socket
	Events Events
}

// NewEngine makes an engine whose time begins at now. An error names the field that is out of its
// bounds.
func NewEngine(now wheel.Time, cfg EngineConfig) (*Engine, error) {
	if cfg.Scheme == "" {
		cfg.Scheme = wheel.Default
	}
	if cfg.MTU == 0 {
		cfg.MTU = 1500
	}
	if cfg.ChallengeLimit == 0 {
		cfg.ChallengeLimit = 1000
	}
	if cfg.MaxTimeWait == 0 {
		cfg.MaxTimeWait = 1 << 18
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	limiter, err := NewChallengeLimiter(cfg.ChallengeLimit, time.Second, randv2.New(randv2.NewPCG(cfg.Seed, 1)))
	if err != nil {
		return nil, err
	}
	w, err := cfg.Conn.Policy.NewWheel(cfg.Scheme, now, cfg.Count)
	if err != nil {
		return nil, err
	}
	e := &Engine{
		cfg:    cfg,
		tick:   cfg.Conn.Policy.WheelTick(),
		secret: NewSecret(cfg.Key),
		now:    now,
		wheel:  w,
		out:    Output{Challenge: limiter, Rand: rand.New(rand.NewSource(int64(cfg.Seed)))},

		byEnds:    newEndsTable(),
		listeners: make(map[netip.AddrPort]*Listener),
		nextPort:  uint32(cfg.Seed),
	}
	e.expireFunc = e.expired
	if cfg.Trace != nil {
		e.trace = &tracing{to: cfg.Trace, sockets: make(map[uint64]*traceSocket)}
	}
	return e, nil
}

func (c *EngineConfig) check() error {
	if err := c.Conn.Check(); err != nil {
		return err
	}
	for _, path := range []Path{{MTU: c.MTU}, {MTU: c.MTU, IPv6: true}} {
		if err := path.Check(); err != nil {
			return err
		}
	}
	switch {
	case c.SYNCookies > CookiesAlways:
		return fmt.Errorf("tcp: SYN cookies %d, want 0..%d", c.SYNCookies, CookiesAlways)
	case c.MaxSynRcvd < 0:
		return fmt.Errorf("tcp: half-open connections %d, want 0 or more", c.MaxSynRcvd)
	case c.MaxTimeWait < 0:
		return fmt.Errorf("tcp: connections in TIME-WAIT %d, want 0 or more", c.MaxTimeWait)
	}
	return nil
}

// Packets returns what is to be sent, in order. They are good until Reset.
func (e *Engine) Packets() []Packet { return e.packets }

// Notices returns what has happened to connections, in order, one for each call that had something
// to tell. They are good until Reset.
func (e *Engine) Notices() []Notice { return e.notices }

// Reset forgets packets and notices, which the owner has taken.
func (e *Engine) Reset() {
	// What they refer to is let go, so that the memory that is used again holds no closed
	// connection.
	clear(e.packets)
	clear(e.notices)
	e.packets, e.notices = e.packets[:0], e.notices[:0]
}

// setNow takes the time that a call was given.
func (e *Engine) setNow(now wheel.Time) wheel.Time {
	e.now = max(e.now, now)
	return e.now
}

// apply carries out what a call of s's connection has left in the output.
func (e *Engine) apply(s *Socket) {
	o := &e.out
	if e.trace != nil {
		e.traceOutput(s)
	}
	if len(o.Timers) > 0 {
		e.applyTimers(s)
	}
	if s.timers != nil && s.timers.runs == 0 {
		// A connection with no timer but that of keepalive gives its records back: others will need
		// them before it does.
		e.freeTimers(s)
	}
	if len(o.Segments) > 0 {
		e.queuePackets(s)
	}
	if len(o.returnedFlights) > 0 {
		e.freeReturned()
	}
	events := o.Events
	o.Reset()
	if events != 0 {
		e.notices = append(e.notices, Notice{s, events})
		if s.pending != nil {
			s.pending.listener.noteEvents(s, events)
		}
	}
	if events.Has(EventClosed) {
		e.remove(s)
		return
	}
	if s.conn.State() == StateTimeWait && !s.conn.inTimeWait {
		e.enterTimeWait(s)
	}
}

// queuePackets puts the segments in the output among the packets.
func (e *Engine) queuePackets(s *Socket) {
	var local, remote netip.AddrPort
	if e.lastHit.socket == s {
		local, remote = e.lastHit.local, e.lastHit.remote
	} else {
		local, remote = s.Local(), s.Remote()
	}
	for i := range e.out.Segments {
		out := &e.out.Segments[i]
		e.packets = append(e.packets, Packet{})
		p := &e.packets[len(e.packets)-1]
		p.Src, p.Dst, p.Socket = local, remote, s
		p.Header = out.Header
		p.Header.SrcPort, p.Header.DstPort = local.Port(), remote.Port()
		p.Len, p.Offset, p.ECT, p.Rexmit = out.Len, out.Offset, out.ECT, out.Rexmit
	}
}

// Wrote tells that the application has written n bytes. As Consumed, Shutdown, Close, Abort and
// SetOptions below, it is that of Conn, which says more, and does nothing on a connection that is
// closed.
func (e *Engine) Wrote(now wheel.Time, s *Socket, n uint32, flags WriteFlags) {
	if now = e.setNow(now); s.open() {
		s.conn.Wrote(now, n, flags, &e.out)
		e.apply(s)
	}
}

// Consumed tells that the application has read n bytes.
func (e *Engine) Consumed(now wheel.Time, s *Socket, n uint32) {
	if now = e.setNow(now); s.open() {
		s.conn.Consumed(now, n, &e.out)
		e.apply(s)
	}
}

// Shutdown tells that the application will write no more.
func (e *Engine) Shutdown(now wheel.Time, s *Socket) {
	if now = e.setNow(now); s.open() {
		s.conn.Shutdown(now, &e.out)
		e.apply(s)
	}
}

// Close tells that the application is done with the connection.
func (e *Engine) Close(now wheel.Time, s *Socket, linger time.Duration) {
	if now = e.setNow(now); s.open() {
		s.conn.Close(now, linger, &e.out)
		e.apply(s)
	}
}

// Abort ends the connection at once.
func (e *Engine) Abort(now wheel.Time, s *Socket) {
	if now = e.setNow(now); s.open() {
		s.conn.Abort(now, &e.out)
		e.apply(s)
	}
}

// SetOptions changes the socket options, which have been checked.
func (e *Engine) SetOptions(now wheel.Time, s *Socket, opts SocketOptions) {
	if now = e.setNow(now); s.open() {
		s.conn.SetOptions(now, opts, &e.out)
		e.apply(s)
	}
}

// Resend sends again what another host had sent again: see Conn.Resend.
func (e *Engine) Resend(now wheel.Time, s *Socket, r Range, n uint8) {
	if now = e.setNow(now); s.open() {
		s.conn.Resend(now, r, n, &e.out)
		e.apply(s)
	}
}

// Counters returns what was counted so far.
func (e *Engine) Counters() Counters { return e.out.Counters }

// Wheel returns the counts of the wheel's operations, all 0 unless EngineConfig.Count was set.
func (e *Engine) Wheel() wheel.Counts { return e.wheel.Counts() }
