package netstack

import (
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// sendCookie answers a SYN with a SYN-ACK whose sequence number is all that is kept of it (RFC 4987 §3.6).
func (l *listener) sendCookie(id stack.TransportEndpointID, seg *segment, pkt *stack.PacketBuffer) {
	e, p := l.e, l.e.p
	r, err := p.stack.FindRoute(pkt.NICID, id.LocalAddress, id.RemoteAddress, pkt.NetworkProtocolNumber, false)
	if err != nil {
		return
	}
	local, remote := end(id.LocalAddress, id.LocalPort), end(id.RemoteAddress, id.RemotePort)
	c := Endpoint{route: r}
	path := c.path()
	r.Release()

	e.mu.Lock()
	cfg := p.config(e.opts, e.fixedRecv, e.opts.socket(&e.ops), e.recvBuffer())
	tos := e.opts.tos
	e.mu.Unlock()
	h := p.secret.CookieSYNAck(seg.at, local, remote, &seg.header, cfg, path)
	l.mu.Lock()
	l.cookies, l.cookieAt = true, seg.at
	l.mu.Unlock()
	p.stats.ListenOverflowSynCookieSent.Increment()
	if p.answer(pkt, id, h, tos) {
		e.stats.segmentSent()
	} else {
		e.stats.more().SendErrors.SegmentSendToNetworkFailed.Increment()
		e.stats.more().SendErrors.SynSendToNetworkFailed.Increment()
	}
}

// takeCookie takes an ACK that may be the answer to a SYN cookie, or behind one that was lost, and reports whether it is.
func (l *listener) takeCookie(id stack.TransportEndpointID, seg *segment, pkt *stack.PacketBuffer) bool {
	p := l.e.p
	l.e.mu.Lock()
	cfg := p.config(l.e.opts, l.e.fixedRecv, l.e.opts.socket(&l.e.ops), l.e.recvBuffer())
	l.e.mu.Unlock()
	ck, full := l.cookie(id, seg, cfg)
	if ck == nil {
		p.dropped()
		p.stats.ListenOverflowInvalidSynCookieRcvd.Increment()
		return l.hasLost(seg.at)
	}
	if full {
		l.lose(seg.at)
		p.dropped()
		p.stats.ListenOverflowAckDrop.Increment()
		l.e.stats.more().ReceiveErrors.ListenOverflowAckDrop.Increment()
		return true
	}
	p.stats.ListenOverflowSynCookieRcvd.Increment()
	c := l.open(id, seg, pkt, ck)
	if c == nil {
		return true
	}
	if seg.len > 0 {
		seg.pkt = pkt.IncRef()
	}
	c.deliver(seg)
	return true
}

// lose notes that the answer to a cookie has found the queue full. Its peer has an established connection, and sends it again if octets were
// with it; but what comes behind it has no cookie, and would be answered by a RST.
func (l *listener) lose(now wheel.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost, l.lostAt = true, now
}

// hasLost reports whether an ACK that nobody waits for may be behind the answer to a cookie that was lost.
//
// DEVIATION RFC 9293 §3.10.7.2 and §3.10.7.4, should: such an ACK is dropped, where gVisor and Linux reset a connection that the peer
// takes to be established.
func (l *listener) hasLost(now wheel.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost && now.Sub(l.lostAt) <= tcp.CookieMaxLifetime
}

// cookie returns what the cookie that a segment acknowledges has told, nil if it is none, and whether the queue for Accept is full. cfg is
// what the SYN-ACK was made by.
func (l *listener) cookie(id stack.TransportEndpointID, seg *segment, cfg *tcp.Config) (ck *tcp.Cookie, full bool) {
	l.mu.Lock()
	// An ACK is looked at only while a cookie can be about: else whoever can guess one in 2^28 would need no SYN.
	possible := l.cookies && seg.at.Sub(l.cookieAt) <= tcp.CookieMaxLifetime
	full = l.full()
	l.mu.Unlock()
	if !possible {
		return nil, full
	}
	local, remote := end(id.LocalAddress, id.LocalPort), end(id.RemoteAddress, id.RemotePort)
	taken, ok := l.e.p.secret.TakeCookie(seg.at, local, remote, &seg.header, cfg)
	if !ok {
		return nil, full
	}
	return &taken, full
}

// lateCookie returns what a cookie has told that a segment to a half-open connection, whose lock is held, acknowledges, nil if it is none:
// the peer's SYN was answered by a cookie, and came once more when there was room.
func (l *listener) lateCookie(c *Endpoint, seg *segment) *tcp.Cookie {
	if c.conn.State() != tcp.StateSynReceived || c.conn.Opens(seg.header.Ack) {
		return nil
	}
	ck, _ := l.cookie(c.info.ID, seg, c.conn.Config())
	return ck
}

// reopen has a half-open connection be the one that a cookie was sent for.
func (e *Endpoint) reopen(ck *tcp.Cookie, o *tcp.Output) {
	e.conn.Forget(o)
	e.cookie, e.opening = ck, openCookie
	e.initConn(ck.ISS, 0)
}
