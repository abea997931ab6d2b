package tcp

import (
	"fmt"
	"math/rand"
	randv2 "math/rand/v2"
	"net/netip"
	"time"

	"tcpwheel/internal/setting"
	"tcpwheel/wheel"
)

// EngineConfig configures an Engine.
type EngineConfig struct {
	Conn Config // for connections without their own; its policy's tick is the wheel's

	Scheme string `set:"scheme" help:"scheme of the timing wheel"` // "" is scheme6
	Count  bool   // count the wheel's operations

	MTU int `set:"mtu" min:"0" max:"131072" help:"MTU of the path, until ICMP lowers it; 0 is 1500"`

	Key  [16]byte // key of the Secret
	Seed uint64   `set:"seed" help:"seed of challenge ACK limits and RTO jitter"`

	ChallengeLimit int `set:"challenge-limit" min:"0" max:"1048576" help:"challenge ACKs per second, about; 0 is 1000"`

	SYNCookies SYNCookies `set:"syn-cookies" help:"when a listener answers SYNs with cookies"`
	MaxSynRcvd int        `set:"max-syn-rcvd" min:"0" max:"1048576" help:"half-open connections of a listener; 0 is its backlog"`

	MaxTimeWait int `set:"max-time-wait" min:"0" max:"1048576" help:"connections in TIME-WAIT; 0 is 262144"`

	Trace Tracer // nil for none
}

// SYNCookies says when a listener answers SYNs with cookies.
type SYNCookies uint8

const (
	CookiesOnOverflow SYNCookies = iota // when the half-open queue is full
	CookiesNever
	CookiesAlways
)

// Names returns the names of the choices, in order.
func (SYNCookies) Names() []string { return []string{"overflow", "never", "always"} }

// Engine is the TCP of one host: its connections, its listeners, the timing wheel with all their
// timers, and the counters. It reads no clock and sends nothing.
//
// After each call of a method that takes now, the owner must send what Packets returns, deliver
// what Notices returns, and call Reset. A now earlier than a previous one counts as no time
// passing. Not safe for concurrent use.
type Engine struct {
	cfg        EngineConfig
	checked    *Config // the last Config of a caller that passed Check
	tick       time.Duration
	secret     Secret
	now        wheel.Time // the latest time seen
	wheel      wheel.Facility
	expireFunc func(wheel.Timer) // Engine.expired, allocated once
	out        Output

	packets []Packet
	notices []Notice

	lastHit   lastFound
	byEnds    map[ends]*Socket
	sockets   []*Socket // nil at free indices
	free      []uint32  // free indices, last freed first
	listeners map[netip.AddrPort]*Listener
	lastID    uint64 // sockets ever made
	timeWait  int    // sockets in TIME-WAIT
	nextPort  uint32 // counter for ephemeral ports

	timerPool []*socketTimers // unused socketTimers

	trace *tracing // nil for none
}

// Packet is a segment with its addresses.
type Packet struct {
	Src, Dst netip.AddrPort
	Header   Header  // ports are set on output and ignored on input
	Len      uint32  // payload bytes
	Offset   uint64  // output: offset of the payload in the stream written to Socket
	Socket   *Socket // output: the sender, nil for the engine's own replies
	CE       bool    // input: CE mark
	ECT      bool    // output: ECT(0)
	Rexmit   uint8   // output: how many times the bytes were sent before
}

// Notice reports events of a connection.
type Notice struct {
	Socket *Socket
	Events Events
}

// NewEngine returns an engine whose time starts at now. The error names the first field out of
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

		byEnds:    make(map[ends]*Socket),
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
	if err := setting.Check(c); err != nil {
		return fmt.Errorf("tcp: %w", err)
	}
	return nil
}

// Packets returns the packets to send, in order. They are valid until Reset.
func (e *Engine) Packets() []Packet { return e.packets }

// Notices returns the events of connections, in order. They are valid until Reset.
func (e *Engine) Notices() []Notice { return e.notices }

// Reset discards the packets and notices.
func (e *Engine) Reset() {
	// Clear the references, so that reused memory keeps no closed connection alive.
	clear(e.packets)
	clear(e.notices)
	e.packets, e.notices = e.packets[:0], e.notices[:0]
}

// setNow advances the engine's time to now and returns it.
func (e *Engine) setNow(now wheel.Time) wheel.Time {
	e.now = max(e.now, now)
	return e.now
}

// apply carries out what a call of s's connection left in the output.
func (e *Engine) apply(s *Socket) {
	o := &e.out
	if e.trace != nil {
		e.traceOutput(s)
	}
	if len(o.Timers) > 0 {
		e.applyTimers(s)
	}
	if s.timers != nil && s.timers.runs == 0 {
		// A connection with no timer but keepalive gives its timer records back for others to use.
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
			s.pending.noteEvents(s, events)
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

// queuePackets turns the segments of the output into packets.
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

// Wrote is Conn.Wrote. It and the methods below are no-ops if s is closed.
func (e *Engine) Wrote(now wheel.Time, s *Socket, n uint32, flags WriteFlags) {
	if now = e.setNow(now); s.open() {
		s.conn.Wrote(now, n, flags, &e.out)
		e.apply(s)
	}
}

// SetWriterWaits is Conn.SetWriterWaits.
func (e *Engine) SetWriterWaits(s *Socket, waits bool) {
	if s.open() {
		s.conn.SetWriterWaits(waits)
	}
}

// Consumed is Conn.Consumed.
func (e *Engine) Consumed(now wheel.Time, s *Socket, n uint32) {
	if now = e.setNow(now); s.open() {
		s.conn.Consumed(now, n, &e.out)
		e.apply(s)
	}
}

// Shutdown is Conn.Shutdown.
func (e *Engine) Shutdown(now wheel.Time, s *Socket) {
	if now = e.setNow(now); s.open() {
		s.conn.Shutdown(now, &e.out)
		e.apply(s)
	}
}

// Close is Conn.Close.
func (e *Engine) Close(now wheel.Time, s *Socket, linger time.Duration) {
	if now = e.setNow(now); s.open() {
		s.conn.Close(now, linger, &e.out)
		e.apply(s)
	}
}

// Abort is Conn.Abort.
func (e *Engine) Abort(now wheel.Time, s *Socket) {
	if now = e.setNow(now); s.open() {
		s.conn.Abort(now, &e.out)
		e.apply(s)
	}
}

// SetOptions is Conn.SetOptions.
func (e *Engine) SetOptions(now wheel.Time, s *Socket, opts SocketOptions) {
	if now = e.setNow(now); s.open() {
		s.conn.SetOptions(now, opts, &e.out)
		e.apply(s)
	}
}

// Flush is Conn.Flush.
func (e *Engine) Flush(now wheel.Time, s *Socket) {
	if now = e.setNow(now); s.open() {
		s.conn.Flush(now, &e.out)
		e.apply(s)
	}
}

// Counters returns the counters so far.
func (e *Engine) Counters() Counters { return e.out.Counters }

// Wheel returns the wheel's operation counts, all 0 unless EngineConfig.Count is set.
func (e *Engine) Wheel() wheel.Counts { return e.wheel.Counts() }
