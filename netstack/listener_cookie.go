package netstack

import (
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/tcp"
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
	ip := stack.NetworkHeaderParams{ExperimentOptionValue: e.experiment(r)}
	path := (&outLink{route: r}).path(ip.ExperimentOptionValue)
	r.Release()

	e.mu.Lock()
	cfg := p.config(e.opts, e.recvBufferFixed, e.socketOptions(), recvBufferOf(&e.ops))
	ip.TOS = e.opts.tos
	e.mu.Unlock()
	h := p.secret.CookieSYNAck(seg.arrived, local, remote, &seg.header, cfg, path)
	l.mu.Lock()
	l.backlog.SentCookie(seg.arrived)
	l.mu.Unlock()
	p.stats.ListenOverflowSynCookieSent.Increment()
	if p.reply(pkt.NICID, pkt.NetworkProtocolNumber, id, h, ip) {
		e.stats.segmentSent()
	} else {
		e.stats.more().SendErrors.SegmentSendToNetworkFailed.Increment()
		e.stats.more().SendErrors.SynSendToNetworkFailed.Increment()
	}
}

// takeCookie checks an ACK that may return a SYN cookie, and decides about it.
func (l *listener) takeCookie(id stack.TransportEndpointID, seg *segment) (taken *tcp.Cookie, action tcp.ListenAction) {
	p := l.e.p
	l.e.mu.Lock()
	cfg := p.config(l.e.opts, l.e.recvBufferFixed, l.e.socketOptions(), recvBufferOf(&l.e.ops))
	l.e.mu.Unlock()
	local, remote := addrPort(id.LocalAddress, id.LocalPort), addrPort(id.RemoteAddress, id.RemotePort)
	ck, ok := p.secret.TakeCookie(seg.arrived, local, remote, &seg.header, cfg)
	l.mu.Lock()
	defer l.mu.Unlock()
	p.count(func(c *tcp.Counters) { action = l.backlog.TookCookie(seg.arrived, ok, c) })
	return &ck, action
}

// countBadCookie counts an ACK in LISTEN that returns no cookie.
func (l *listener) countBadCookie() {
	l.e.p.countDropped()
	l.e.p.stats.ListenOverflowInvalidSynCookieRcvd.Increment()
}
