package tcp

import (
	"time"

	"tcpwheel/wheel"
)

// Reopens reports whether a SYN for a connection in TIME-WAIT must belong to a new incarnation. It
// decides as Linux does. The host then ends the connection and gives the SYN to the listener. The
// new connection's ISS must come from ISSAfter(iss, least).
//
// RFC 6191 §2: if both have timestamps, a SYN with a later timestamp than the last one received;
// with equal timestamps, or without them, a SYN with a later sequence number than the last one
// received.
func (c *Conn) Reopens(syn *Header) (least Seq, ok bool) {
	if c.state != StateTimeWait || syn.Flags&(SYN|ACK|RST) != SYN {
		return 0, false
	}
	recent, have := c.paws.Recent()
	if c.tsOn && have && syn.Options.HasTimestamps && syn.Options.TSVal != recent {
		return c.sndNxt, tsBefore(recent, syn.Options.TSVal)
	}
	return c.sndNxt, syn.Seq.After(c.rq.Nxt())
}

// ISSAfter returns iss, or if that is not after least, a number after least. least is the SND.NXT
// of the incarnation that the new connection replaces.
//
// RFC 9293 §3.6.1: a TCP may accept a new SYN to reopen the connection directly from TIME-WAIT, if
// it "assigns its initial sequence number for the new connection to be larger than the largest
// sequence number it used on the previous connection incarnation".
func ISSAfter(iss, least Seq) Seq {
	const gap = 65535 + 2 // Linux's, tcp_timewait_state_process
	if iss.After(least) {
		return iss
	}
	return least.Add(gap)
}

// MayDialAgain reports whether the addresses and ports of a connection in TIME-WAIT may be dialed
// again. Timestamps must be in use, and a second must have passed since the peer's last one, so
// that the peer's TIME-WAIT accepts ours as later (Linux's tcp_tw_reuse). least is as in Reopens.
func (c *Conn) MayDialAgain(now wheel.Time) (least Seq, ok bool) {
	const wait = time.Second
	since := now.Sub(c.paws.updated)
	return c.sndNxt, c.state == StateTimeWait && c.tsOn && since >= wait && since > c.cfg.TimestampTick
}
