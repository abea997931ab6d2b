package tcp

import (
	"net/netip"

	"tcpwheel/wheel"
)

// sendCookie answers a SYN with a SYN cookie and keeps no state (RFC 4987 §3.6).
func (l *Listener) sendCookie(now wheel.Time, local, remote netip.AddrPort, syn *Header) {
	e := l.engine
	h := e.secret.CookieSYNAck(now, local, remote, syn, l.cfg, e.path(remote))
	e.out.Counters.SyncookiesSent++
	l.cookies, l.cookieAt = true, now
	e.send(local, remote, h)
}

// cookie processes an ACK that may return a SYN cookie. ok reports whether the cookie is valid. s
// is the new connection, nil if the accept queue is full.
func (l *Listener) cookie(now wheel.Time, local, remote netip.AddrPort, in *Inbound) (s *Socket, v Disposition, ok bool) {
	// Check ACKs only while a cookie can be outstanding: one guess in 2^28 needs no SYN.
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
