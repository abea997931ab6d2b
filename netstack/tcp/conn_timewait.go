package tcp

import (
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Reopens reports whether a SYN for a connection in TIME-WAIT must belong to a new incarnation. It
// decides as Linux does. The host then ends the connection and gives the SYN to the listener. The
// new connection's ISS must come from ISSAfter(iss, least).
//
// RFC 6191 §2: if both have timestamps, a SYN with a later timestamp than the last one received;
// with equal timestamps, or without them, a SYN with a later sequence number than the last one
// received.
func (t *TimeWait) Reopens(syn *Header) (least Seq, ok bool) {
	if t.cfg == nil || syn.Flags&(SYN|ACK|RST) != SYN {
		return 0, false
	}
	if t.tsOn && t.hasRecent && syn.Options.HasTimestamps && syn.Options.TSVal != t.recent {
		return t.sndNxt, tsBefore(t.recent, syn.Options.TSVal)
	}
	return t.sndNxt, syn.Seq.After(t.rcvNxt)
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
func (t *TimeWait) MayDialAgain(now wheel.Time) (least Seq, ok bool) {
	const wait = time.Second
	since := now.Sub(t.recentAt)
	return t.sndNxt, t.cfg != nil && t.tsOn && since >= wait && since > t.cfg.TimestampTick
}

// TimeWait is what is left to know of a connection in TIME-WAIT that the application has closed:
// 64 bytes, where a Conn with what it owns takes over a KB. Conn.TimeWait takes it, and Resume makes
// a Conn of it for the next segment or timeout. The zero TimeWait is no connection.
type TimeWait struct {
	cfg            *Config
	recentAt       wheel.Time // when recent was recorded
	answeredAt     wheel.Time // when an unacceptable segment was last answered
	sndNxt, rcvNxt Seq
	edge           Seq // of the advertised window
	buff           uint32
	maxWnd         uint32 // MAX.SND.WND
	recent         uint32 // TS.Recent
	mss            uint16 // of the window, bytes
	scale          uint8
	tsOn, hasRecent, sackOn,
	answered, ece bool
}

// TimeWait returns the state of a connection in TIME-WAIT, the zero TimeWait in other states. Its FIN
// is acknowledged, and it has acknowledged the peer's.
func (c *Conn) TimeWait() TimeWait {
	if c.state != StateTimeWait {
		return TimeWait{}
	}
	t := TimeWait{
		cfg: c.snd.cfg, sndNxt: c.snd.nxt, rcvNxt: c.rcv.nxt(), edge: c.rcv.win.edge, maxWnd: c.snd.wnd.MaxWnd,
		recentAt: c.rcv.paws.updated, recent: c.rcv.paws.recent, hasRecent: c.rcv.paws.valid,
		mss: uint16(min(c.rcv.windowMSS(c.snd.mss), 65535)), scale: c.rcv.win.scale, tsOn: c.rcv.tsOn, sackOn: c.rcv.sackOn, ece: c.snd.ecn.ECE(),
	}
	t.buff = min(c.rcv.win.buff-min(c.rcv.user, c.rcv.win.buff), c.rcv.win.limit())
	t.answered, t.answeredAt = c.answered, c.answeredAt
	return t
}

// Resume makes c the connection that t was taken from, without its statistics. tsOffset is that of
// Init. wait is the time in TIME-WAIT from now on; 0 is twice the policy's MSL.
func (t *TimeWait) Resume(c *Conn, tsOffset uint32, wait time.Duration) {
	c.Init(t.cfg, Path{}, t.sndNxt-2, tsOffset)
	if wait != c.snd.opts.TimeWait {
		c.snd.opts = &SocketOptions{TimeWait: wait}
	}
	c.state, c.life.running = StateTimeWait, 1<<tcptimers.TimeWait
	c.snd.writes.fin, c.snd.writes.finSent, c.rcv.closed = true, true, true
	c.snd.una, c.snd.nxt, c.snd.end = t.sndNxt, t.sndNxt, t.sndNxt-1
	c.snd.wnd.MaxWnd, c.snd.wnd.Recent = t.maxWnd, t.maxWnd
	c.rcv.queue.nxt, c.rcv.queue.finSeen, c.rcv.queue.finDone, c.rcv.lastAckSent = t.rcvNxt, true, true, t.rcvNxt
	c.rcv.win = recvWindow{edge: t.edge, buff: t.buff, scale: t.scale}
	c.snd.mss = uint32(t.mss)
	c.rcv.paws = pawsState{updated: t.recentAt, recent: t.recent, valid: t.hasRecent}
	c.rcv.tsOn, c.rcv.sackOn, c.snd.ecn.echo = t.tsOn, t.sackOn, t.ece
	c.answered, c.answeredAt = t.answered, t.answeredAt
}
