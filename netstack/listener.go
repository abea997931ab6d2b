package netstack

import (
	"sync"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/waiter"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// listener is the part of a listening endpoint that holds connections before Accept.
type listener struct {
	e *Endpoint

	mu       sync.Mutex // taken after an endpoint's lock
	backlog  tcp.ListenQueue[*Endpoint]
	shutDown bool // by Shutdown: SYNs are refused
	closed   bool
}

// relisten is Listen on a listener: it changes the backlog and ends a shutdown.
func (l *listener) relisten(backlog int) tcpip.Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.backlog.Queued > backlog {
		return &tcpip.ErrInvalidEndpointState{}
	}
	l.shutDown = false
	l.setBacklog(backlog)
	return nil
}

// setBacklog sets the bounds. As in gVisor, a backlog is that of listen(2) plus one.
func (l *listener) setBacklog(n int) { l.backlog.SetBounds(n-1, l.e.p.maxSynRcvd) }

// ready reports whether Accept has a connection to return.
func (l *listener) ready() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.backlog.Queued > 0
}

// hasRoom reports whether the accept queue has room.
func (l *listener) hasRoom() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.backlog.Full()
}

// input processes a segment in LISTEN.
func (l *listener) input(id stack.TransportEndpointID, seg *segment, pkt *stack.PacketBuffer) {
	local, remote := addrPort(id.LocalAddress, id.LocalPort), addrPort(id.RemoteAddress, id.RemotePort)
	cookies := l.e.p.synCookies
	if l.e.p.options().alwaysCookies {
		cookies = tcp.CookiesAlways
	}
	l.mu.Lock()
	l.backlog.Cookies = cookies
	action := l.backlog.Segment(seg.arrived, local, remote, &seg.header)
	shut := (l.shutDown || l.closed) && action != tcp.ListenIgnore
	l.mu.Unlock()
	if shut {
		l.e.p.resetStray(pkt.NICID, pkt.NetworkProtocolNumber, id, seg)
		return
	}
	var ck *tcp.Cookie
	if action == tcp.ListenTakeCookie {
		ck, action = l.takeCookie(id, seg)
	}
	p := l.e.p
	l.mu.Lock()
	p.count(func(c *tcp.Counters) {
		l.backlog.Count(action, c)
		if action != tcp.ListenOpen && action != tcp.ListenOpenCookie {
			c.InSegs++ // a new connection counts its own
		}
	})
	l.mu.Unlock()
	switch action {
	case tcp.ListenRefuse:
		if seg.header.Flags&(tcp.SYN|tcp.ACK) == tcp.ACK {
			l.countBadCookie()
		}
		p.resetStray(pkt.NICID, pkt.NetworkProtocolNumber, id, seg)
	case tcp.ListenDropBehindCookie:
		l.countBadCookie()
	case tcp.ListenIgnore:
		p.countDropped()
	case tcp.ListenSendCookie:
		l.sendCookie(id, seg, pkt)
	case tcp.ListenOpen, tcp.ListenOpenCookie:
		l.openAndDeliver(id, seg, pkt, ck)
	case tcp.ListenDropCookie:
		p.countDropped()
		p.stats.ListenOverflowAckDrop.Increment()
		l.e.stats.more().ReceiveErrors.ListenOverflowAckDrop.Increment()
	default: // a SYN that is dropped
		p.countDropped()
		p.stats.ListenOverflowSynDrop.Increment()
		l.e.stats.more().ReceiveErrors.ListenOverflowSynDrop.Increment()
	}
}

// openAndDeliver makes a connection from its first segment, and delivers the segment to it.
func (l *listener) openAndDeliver(id stack.TransportEndpointID, seg *segment, pkt *stack.PacketBuffer, ck *tcp.Cookie) {
	if ck != nil {
		l.e.p.stats.ListenOverflowSynCookieRcvd.Increment()
	}
	c := l.open(id, seg, pkt, ck)
	if c == nil {
		return
	}
	if ck != nil && seg.len > 0 {
		seg.pkt = pkt.IncRef()
	}
	c.deliver(seg)
}

// open makes a connection from its first segment: a SYN, or the ACK of cookie ck. It returns nil on
// failure.
func (l *listener) open(id stack.TransportEndpointID, seg *segment, pkt *stack.PacketBuffer, ck *tcp.Cookie) *Endpoint {
	e, err := l.e.p.openPassive(new(waiter.Queue), id, seg, pkt, func(e *Endpoint) {
		l.e.mu.Lock()
		l.bequeath(e)
		e.reg.flags, e.reg.device = l.e.reg.flags, l.e.reg.device
		l.e.mu.Unlock()
		// The port stays reserved when the listener closes.
		e.reg.peerOnly, e.reg.sharesPort = true, true
		e.parent, e.cookie = l, ck
		if ck != nil {
			e.opening = openingCookie
		}
	})
	if err != nil {
		l.e.p.countFailedOpen(l.e)
		return nil
	}
	e.mu.Lock()
	l.mu.Lock()
	gone := l.closed || l.shutDown
	if !gone && !e.inAcceptQueue && e.phase == phaseConn {
		l.backlog.Open(e, seg.arrived)
	}
	l.mu.Unlock()
	e.mu.Unlock()
	if gone {
		e.Abort()
		return nil
	}
	return e
}

