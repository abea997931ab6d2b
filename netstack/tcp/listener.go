package tcp

import (
	"fmt"
	"net/netip"
	"time"

	"tcpwheel/wheel"
)

// Listener accepts connections on a local port.
type Listener struct {
	engine      *Engine
	local       netip.AddrPort
	cfg         *Config
	backlog     int
	maxHalfOpen int
	deferAccept time.Duration

	queue    []*Socket // established, waiting for Accept
	halfOpen int       // connections in SYN-RECEIVED

	cookieAt wheel.Time // when the last SYN cookie was sent, if cookies
	cookies  bool       // a SYN cookie was sent
	closed   bool
}

// ListenConfig configures a listener.
type ListenConfig struct {
	Backlog     int           // established connections waiting for Accept, at least 1
	Conn        *Config       // nil uses the engine's
	DeferAccept time.Duration // TCP_DEFER_ACCEPT: wait so long for data; 0 is off
}

// pendingAccept is the listener's state of a connection that is not accepted yet.
type pendingAccept struct {
	listener *Listener
	since    wheel.Time // when the SYN arrived
	queued   bool       // the handshake is complete
}

// Listen opens a listener: a passive OPEN. An unspecified address listens on all addresses of its
// family that have no listener of their own for the port.
func (e *Engine) Listen(local netip.AddrPort, cfg ListenConfig) (*Listener, error) {
	local = unmapped(local)
	if why := badAddr(local.Addr()); why != "" && !local.Addr().IsUnspecified() {
		return nil, fmt.Errorf("tcp: local address %v, want none that is %s", local.Addr(), why)
	}
	switch {
	case local.Port() == 0:
		return nil, fmt.Errorf("tcp: local port 0, want 1..65535")
	case cfg.Backlog < 1:
		return nil, fmt.Errorf("tcp: backlog %d, want at least 1", cfg.Backlog)
	case cfg.DeferAccept < 0:
		return nil, fmt.Errorf("tcp: accept deferred by %v, want 0s or more", cfg.DeferAccept)
	case e.listeners[local] != nil:
		return nil, fmt.Errorf("tcp: %v has a listener already", local)
	}
	conn, err := e.checkConfig(cfg.Conn)
	if err != nil {
		return nil, err
	}
	l := &Listener{
		engine: e, local: local, cfg: conn,
		backlog: cfg.Backlog, maxHalfOpen: e.cfg.MaxSynRcvd, deferAccept: cfg.DeferAccept,
	}
	if l.maxHalfOpen == 0 {
		l.maxHalfOpen = cfg.Backlog
	}
	e.listeners[local] = l
	return l, nil
}

// listener returns the listener for local, preferring one for the very address, or nil.
func (e *Engine) listener(local netip.AddrPort) *Listener {
	if l := e.listeners[local]; l != nil {
		return l
	}
	all := netip.IPv4Unspecified()
	if local.Addr().Is6() {
		all = netip.IPv6Unspecified()
	}
	return e.listeners[netip.AddrPortFrom(all, local.Port())]
}

// Len returns the number of connections that wait for Accept.
func (l *Listener) Len() int { return len(l.queue) }

// Accept returns the connection that was established first. EventConnected of a passive connection
// says that there is one. The connection may have closed since.
func (l *Listener) Accept() (*Socket, bool) {
	if len(l.queue) == 0 {
		return nil, false
	}
	s := l.queue[0]
	l.queue[0] = nil
	if l.queue = l.queue[1:]; len(l.queue) == 0 {
		l.queue = nil
	}
	s.pending = nil
	return s, true
}

// Close closes the listener and resets connections not yet accepted. A second call is a no-op. It
// costs O(n log n) in the engine's connections.
func (l *Listener) Close(now wheel.Time) {
	if l.closed {
		return
	}
	now = l.engine.setNow(now)
	l.closed = true
	delete(l.engine.listeners, l.local)
	for _, s := range l.engine.all() {
		if s.pending != nil && s.pending.listener == l {
			l.engine.Abort(now, s)
		}
	}
	l.queue = nil
}

// full reports whether the accept queue is full.
func (l *Listener) full() bool { return len(l.queue) >= l.backlog }

