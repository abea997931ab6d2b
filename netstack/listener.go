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

// listener is what an endpoint in LISTEN has of connections that nobody has accepted yet.
type listener struct {
	e *Endpoint

	mu       sync.Mutex // taken behind an endpoint's lock
	backlog  int
	halfOpen map[*Endpoint]pending // connections in SYN-RECEIVED
	opened   uint64                // connections that were half-open, ever
	queue    []*Endpoint           // those that Accept will return
	shut     bool                  // Shutdown: what comes is refused
	closed   bool
	cookies  bool // one was sent
	cookieAt wheel.Time
	lost     bool // the answer to one, as the queue was full
	lostAt   wheel.Time
}

// pending is what a listener knows of a half-open connection.
type pending struct {
	since wheel.Time // when the SYN came
	nth   uint64     // of all, from 1 on: they are reset in that order
}

// again is Listen on a listener: the backlog changes, and a shutdown is over.
func (l *listener) again(backlog int) tcpip.Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) > backlog {
		return &tcpip.ErrInvalidEndpointState{}
	}
	l.backlog, l.shut = backlog, false
	return nil
}

// ready reports whether Accept has a connection to return.
func (l *listener) ready() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue) > 0
}

func (l *listener) full() bool { return len(l.queue) >= l.backlog }

// listenInput takes a segment to an end where there is no connection: that of LISTEN.
func (e *Endpoint) listenInput(l *listener, id stack.TransportEndpointID, seg *segment, pkt *stack.PacketBuffer) {
	h := &seg.header
	l.mu.Lock()
	shut := l.shut || l.closed
	l.mu.Unlock()
	switch {
	case h.Flags.Has(tcp.RST):
		// RFC 9293 §3.10.7.2: "An incoming RST should be ignored. Return."
		e.p.dropped()
	case shut:
		e.p.refuse(id, seg, pkt)
	case h.Flags.Has(tcp.ACK):
		// RFC 9293 §3.10.7.2: "Any acknowledgment is bad if it arrives on a connection still in the LISTEN state." A SYN cookie is
		// the exception.
		if h.Flags.Has(tcp.SYN) || !l.takeCookie(id, seg, pkt) {
			e.p.refuse(id, seg, pkt)
		}
	case h.Flags.Has(tcp.SYN):
		l.syn(id, seg, pkt)
	default:
		e.p.dropped()
	}
}

