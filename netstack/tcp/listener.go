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
	deferAccept time.Duration

	backlog ListenQueue[*Socket]
	closed  bool
}

// ListenConfig configures a listener.
type ListenConfig struct {
	Backlog     int           // as of listen(2), 0 or more: see Backlog.SetBounds
	Conn        *Config       // nil uses the engine's
	DeferAccept time.Duration // TCP_DEFER_ACCEPT: wait so long for data; 0 is off
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
	case cfg.Backlog < 0:
		return nil, fmt.Errorf("tcp: backlog %d, want 0 or more", cfg.Backlog)
	case cfg.DeferAccept < 0:
		return nil, fmt.Errorf("tcp: accept deferred by %v, want 0s or more", cfg.DeferAccept)
	case e.listeners[local] != nil:
		return nil, fmt.Errorf("tcp: %v has a listener already", local)
	}
	conn, err := e.checkConfig(cfg.Conn)
	if err != nil {
		return nil, err
	}
	l := &Listener{engine: e, local: local, cfg: conn, deferAccept: cfg.DeferAccept}
	l.backlog.Cookies = e.cfg.SYNCookies
	l.backlog.SetBounds(cfg.Backlog, e.cfg.MaxSynRcvd)
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
func (l *Listener) Len() int { return l.backlog.Queued }

// Accept returns the connection that was established first. EventConnected of a passive connection
// says that there is one. The connection may have closed since.
func (l *Listener) Accept() (*Socket, bool) {
	s, ok := l.backlog.Accept()
	if ok {
		s.pending = nil
	}
	return s, ok
}

// Close closes the listener and resets connections not yet accepted: first the established ones. A
// second call is a no-op.
func (l *Listener) Close(now wheel.Time) {
	if l.closed {
		return
	}
	now = l.engine.setNow(now)
	l.closed = true
	delete(l.engine.listeners, l.local)
	for _, s := range l.backlog.Drain() {
		l.engine.Abort(now, s)
	}
}

// input processes a segment in LISTEN.
func (l *Listener) input(now wheel.Time, local, remote netip.AddrPort, in *Inbound) (*Socket, Disposition) {
	action, ck := l.backlog.Segment(now, local, remote, in.Header), Cookie{}
	c := &l.engine.out.Counters
	if action == ListenTakeCookie {
		var ok bool
		ck, ok = l.takeCookie(now, local, remote, in)
		action = l.backlog.TookCookie(now, ok, c)
	}
	l.backlog.Count(action, c)
	switch action {
	case ListenRefuse:
		l.engine.refuse(local, remote, in)
	case ListenOpen:
		return l.open(now, local, remote, in, l.engine.secret.ISN(now, local, remote)), Disposition{}
	case ListenOpenCookie:
		return l.openCookie(now, local, remote, in, ck)
	case ListenSendCookie:
		l.sendCookie(now, local, remote, in.Header)
	}
	return nil, Disposition{}
}

// open makes the connection of a SYN.
func (l *Listener) open(now wheel.Time, local, remote netip.AddrPort, in *Inbound, iss Seq) *Socket {
	s := l.engine.add(local, remote, l.cfg, iss)
	s.pending = l
	l.backlog.Open(s, now)
	s.conn.Accept(now, in, &l.engine.out)
	l.engine.apply(s)
	return s
}

// noteEvents updates the queues after events of a connection not yet accepted.
func (l *Listener) noteEvents(s *Socket, events Events) {
	_, halfOpen := l.backlog.Since(s)
	switch {
	case !halfOpen:
	case events.Has(EventConnected) && !l.closed:
		l.backlog.Enqueue(s)
	case events.Has(EventConnected):
		l.backlog.Leave(s)
	case events.Has(EventClosed):
		// RFC 9293 §3.10.7.4: a connection from LISTEN returns there.
		l.backlog.Leave(s)
		s.pending = nil
	}
}

// inputHalfOpen processes a segment for connection s, which is not accepted yet.
func (l *Listener) inputHalfOpen(now wheel.Time, s *Socket, in *Inbound) Disposition {
	e, ck, late := l.engine, Cookie{}, false
	if since, halfOpen := l.backlog.Since(s); halfOpen {
		if l.backlog.MayHoldLateCookie(now, &s.conn, in.Header) {
			ck, late = l.takeCookie(now, s.Local(), s.Remote(), in)
		}
		switch l.backlog.Handshake(now, &s.conn, since, l.deferAccept, late, in, &e.out) {
		case HandshakeDrop:
			return Disposition{}
		case HandshakeRestart:
			e.out.Counters.SyncookiesRecv++
			s.conn.Forget(&e.out)
			e.initConn(s, l.cfg, ck.ISS)
			return s.conn.AcceptCookie(now, in, ck, &e.out)
		}
	}
	return s.conn.Input(now, in, &e.out)
}
