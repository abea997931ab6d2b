package tcp

import (
	"net/netip"

	"tcpwheel/wheel"
)

// sendCookie answers a SYN with a SYN-ACK whose sequence number is all that is kept of it
// (RFC 4987 §3.6).
func (l *Listener) sendCookie(now wheel.Time, local, remote netip.AddrPort, syn *Header) {
	e := l.engine
	h := e.secret.CookieSYNAck(now, local, remote, syn, l.cfg, e.path(remote))
	e.out.Counters.SyncookiesSent++
	l.cookies, l.cookieAt = true, now
	e.send(local, remote, h)
}

// cookie takes an ACK that may be the answer to a SYN cookie. If it is good, ok is true, and s is
// the connection that it has made, nil if there was no room for it.
func (l *Listener) cookie(now wheel.Time, local, remote netip.AddrPort, in *Inbound) (s *Socket, v Disposition, ok bool) {
	// An ACK is looked at only while a cookie can be about: else whoever can guess one in 2^28
	// would need no SYN.
	if !l.cookies || now.Sub(l.cookieAt) > CookieMaxLifetime {
		return nil, Disposition{}, false
	}
	e := l.engine
	ck, ok := e.secret.TakeCookie(now, local, remote, in.Header, l.cfg)
	if !ok {
		e.out.Counters.SyncookiesFailed++
		return nil, Disposition{}, false
	}
	e.out.Counters.SyncookiesRecv++
	if l.full() {
		e.out.Counters.ListenOverflows++
		e.out.Counters.ListenDrops++
		return nil, Disposition{}, true
	}
	s = e.add(local, remote, l.cfg, ck.ISS)
	s.pending = &pendingAccept{listener: l, since: now}
	l.halfOpen++
	v = s.conn.AcceptCookie(now, in, ck, &e.out)
	e.apply(s)
	return s, v, true
}
