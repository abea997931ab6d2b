package netstack

import (
	"cmp"
	"maps"
	"slices"
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

	mu              sync.Mutex // taken after an endpoint's lock
	backlog         int
	halfOpen        map[*Endpoint]halfOpenEntry // connections in SYN-RECEIVED
	halfOpenTotal   uint64                      // connections that were ever in halfOpen
	queue           []*Endpoint                 // connections that Accept will return
	shutDown        bool                        // by Shutdown: SYNs are refused
	closed          bool
	cookieSent      bool // a SYN cookie was sent
	cookieSentAt    wheel.Time
	cookieACKLost   bool // the ACK of a cookie was dropped as the queue was full
	cookieACKLostAt wheel.Time
}

// halfOpenEntry is what a listener knows of a half-open connection.
type halfOpenEntry struct {
	since wheel.Time // arrival of the SYN
	order uint64     // 1 for the first SYN; connections are reset in this order
}

// relisten is Listen on a listener: it changes the backlog and ends a shutdown.
func (l *listener) relisten(backlog int) tcpip.Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) > backlog {
		return &tcpip.ErrInvalidEndpointState{}
	}
	l.backlog, l.shutDown = backlog, false
	return nil
}

// ready reports whether Accept has a connection to return.
func (l *listener) ready() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue) > 0
}

func (l *listener) queueFull() bool { return len(l.queue) >= l.backlog }

// listenInput processes a segment in LISTEN.
func (e *Endpoint) listenInput(l *listener, id stack.TransportEndpointID, seg *segment, pkt *stack.PacketBuffer) {
	h := &seg.header
	l.mu.Lock()
	shut := l.shutDown || l.closed
	l.mu.Unlock()
	switch {
	case h.Flags.Has(tcp.RST):
		// RFC 9293 §3.10.7.2: "An incoming RST should be ignored. Return."
		e.p.countDropped()
	case shut:
		e.p.resetStray(id, seg, pkt)
	case h.Flags.Has(tcp.ACK):
		// RFC 9293 §3.10.7.2: "Any acknowledgment is bad if it arrives on a connection still in the
		// LISTEN state." The exception is the ACK of a SYN cookie.
		if h.Flags.Has(tcp.SYN) || !l.takeCookie(id, seg, pkt) {
			e.p.resetStray(id, seg, pkt)
		}
	case h.Flags.Has(tcp.SYN):
		l.syn(id, seg, pkt)
	default:
		e.p.countDropped()
	}
}

// syn processes a SYN for a new connection.
func (l *listener) syn(id stack.TransportEndpointID, seg *segment, pkt *stack.PacketBuffer) {
	p := l.e.p
	always := p.options().alwaysCookies
	l.mu.Lock()
	// As in gVisor, the backlog is Linux's plus one, and limits the half-open connections.
	full, many := l.queueFull(), len(l.halfOpen) >= l.backlog-1
	l.mu.Unlock()
	switch {
	case full || id.RemotePort == 0 || id.LocalAddress == id.RemoteAddress && id.LocalPort == id.RemotePort:
		p.countDropped()
		p.stats.ListenOverflowSynDrop.Increment()
		l.e.stats.more().ReceiveErrors.ListenOverflowSynDrop.Increment()
	case always || many:
		l.sendCookie(id, seg, pkt)
	default:
		if c := l.open(id, seg, pkt, nil); c != nil {
			c.deliver(seg)
		}
	}
}

// open makes a connection from its first segment: a SYN, or the ACK of cookie ck. It returns nil on
// failure.
func (l *listener) open(id stack.TransportEndpointID, seg *segment, pkt *stack.PacketBuffer, ck *tcp.Cookie) *Endpoint {
	e, err := l.e.p.openPassive(new(waiter.Queue), id, seg, pkt, func(e *Endpoint) {
		l.e.mu.Lock()
		e.inherit(l.e)
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
		l.halfOpenTotal++
		l.halfOpen[e] = halfOpenEntry{seg.arrived, l.halfOpenTotal}
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
	e.opening = openingSYN
	prepare(e)
	e.info.ID, e.info.RegisterNICID = id, pkt.NICID
	e.setRoute(r)
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
		e.unregister(b, id)
		r.Release()
		return nil, err
	}
	return e, nil
}

// childChanged records that a connection enters the accept queue, or has ended before Accept.
func (l *listener) childChanged(c *Endpoint, queue, ended bool) {
	l.mu.Lock()
	gone := l.closed || l.shutDown
	if queue || ended {
		delete(l.halfOpen, c)
	}
	if queue && !gone {
		l.queue = append(l.queue, c)
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

// dropsACK reports whether to drop an ACK for a half-open connection: the listener does not want
// the connection established yet. If the ACK is for a cookie, and there is room, dropsACK restarts
// the connection from the cookie.
func (l *listener) dropsACK(c *Endpoint, s *segment, now wheel.Time, o *tcp.Output) bool {
	if s.header.Flags&(tcp.SYN|tcp.RST|tcp.ACK) != tcp.ACK {
		return false
	}
	late := l.lateCookie(c, s)
	if late == nil && !c.conn.Opens(s.header.Ack) {
		// It would not establish the connection.
		return c.conn.State() == tcp.StateSynReceived && l.mayFollowLostCookieACK(now)
	}
	l.mu.Lock()
	full, since := l.queueFull(), l.halfOpen[c].since
	l.mu.Unlock()
	wait := c.opts.deferAccept
	switch {
	case full:
		// The SYN-ACK is retransmitted until there is room or the handshake times out.
		o.Counters.ListenOverflows++
		o.Counters.ListenDrops++
		c.p.countDropped()
		if late != nil {
			l.noteLostCookieACK(now)
		}
		return true
	case late != nil:
		c.restartFromCookie(late, o)
	case wait > 0 && s.len == 0 && !s.header.Flags.Has(tcp.FIN) && now.Sub(since) < wait:
		// The peer is there. The SYN-ACK is retransmitted only after the wait, to draw another ACK.
		o.Counters.TCPDeferAcceptDrop++
		c.p.countDropped()
		c.conn.DeferOpen(now, since, wait, o)
		return true
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
	half := slices.SortedFunc(maps.Keys(l.halfOpen), func(a, b *Endpoint) int {
		return cmp.Compare(l.halfOpen[a].order, l.halfOpen[b].order)
	})
	all := append(l.queue, half...)
	l.queue = nil
	l.mu.Unlock()
	for _, c := range all {
		c.Abort()
	}
}