// openPassive makes and registers the endpoint of a connection from its first segment. The caller
// then delivers the segment to it. prepare sets the endpoint's own options.
func (p *protocol) openPassive(wq *waiter.Queue, id stack.TransportEndpointID, seg *segment, pkt *stack.PacketBuffer, prepare func(*Endpoint)) (*Endpoint, tcpip.Error) {
	net := pkt.NetworkProtocolNumber
	r, err := p.stack.FindRoute(pkt.NICID, id.LocalAddress, id.RemoteAddress, net, false)
	if err != nil {
		return nil, err
	}
	e := p.newEndpoint(net, wq)
	e.reg = registration{nets: network(net), nic: pkt.NICID, registered: true}
	e.opening, e.connectReported = openingSYN, true
	prepare(e)
	e.info.ID, e.info.RegisterNICID = id, pkt.NICID
	e.setRoute(r, e.experiment(r))
	var iss tcp.Seq
	if e.cookie != nil {
		iss = e.cookie.ISS
	}
	e.initConn(iss, seg.leastISS)
	e.phase = phaseConn
	if e.reg.sharesPort {
		if e.reg.portReserved = p.stack.ReserveTuple(e.reg.reservation(&id)); !e.reg.portReserved {
			p.stats.FailedPortReservations.Increment()
			r.Release()
			return nil, &tcpip.ErrConnectionAborted{}
		}
	}
	b := e.reg
	if err := p.stack.RegisterTransportEndpoint(b.nets.list(), ProtocolNumber, id, e, b.flags, b.device); err != nil {
		b.registered = false
		b.end(e, id)
		r.Release()
		return nil, err
	}
	return e, nil
}

// childChanged records that a connection enters the accept queue, or has ended before Accept.
func (l *listener) childChanged(c *Endpoint, queue, ended bool) {
	l.mu.Lock()
	gone := l.closed || l.shutDown
	switch {
	case queue && !gone:
		l.backlog.Enqueue(c)
	case queue || ended:
		l.backlog.Leave(c)
	}
	l.mu.Unlock()
	if queue {
		l.e.p.stats.PassiveConnectionOpenings.Increment()
	}
	switch {
	case queue && gone:
		c.Abort()
	case queue:
		l.e.wq.Notify(waiter.ReadableEvents)
	}
}

// handshake decides about a segment for half-open connection c. It reports whether to drop it. If
// the segment returns a late cookie, the connection restarts from the cookie. The caller holds c's
// lock.
func (l *listener) handshake(c *Endpoint, seg *segment, now wheel.Time, o *tcp.Output) (drop bool) {
	in := seg.inbound()
	l.mu.Lock()
	maybe := l.backlog.MayHoldLateCookie(now, &c.conn, &seg.header)
	since, _ := l.backlog.Since(c)
	l.mu.Unlock()
	var ck tcp.Cookie
	late := false
	if maybe {
		id := &c.info.ID
		local, remote := addrPort(id.LocalAddress, id.LocalPort), addrPort(id.RemoteAddress, id.RemotePort)
		ck, late = c.p.secret.TakeCookie(now, local, remote, &seg.header, c.conn.Config())
	}
	l.mu.Lock()
	action := l.backlog.Handshake(now, &c.conn, since, c.opts.deferAccept, late, &in, o)
	l.mu.Unlock()
	switch action {
	case tcp.HandshakeDrop:
		c.p.countDropped()
		return true
	case tcp.HandshakeRestart:
		c.conn.Forget(o)
		c.cookie, c.opening = &ck, openingCookie
		c.initConn(ck.ISS, 0)
	}
	return false
}

// close closes the listener.
func (l *listener) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.abortAll()
}

// abortAll resets all connections before Accept: first the accept queue, then the half-open ones in
// the order of their SYNs.
func (l *listener) abortAll() {
	l.mu.Lock()
	all := l.backlog.Drain()
	l.mu.Unlock()
	for _, c := range all {
		c.Abort()
	}
}

// shutdown ends listening if flags include reading: it resets the waiting connections and
// refuses new ones. The caller holds the lock.
func (l *listener) shutdown(flags tcpip.ShutdownFlags) tcpip.Error {
	l.e.mu.Unlock()
	if flags&tcpip.ShutdownRead == 0 {
		return nil
	}
	l.mu.Lock()
	l.shutDown = true
	l.mu.Unlock()
	l.abortAll()
	l.e.wq.Notify(hungUp)
	return nil
}

// bequeath copies the options of the listener to e. The caller holds the lock of the listener.
func (l *listener) bequeath(e *Endpoint) {
	e.opts = l.e.opts
	e.ops.SetV6Only(l.e.ops.GetV6Only())
	e.ops.SetDelayOption(l.e.ops.GetDelayOption())
	e.ops.SetCorkOption(l.e.ops.GetCorkOption())
	e.ops.SetKeepAlive(l.e.ops.GetKeepAlive())
	e.ops.SetLinger(l.e.ops.GetLinger())
	e.ops.SetMark(l.e.ops.GetMark())
	e.ops.SetExperimentOptionValue(l.e.ops.GetExperimentOptionValue())
	e.ops.SetSendBufferSize(l.e.ops.GetSendBufferSize(), false)
	e.ops.SetReceiveBufferSize(l.e.ops.GetReceiveBufferSize(), false)
	e.recvBufferFixed, e.sendBufferFixed = l.e.recvBufferFixed, l.e.sendBufferFixed
	e.info.bindAddr = l.e.info.bindAddr
	if own := e.opts.socketConfig; own != nil {
		// The wheels exist since the listener was configured.
		e.shard, _ = e.p.shardFor(&own.Policy)
	}
}
