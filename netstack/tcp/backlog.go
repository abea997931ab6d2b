package tcp

import (
	"net/netip"
	"time"

	"tcpwheel/wheel"
)

// Backlog decides what a listener does with segments. It holds the listener's bounds and counts;
// the connections are in a ListenQueue. The host carries the decisions out.
type Backlog struct {
	Max         int        // established connections that wait for Accept
	MaxHalfOpen int        // connections in SYN-RECEIVED
	Cookies     SYNCookies // when SYNs are answered with cookies

	Queued   int // connections that wait for Accept; a ListenQueue counts
	HalfOpen int // connections in SYN-RECEIVED; a ListenQueue counts

	cookieSent bool
	cookieAt   wheel.Time // when the last cookie was sent
	ackLost    bool       // the ACK of a cookie met a full queue
	ackLostAt  wheel.Time // when the last one did
}

// SetBounds sets the bounds for a backlog n of listen(2), as Linux does: one connection more may
// wait for Accept. maxSynRcvd bounds the half-open connections; 0 is n.
func (b *Backlog) SetBounds(n, maxSynRcvd int) {
	if b.Max, b.MaxHalfOpen = n+1, maxSynRcvd; maxSynRcvd == 0 {
		b.MaxHalfOpen = n
	}
}

// Count counts what a listener does with a segment. The host counts the connections, and with
// StrayReset the resets.
func (b *Backlog) Count(a ListenAction, c *Counters) {
	switch a {
	case ListenSendCookie:
		if b.HalfOpen >= b.MaxHalfOpen {
			c.TCPReqQFullDoCookies++
		}
		c.SyncookiesSent++
	case ListenDropHalfOpen:
		c.TCPReqQFullDrop++
		c.ListenDrops++
	case ListenDropBadSYN:
		c.ListenDrops++
	case ListenDropFull, ListenDropCookie:
		c.ListenOverflows++
		c.ListenDrops++
	}
}

// ListenAction is what a listener does with a segment.
type ListenAction uint8

const (
	ListenIgnore           ListenAction = iota // drop the segment
	ListenRefuse                               // answer it with StrayReset
	ListenOpen                                 // open a connection for the SYN
	ListenSendCookie                           // answer the SYN with a cookie, then call SentCookie
	ListenDropBadSYN                           // the SYN comes from ourselves, or from port 0
	ListenDropFull                             // drop the SYN: the accept queue is full
	ListenDropHalfOpen                         // drop the SYN: too many connections are half-open
	ListenTakeCookie                           // check the ACK for a cookie, then call TookCookie
	ListenOpenCookie                           // open the cookie's connection
	ListenDropCookie                           // drop the cookie's ACK: the accept queue is full
	ListenDropBehindCookie                     // drop the ACK: it may follow one that was dropped so
)

// Full reports whether the accept queue is full.
func (b *Backlog) Full() bool { return b.Queued >= b.Max }

// Segment decides about a segment in LISTEN.
func (b *Backlog) Segment(now wheel.Time, local, remote netip.AddrPort, h *Header) ListenAction {
	switch {
	case h.Flags.Has(RST):
		// RFC 9293 §3.10.7.2: "An incoming RST segment could not be valid since it could not have
		// been sent in response to anything sent by this incarnation of the connection. An incoming
		// RST should be ignored. Return."
		return ListenIgnore
	case h.Flags.Has(ACK):
		// RFC 9293 §3.10.7.2: "Any acknowledgment is bad if it arrives on a connection still in the
		// LISTEN state. An acceptable reset segment should be formed for any arriving ACK-bearing
		// segment." A returned SYN cookie is the exception.
		switch {
		case h.Flags.Has(SYN):
			return ListenRefuse
		case b.cookieOutstanding(now):
			return ListenTakeCookie
		}
		return b.cookieTaken(now, false)
	case !h.Flags.Has(SYN):
		// RFC 9293 §3.10.7.2: without SYN, RST and ACK, "Drop the segment and return."
		return ListenIgnore
	case local == remote || remote.Port() == 0:
		return ListenDropBadSYN
	}
	halfOpenFull := b.HalfOpen >= b.MaxHalfOpen
	switch {
	case halfOpenFull && b.Cookies == CookiesNever:
		return ListenDropHalfOpen
	case b.Full():
		return ListenDropFull
	case halfOpenFull || b.Cookies == CookiesAlways:
		return ListenSendCookie
	}
	return ListenOpen
}