// syn takes a SYN for a new connection.
func (l *listener) syn(id stack.TransportEndpointID, seg *segment, pkt *stack.PacketBuffer) {
	p := l.e.p
	always := p.options().alwaysCookies
	l.mu.Lock()
	// As in gVisor, whose backlog is Linux's and one more: no more than that are half-open.
	full, many := l.full(), len(l.halfOpen) >= l.backlog-1
	l.mu.Unlock()
	switch {
	case full || id.RemotePort == 0 || id.LocalAddress == id.RemoteAddress && id.LocalPort == id.RemotePort:
		p.dropped()
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

// open makes the connection that a segment begins, nil if there cannot be one: a SYN, or the answer to a cookie.
func (l *listener) open(id stack.TransportEndpointID, seg *segment, pkt *stack.PacketBuffer, ck *tcp.Cookie) *Endpoint {
	e, err := l.e.p.openPassive(new(waiter.Queue), id, seg, pkt, func(e *Endpoint) {
		l.e.mu.Lock()
		e.inherit(l.e)
		e.bound.flags, e.bound.device = l.e.bound.flags, l.e.bound.device
		l.e.mu.Unlock()
		// The port stays taken when the listener is closed.
		e.bound.toPeer, e.bound.tuple = true, true
		e.parent, e.cookie = l, ck
		if ck != nil {
			e.opening = openCookie
		}
	})
	if err != nil {
		l.e.p.failedOpen(l.e)
		return nil
	}
	e.mu.Lock()
	l.mu.Lock()
	gone := l.closed || l.shut
	if !gone && !e.queued && e.phase == phaseConn {
		l.opened++
		l.halfOpen[e] = pending{seg.at, l.opened}
	}
	l.mu.Unlock()
	e.mu.Unlock()
	if gone {
		e.Abort()
		return nil
	}
	return e
}

// openPassive makes and registers the endpoint of the connection that a segment begins, which is then to be delivered to it. prepare sets
// what the endpoint has of its own.
func (p *protocol) openPassive(wq *waiter.Queue, id stack.TransportEndpointID, seg *segment, pkt *stack.PacketBuffer, prepare func(*Endpoint)) (*Endpoint, tcpip.Error) {
	net := pkt.NetworkProtocolNumber
	r, err := p.stack.FindRoute(pkt.NICID, id.LocalAddress, id.RemoteAddress, net, false)
	if err != nil {
		return nil, err
	}
	e := p.newEndpoint(net, wq)
	e.bound = binding{nets: network(net), nic: pkt.NICID, registered: true}
	e.opening = openSYN
	prepare(e)
	e.info.ID, e.info.RegisterNICID = id, pkt.NICID
	e.setRoute(r)
	var iss tcp.Seq
	if e.cookie != nil {
		iss = e.cookie.ISS
	}
	e.initConn(iss, seg.leastISS)
	e.phase = phaseConn
	if e.bound.tuple {
		if e.bound.reserved = p.stack.ReserveTuple(e.bound.reservation(&id)); !e.bound.reserved {
			p.stats.FailedPortReservations.Increment()
			r.Release()
			return nil, &tcpip.ErrConnectionAborted{}
		}
	}
	b := e.bound
	if err := p.stack.RegisterTransportEndpoint(b.nets.list(), ProtocolNumber, id, e, b.flags, b.device); err != nil {
		b.registered = false
		e.giveUp(b, id)
		r.Release()
		return nil, err
	}
	return e, nil
}

// follow notes what has become of a connection that nobody has accepted. queue tells that its handshake is over, ended that it is no
// longer there.
func (l *listener) follow(c *Endpoint, queue, ended bool) {
	l.mu.Lock()
	gone := l.closed || l.shut
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

// holds reports whether a segment to a half-open connection is dropped because the listener does not want it established yet. If the
// segment acknowledges a cookie, and there is room, it has the connection be the one that the cookie was sent for.
func (l *listener) holds(c *Endpoint, s *segment, now wheel.Time, o *tcp.Output) bool {
	if s.header.Flags&(tcp.SYN|tcp.RST|tcp.ACK) != tcp.ACK {
		return false
	}
	late := l.lateCookie(c, s)
	if late == nil && !c.conn.Opens(s.header.Ack) {
		return c.conn.State() == tcp.StateSynReceived && l.hasLost(now) // it would not establish it
	}
	l.mu.Lock()
	full, since := l.full(), l.halfOpen[c].since
	l.mu.Unlock()
	wait := c.opts.deferAccept
	switch {
	case full:
		// Our SYN-ACK is sent again, until there is room or the handshake has taken too long.
		o.Counters.ListenOverflows++
		o.Counters.ListenDrops++
		c.p.dropped()
		if late != nil {
			l.lose(now)
		}
		return true
	case late != nil:
		c.reopen(late, o)
	case wait > 0 && s.len == 0 && !s.header.Flags.Has(tcp.FIN) && now.Sub(since) < wait:
		// The peer is there. The SYN-ACK is sent again only when the wait is over, to draw another ACK.
		o.Counters.TCPDeferAcceptDrop++
		c.p.dropped()
		c.conn.DeferOpen(now, since, wait, o)
		return true
	}
	return false
}

// close ends the listener.
func (l *listener) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.reset()
}

// reset aborts what nobody has accepted: the connections in the queue, and then the half-open ones in the order of their SYNs.
func (l *listener) reset() {
	l.mu.Lock()
	half := slices.SortedFunc(maps.Keys(l.halfOpen), func(a, b *Endpoint) int {
		return cmp.Compare(l.halfOpen[a].nth, l.halfOpen[b].nth)
	})
	all := append(l.queue, half...)
	l.queue = nil
	l.mu.Unlock()
	for _, c := range all {
		c.Abort()
	}
}
