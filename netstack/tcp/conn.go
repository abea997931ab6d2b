package tcp

import (
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Conn is one TCP connection: a state machine without I/O. Its methods take the time and an Output.
// They append to the Output the segments to send, the timers to start and stop, and the events for
// the application.
//
//	Init                            once, then one of
//	Connect, Accept, AcceptCookie   an active open, a SYN to a listener, the ACK of a SYN cookie
//	Input, ICMP, Expire             a segment or ICMP message arrived, a timer expired
//	Wrote, Consumed                 the application wrote or read
//	Shutdown, Close, Abort          the application stops writing, or is done
//	SetOptions, SetRecvBuffer       change settings; Reconfigure changes the configuration
//	DeferOpen, Forget               for owners that have listeners, such as Engine
//
// Unless stated otherwise a call costs O(1), O(1) for each segment sent or acknowledged, and O(log
// n) for each SACK block. After EventClosed every call is a no-op. A Conn is not safe for
// concurrent use and must not be copied after Init.
type Conn struct {
	snd sender
	rcv receiver

	answeredAt wheel.Time // when an unacceptable segment was last answered
	life       life
	state      State
	err        Error
	answered   bool // answeredAt is valid
	passive    bool // opened by a listener
	inTimeWait bool // the engine counts the connection in TIME-WAIT
}

// WriteFlags qualify a write.
type WriteFlags uint8

const (
	WriteMore   WriteFlags = 1 << iota // MSG_MORE: more data follows, so hold back a small segment
	WriteUrgent                        // MSG_OOB: the last byte is urgent
	WritePart                          // with WriteMore: part of a write; no ACK releases its end
	WriteEOR                           // MSG_EOR: no later data joins the segment of the last byte
)

// moreState is what the last write said about data to follow.
type moreState uint8

const (
	moreNone     moreState = iota
	moreReleased           // WriteMore, and an ACK has arrived since
	moreHeld               // WriteMore
	morePart               // WritePart
)

// NoLinger makes Close return at once and finish in the background.
const NoLinger time.Duration = -1

// State returns the RFC 9293 state.
func (c *Conn) State() State { return c.state }

// Err returns the Error that ended the connection, or nil if it is open or closed normally.
func (c *Conn) Err() error {
	if c.err == ErrNone {
		return nil
	}
	return c.err
}

// SoftErr returns the last error that the network reported since the peer last acknowledged data.
// Such an error does not end the connection. It is nil if there is none.
func (c *Conn) SoftErr() error {
	if c.snd.softErr == ErrNone {
		return nil
	}
	return c.snd.softErr
}

// Acked returns how many written bytes the peer has acknowledged. The owner must keep the bytes
// after these for retransmission.
func (c *Conn) Acked() uint64 { return c.snd.stats.acked }

// Cwnd returns the congestion window in bytes, 0 before ESTABLISHED, and whether it is below ssthresh.
func (c *Conn) Cwnd() (bytes uint32, slowStart bool) {
	if !c.snd.established() {
		return 0, false
	}
	return c.snd.cc.Cwnd(), c.snd.cc.InSlowStart()
}

// Received returns how many received bytes have become readable.
func (c *Conn) Received() uint64 { return c.rcv.received }

// Config returns the configuration; do not change it.
func (c *Conn) Config() *Config { return c.snd.cfg }

// Options returns the socket options.
func (c *Conn) Options() SocketOptions { return *c.snd.opts }

// SetOptions changes the socket options; opts must pass SocketOptions.Check. A timer whose interval
// changes is moved, and the time already elapsed counts. A keepalive timer that is turned on starts
// now.
func (c *Conn) SetOptions(now wheel.Time, opts SocketOptions, o *Output) {
	was := c.snd.opts
	c.snd.opts = &opts
	if c.state == StateClosed || c.state == StateTimeWait {
		return
	}
	if opts.MaxSeg != was.MaxSeg {
		c.snd.updateMSS()
	}
	if opts.Keepalive && (!was.Keepalive || opts.KeepIdle != was.KeepIdle) && c.state.synchronized() {
		since := now
		if was.Keepalive {
			since = c.rcv.lastRecv // the idle time so far counts
		}
		c.life.start(o, tcptimers.Keepalive, max(now, c.snd.cfg.Policy.Deadline(since, opts.KeepIdle)))
	} else if !opts.Keepalive {
		c.life.stop(o, tcptimers.Keepalive)
	}
	if opts.UserTimeout != was.UserTimeout {
		c.life.armUser(c, now, o)
	}
	if opts.WindowClamp != was.WindowClamp {
		c.rcv.win.Clamp(opts.WindowClamp)
		if c.state.canReceive() && c.UpdateDue(0) {
			c.rcv.ackDue = true
		}
	}
	if opts.NoQuickAck && !was.NoQuickAck {
		c.rcv.delack.endQuickAcks()
	} else if was.NoQuickAck && !opts.NoQuickAck {
		c.rcv.delack.requicken()
	}
	if opts.QuickAck && c.snd.timers.runs(tcptimers.DelAck) {
		c.rcv.ackDue = true
	}
	if opts.Cork != was.Cork {
		c.snd.writes.more = moreNone
	}
	// tcp(7): "setting this option forces an explicit flush of pending output, even if TCP_CORK is
	// currently set."
	c.snd.writes.waited = c.snd.writes.waited || opts.NoDelay && !was.NoDelay
	c.output(now, o)
}

// Flush sends what a cork or Nagle's algorithm holds back. In Linux each set of TCP_NODELAY to 1
// does so (__tcp_sock_set_nodelay), also when the option is set already.
func (c *Conn) Flush(now wheel.Time, o *Output) {
	if c.state == StateClosed || c.state == StateTimeWait || c.snd.queued() == 0 {
		return
	}
	c.snd.writes.waited = true
	c.output(now, o)
}

// setState enters s and updates CurrEstab (RFC 4022 §4).
func (c *Conn) setState(s State, o *Output) {
	if c.state == StateEstablished || c.state == StateCloseWait {
		o.Counters.CurrEstab--
	}
	c.state = s
	if s == StateEstablished || s == StateCloseWait {
		o.Counters.CurrEstab++
	}
}

// timestamp returns the value of a timestamp clock with an offset.
func (c *Config) timestamp(now wheel.Time, offset uint32) uint32 {
	return uint32(int64(now)/int64(c.TimestampTick)) + offset
}

// SetWriterWaits says whether the application waits for room in the send buffer, for
// Info.SndbufLimited. It takes effect with the next call.
func (c *Conn) SetWriterWaits(waits bool) { c.snd.writes.blocked = waits }