// SentCookie records that a SYN was answered with a cookie.
func (b *Backlog) SentCookie(now wheel.Time) { b.cookieSent, b.cookieAt = true, now }

// cookieOutstanding reports whether a cookie may return. ACKs are checked only then: an attacker
// who guesses one cookie in 2^28 needs no SYN.
func (b *Backlog) cookieOutstanding(now wheel.Time) bool {
	return b.cookieSent && now.Sub(b.cookieAt) <= CookieMaxLifetime
}

// TookCookie counts and decides about an ACK after Secret.TakeCookie; valid is its result.
func (b *Backlog) TookCookie(now wheel.Time, valid bool, c *Counters) ListenAction {
	if valid {
		c.SyncookiesRecv++
	} else {
		c.SyncookiesFailed++
	}
	return b.cookieTaken(now, valid)
}

func (b *Backlog) cookieTaken(now wheel.Time, valid bool) ListenAction {
	switch {
	case valid && b.Full():
		b.loseACK(now)
		return ListenDropCookie
	case valid:
		return ListenOpenCookie
	case b.behindLostACK(now):
		return ListenDropBehindCookie
	}
	return ListenRefuse
}

// loseACK records that the ACK of a cookie met a full queue. The peer's connection is established.
// The peer retransmits the ACK if it carried data, but later segments have no cookie.
func (b *Backlog) loseACK(now wheel.Time) { b.ackLost, b.ackLostAt = true, now }

// behindLostACK reports whether an ACK of no connection may follow the dropped ACK of a cookie.
//
// DEVIATION RFC 9293 §3.10.7.2 and §3.10.7.4, should: such an ACK is dropped. Linux and gVisor
// reset a connection that the peer takes to be established.
func (b *Backlog) behindLostACK(now wheel.Time) bool {
	return b.ackLost && now.Sub(b.ackLostAt) <= CookieMaxLifetime
}

// HandshakeAction is what a listener does with a segment for a half-open connection.
type HandshakeAction uint8

const (
	HandshakeInput   HandshakeAction = iota // give it to Conn.Input
	HandshakeDrop                           // drop it
	HandshakeRestart                        // restart from the cookie, with Conn.AcceptCookie
)

// MayHoldLateCookie reports whether a segment for half-open connection c may return a cookie: the
// peer's SYN was answered by a cookie, and its retransmission by c. The host then calls
// Secret.TakeCookie and passes the cookie to Handshake.
func (b *Backlog) MayHoldLateCookie(now wheel.Time, c *Conn, h *Header) bool {
	return h.Flags&(SYN|RST|ACK) == ACK && c.state == StateSynReceived && !opens(c, h.Ack) && b.cookieOutstanding(now)
}

// Handshake decides about a segment for half-open connection c, whose SYN arrived at since. wait is
// TCP_DEFER_ACCEPT, and late says that the segment returns a cookie. It counts what it drops.
func (b *Backlog) Handshake(now wheel.Time, c *Conn, since wheel.Time, wait time.Duration, late bool, in *Inbound, o *Output) HandshakeAction {
	h := in.Header
	if h.Flags&(SYN|RST|ACK) != ACK {
		return HandshakeInput
	}
	opens := opens(c, h.Ack)
	switch {
	case !opens && !late:
		if c.state == StateSynReceived && b.behindLostACK(now) {
			return HandshakeDrop // Conn.Input would answer with a RST
		}
	case b.Full():
		// The peer retransmits its data, and we our SYN-ACK, until there is room or the handshake
		// times out.
		o.Counters.ListenOverflows++
		o.Counters.ListenDrops++
		if late {
			b.loseACK(now)
		}
		return HandshakeDrop
	case late:
		return HandshakeRestart
	case wait > 0 && in.Len == 0 && !h.Flags.Has(FIN) && now.Sub(since) < wait:
		// The peer is alive. The SYN-ACK is retransmitted only after the wait, to draw another ACK.
		o.Counters.TCPDeferAcceptDrop++
		c.DeferOpen(now, since, wait, o)
		return HandshakeDrop
	}
	return HandshakeInput
}

// opens reports whether a segment that acknowledges ack would complete a passive open.
func opens(c *Conn, ack Seq) bool { return c.state == StateSynReceived && ack == c.snd.nxt }