// input processes a segment in LISTEN.
func (l *Listener) input(now wheel.Time, local, remote netip.AddrPort, in *Inbound) (*Socket, Disposition) {
	h := in.Header
	switch {
	case h.Flags.Has(RST):
		// RFC 9293 §3.10.7.2: "An incoming RST segment could not be valid since it could not have
		// been sent in response to anything sent by this incarnation of the connection. An incoming
		// RST should be ignored. Return."
	case h.Flags.Has(ACK):
		// RFC 9293 §3.10.7.2: "Any acknowledgment is bad if it arrives on a connection still in the
		// LISTEN state. An acceptable reset segment should be formed for any arriving ACK-bearing
		// segment." A returned SYN cookie is the exception.
		if !h.Flags.Has(SYN) {
			if s, v, ok := l.cookie(now, local, remote, in); ok {
				return s, v
			}
		}
		l.engine.refuse(local, remote, in)
	case h.Flags.Has(SYN):
		return l.syn(now, local, remote, in), Disposition{}
	default:
		// RFC 9293 §3.10.7.2: without SYN, RST and ACK, "Drop the segment and return."
	}
	return nil, Disposition{}
}

// syn processes a SYN for a new connection, and returns the connection or nil.
func (l *Listener) syn(now wheel.Time, local, remote netip.AddrPort, in *Inbound) *Socket {
	c := &l.engine.out.Counters
	if local == remote || remote.Port() == 0 { // the reply would go to ourselves, or to no port
		c.ListenDrops++
		return nil
	}
	if mode := l.engine.cfg.SYNCookies; mode == CookiesAlways || l.halfOpen >= l.maxHalfOpen {
		if mode == CookiesNever {
			c.TCPReqQFullDrop++
			c.ListenDrops++
			return nil
		}
		if l.full() {
			c.ListenOverflows++
			c.ListenDrops++
			return nil
		}
		if l.halfOpen >= l.maxHalfOpen {
			c.TCPReqQFullDoCookies++
		}
		l.sendCookie(now, local, remote, in.Header)
		return nil
	}
	if l.full() {
		c.ListenOverflows++
		c.ListenDrops++
		return nil
	}
	return l.open(now, local, remote, in, l.engine.secret.ISN(now, local, remote))
}

// open makes the connection of a SYN.
func (l *Listener) open(now wheel.Time, local, remote netip.AddrPort, in *Inbound, iss Seq) *Socket {
	s := l.engine.add(local, remote, l.cfg, iss)
	s.pending = &pendingAccept{listener: l, since: now}
	l.halfOpen++
	s.conn.Accept(now, in, &l.engine.out)
	l.engine.apply(s)
	return s
}

// noteEvents updates the queues after events of a connection not yet accepted.
func (l *Listener) noteEvents(s *Socket, events Events) {
	p := s.pending
	if events.Has(EventConnected) && !p.queued {
		p.queued = true
		l.halfOpen--
		if !l.closed {
			l.queue = append(l.queue, s)
		}
	}
	if events.Has(EventClosed) && !p.queued {
		// RFC 9293 §3.10.7.4: a connection from LISTEN returns there.
		l.halfOpen--
		s.pending = nil
	}
}

// defersHandshake reports whether to drop a segment because the listener does not want the
// connection established yet. It updates the counters.
func (p *pendingAccept) defersHandshake(now wheel.Time, c *Conn, in *Inbound, o *Output) bool {
	if p.queued || in.Header.Flags&(SYN|RST|ACK) != ACK || !c.Opens(in.Header.Ack) {
		return false // the segment would not complete the handshake
	}
	l := p.listener
	switch {
	case l.full():
		// The peer retransmits its data, and we our SYN-ACK, until there is room or the handshake
		// times out.
		o.Counters.ListenOverflows++
		o.Counters.ListenDrops++
		return true
	case l.deferAccept > 0 && in.Len == 0 && !in.Header.Flags.Has(FIN) && now.Sub(p.since) < l.deferAccept:
		// The peer is alive. The SYN-ACK is retransmitted only after the wait, to draw another ACK.
		o.Counters.TCPDeferAcceptDrop++
		c.DeferOpen(now, p.since, l.deferAccept, o)
		return true
	}
	return false
}
