package tcp

import (
	"net/netip"

	"tcpwheel/wheel"
)

// sendCookie answers a SYN with a SYN cookie and keeps no state (RFC 4987 §3.6).
func (l *Listener) sendCookie(now wheel.Time, local, remote netip.AddrPort, syn *Header) {
	e := l.engine
	h := e.secret.CookieSYNAck(now, local, remote, syn, l.cfg, e.path(remote))
	l.backlog.SentCookie(now)
	e.send(local, remote, h)
}

// takeCookie decodes an ACK that may return a SYN cookie. ok reports whether the cookie is valid.
func (l *Listener) takeCookie(now wheel.Time, local, remote netip.AddrPort, in *Inbound) (ck Cookie, ok bool) {
	return l.engine.secret.TakeCookie(now, local, remote, in.Header, l.cfg)
}

// openCookie makes the connection of a cookie.
func (l *Listener) openCookie(now wheel.Time, local, remote netip.AddrPort, in *Inbound, ck Cookie) (*Socket, Disposition) {
	e := l.engine
	s := e.add(local, remote, l.cfg, ck.ISS)
	s.pending = l
	l.backlog.Open(s, now)
	v := s.conn.AcceptCookie(now, in, ck, &e.out)
	e.apply(s)
	return s, v
}
