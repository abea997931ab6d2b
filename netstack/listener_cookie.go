package netstack

import (
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// sendCookie answers a SYN with a SYN cookie: a SYN-ACK whose sequence number is all the state that
// is kept (RFC 4987 §3.6).
func (l *listener) sendCookie(id stack.TransportEndpointID, seg *segment, pkt *stack.PacketBuffer) {
	e, p := l.e, l.e.p
	r, err := p.stack.FindRoute(pkt.NICID, id.LocalAddress, id.RemoteAddress, pkt.NetworkProtocolNumber, false)
	if err != nil {
		return
	}
	local, remote := addrPort(id.LocalAddress, id.LocalPort), addrPort(id.RemoteAddress, id.RemotePort)
	c := Endpoint{route: r}
	path := c.path()
	r.Release()

	e.mu.Lock()
	cfg := p.config(e.opts, e.recvBufferFixed, e.opts.socket(&e.ops), e.recvBuffer())
	tos := e.opts.tos
	e.mu.Unlock()
	h := p.secret.CookieSYNAck(seg.arrived, local, remote, &seg.header, cfg, path)
	l.mu.Lock()
	l.cookieSent, l.cookieSentAt = true, seg.arrived
	l.mu.Unlock()
	p.stats.ListenOverflowSynCookieSent.Increment()
	if p.reply(pkt, id, h, tos) {
		e.stats.segmentSent()
	} else {
		e.stats.more().SendErrors.SegmentSendToNetworkFailed.Increment()
		e.stats.more().SendErrors.SynSendToNetworkFailed.Increment()
	}
}

// takeCookie processes an ACK that may be for a SYN cookie, or may follow a lost one. It reports
// whether it is.
func (l *listener) takeCookie(id stack.TransportEndpointID, seg *segment, pkt *stack.PacketBuffer) bool {
	p := l.e.p
	l.e.mu.Lock()
	cfg := p.config(l.e.opts, l.e.recvBufferFixed, l.e.opts.socket(&l.e.ops), l.e.recvBuffer())
	l.e.mu.Unlock()
	ck, full := l.cookie(id, seg, cfg)
	if ck == nil {
		p.countDropped()
		p.stats.ListenOverflowInvalidSynCookieRcvd.Increment()
		return l.mayFollowLostCookieACK(seg.arrived)
	}
	if full {
		l.noteLostCookieACK(seg.arrived)
		p.countDropped()
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

// noteLostCookieACK records that the ACK of a cookie met a full queue. The peer's connection is
// established. The peer retransmits the ACK if it carried data, but later segments have no cookie
// and would draw a RST.
func (l *listener) noteLostCookieACK(now wheel.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cookieACKLost, l.cookieACKLostAt = true, now
}

// mayFollowLostCookieACK reports whether an ACK of no connection may follow the lost ACK of a
// cookie.
//
// DEVIATION RFC 9293 §3.10.7.2 and §3.10.7.4, should: such an ACK is dropped. gVisor and Linux
// reset a connection that the peer takes to be established.
func (l *listener) mayFollowLostCookieACK(now wheel.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cookieACKLost && now.Sub(l.cookieACKLostAt) <= tcp.CookieMaxLifetime
}

// cookie returns the cookie that a segment acknowledges, or nil, and whether the accept queue is
// full. cfg is the configuration that made the SYN-ACK.
func (l *listener) cookie(id stack.TransportEndpointID, seg *segment, cfg *tcp.Config) (ck *tcp.Cookie, full bool) {
	l.mu.Lock()
	// ACKs are checked only while a cookie can be valid. Otherwise an attacker who guesses one in 2^28
	// needs no SYN.
	possible := l.cookieSent && seg.arrived.Sub(l.cookieSentAt) <= tcp.CookieMaxLifetime
	full = l.queueFull()
	l.mu.Unlock()
	if !possible {
		return nil, full
	}
	local, remote := addrPort(id.LocalAddress, id.LocalPort), addrPort(id.RemoteAddress, id.RemotePort)
	taken, ok := l.e.p.secret.TakeCookie(seg.arrived, local, remote, &seg.header, cfg)
	if !ok {
		return nil, full
	}
	return &taken, full
}

// lateCookie returns the cookie that a segment to half-open connection c acknowledges, or nil. The
// peer's SYN was answered by a cookie, and its retransmission by a connection. The caller holds c's
// lock.
func (l *listener) lateCookie(c *Endpoint, seg *segment) *tcp.Cookie {
	if c.conn.State() != tcp.StateSynReceived || c.conn.Opens(seg.header.Ack) {
		return nil
	}
	ck, _ := l.cookie(c.info.ID, seg, c.conn.Config())
	return ck
}

// restartFromCookie restarts a half-open connection as the one that the cookie was sent for.
func (e *Endpoint) restartFromCookie(ck *tcp.Cookie, o *tcp.Output) {
	e.conn.Forget(o)
	e.cookie, e.opening = ck, openingCookie
	e.initConn(ck.ISS, 0)
}
