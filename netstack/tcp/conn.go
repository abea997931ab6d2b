package tcp

import (
	"time"

	"tcpwheel/netstack/tcp/congestion"
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
	// Fields that are used together come together. With many connections each cache line of one is
	// a miss: an ACK then needs eight of ten, and data six.
	cfg    *Config
	opts   *SocketOptions // cfg's until SetOptions
	fl     *flight
	iss    Seq // RFC 9293 §3.3.1
	sndUna Seq
	sndNxt Seq // counts new data only; fl.sent knows about retransmissions
	sndEnd Seq // the end of the data that the application wrote

	state          State
	caState        CAState
	softErr        Error
	sndScale       uint8
	synLost        bool // the timer retransmitted our SYN or SYN-ACK
	openDeferred   bool // TCP_DEFER_ACCEPT: our SYN-ACK is acknowledged, the listener waits for data
	finQueued      bool // the application is done writing: a FIN follows the data
	finSent        bool // SND.NXT is beyond the FIN
	readClosed     bool // the application is done reading
	urgent         bool // SND.UP is valid
	hasSndSml      bool // sndSml is valid
	more           moreState
	corkExpired    bool  // the cork, or the small window, has waited long enough
	ackAtEdge      bool  // the last ACK was at the edge of the peer's window, below SND.NXT
	unanswered     uint8 // window and keepalive probes without an answer
	windowProbes   uint8 // window probes since the window closed
	windowProbeOut bool  // a window probe sent the byte, or FIN, at SND.NXT
	hasSent        bool  // lastSent is valid

	snd      sendWindow
	rcv      receiver
	ecn      ecnState
	tsOffset uint32 // offset of the timestamp clock
	timers   timers
	rexmit   uint8 // of rexmitTimers, as the policy asks
	detector uint8 // of lossDetectors, as the handshake has agreed
	sndSml   Seq   // SND.sml: the end of the last small segment (RFC 9293 §A.3), if hasSndSml

	lastRecv wheel.Time // when the last acceptable segment arrived
	segsIn   uint32
	segsOut  uint32
	mss      uint32 // Eff.snd.MSS of a segment without SACK blocks, bytes
	roundEnd Seq    // SND.NXT at the first RTT sample of this round

	// The sender.
	acked     uint64     // written bytes that are acknowledged
	lastSent  wheel.Time // when data was last sent
	rec       recovery
	meter     *sendMeter            // allocated when data is first written
	cc        congestion.Controller // nil before ESTABLISHED
	est       tcptimers.Estimator
	bytesSent uint64
	dataOut   uint32
	delivered uint32

	// What few segments need.
	rare          *rareState // allocated on first use
	mtu           uint32     // path MTU
	peerMSS       uint16
	ipHeaderLen   uint8 // bytes
	err           Error
	inTimeWait    bool // the engine counts the connection in TIME-WAIT
	passive       bool // opened by a listener
	wsOn          bool // window scaling
	writerWaits   bool // the application waits for room in the send buffer
	persistIsCork bool // the persist timer, if running, times the cork or the small window
	timed         bool // Policy.OneSample: one segment is being timed
	hasRecords    bool // rare.records is not empty
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

// releaseMore ends the wait that WriteMore began, when an ACK arrives. In Linux MSG_MORE corks only
// what the call itself pushes; tcp_data_snd_check then sends as Nagle's algorithm allows.
func (c *Conn) releaseMore() {
	if c.more == moreHeld {
		c.more = moreReleased
	}
}

// NoLinger makes Close return at once and finish in the background.
const NoLinger time.Duration = -1

// State returns the RFC 9293 state.
func (c *Conn) State() State { return c.state }

// SlowStart reports whether cwnd is below ssthresh.
func (c *Conn) SlowStart() bool { return c.cc != nil && c.cc.InSlowStart() }

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
	if c.softErr == ErrNone {
		return nil
	}
	return c.softErr
}

// Acked returns how many written bytes the peer has acknowledged. The owner must keep the bytes
// after these for retransmission.
func (c *Conn) Acked() uint64 { return c.acked }

// Cwnd returns the congestion window in bytes, 0 before ESTABLISHED.
func (c *Conn) Cwnd() uint32 {
	if c.cc == nil {
		return 0
	}
	return c.cc.Cwnd()
}

// Received returns how many received bytes have become readable.
func (c *Conn) Received() uint64 { return c.rcv.received }

// RecvScale returns the shift count of the windows that we advertise.
func (c *Conn) RecvScale() uint8 { return c.rcv.win.scale }

// Config returns the configuration; do not change it.
func (c *Conn) Config() *Config { return c.cfg }

// Options returns the socket options.
func (c *Conn) Options() SocketOptions { return *c.opts }

// SetOptions changes the socket options; opts must pass SocketOptions.Check. A timer whose interval
// changes is moved, and the time already elapsed counts. A keepalive timer that is turned on starts
// now.
func (c *Conn) SetOptions(now wheel.Time, opts SocketOptions, o *Output) {
	was := c.opts
	c.opts = &opts
	if c.state == StateClosed || c.state == StateTimeWait {
		return
	}
	if opts.MaxSeg != was.MaxSeg {
		c.updateMSS()
	}
	if opts.Keepalive && (!was.Keepalive || opts.KeepIdle != was.KeepIdle) && c.state.synchronized() {
		since := now
		if was.Keepalive {
			since = c.lastRecv // the idle time so far counts
		}
		c.timers.start(o, tcptimers.Keepalive, max(now, c.cfg.Policy.Deadline(since, opts.KeepIdle)))
	} else if !opts.Keepalive {
		c.timers.stop(o, tcptimers.Keepalive)
	}
	if opts.UserTimeout != was.UserTimeout {
		c.armUserTimeout(now, o)
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
	if opts.QuickAck && c.timers.runs(tcptimers.DelAck) {
		c.rcv.ackDue = true
	}
	if opts.Cork != was.Cork {
		c.more = moreNone
	}
	// tcp(7): "setting this option forces an explicit flush of pending output, even if TCP_CORK is
	// currently set."
	c.corkExpired = c.corkExpired || opts.NoDelay && !was.NoDelay
	c.output(now, o)
}

// Flush sends what a cork or Nagle's algorithm holds back. In Linux each set of TCP_NODELAY to 1
// does so (__tcp_sock_set_nodelay), also when the option is set already.
func (c *Conn) Flush(now wheel.Time, o *Output) {
	if c.state == StateClosed || c.state == StateTimeWait || c.queued() == 0 {
		return
	}
	c.corkExpired = true
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

// dataUna returns SND.UNA, or ISS+1 while the SYN is unacknowledged.
func (c *Conn) dataUna() Seq {
	if c.sndUna == c.iss && c.state <= StateSynReceived {
		return c.iss.Add(1)
	}
	return c.sndUna
}

// queued returns how many written bytes were never sent.
func (c *Conn) queued() uint32 {
	if c.finSent {
		return 0
	}
	if c.sndNxt == c.iss && c.state <= StateSynReceived {
		return c.sndEnd.Sub(c.iss.Add(1)) // the SYN is still to be sent
	}
	return c.sndEnd.Sub(c.sndNxt)
}

// allSent reports whether all data, and the FIN if any, was sent.
func (c *Conn) allSent() bool { return c.finSent || !c.finQueued && c.queued() == 0 }

// timestamp returns the value of a timestamp clock with an offset.
func (c *Config) timestamp(now wheel.Time, offset uint32) uint32 {
	return uint32(int64(now)/int64(c.TimestampTick)) + offset
}

// timestamp returns the value of the timestamp clock.
func (c *Conn) timestamp(now wheel.Time) uint32 { return c.cfg.timestamp(now, c.tsOffset) }

// rareState has state that few connections need.
type rareState struct {
	pacer      congestion.Pacer
	vegas      *vegasCheck // Config.VegasCheck, from the first ACK on
	answeredAt wheel.Time  // when an unacceptable segment was last answered
	answered   bool        // answeredAt is valid
	closedAt   wheel.Time  // when the peer's window closed, or Close was called since
	spuriousAt wheel.Time  // when a timeout was found spurious
	sndUp      Seq         // SND.UP, if Conn.urgent
	startUna   Seq         // SND.UNA when the last recovery episode began, if recovery.undoable
	tooBigEnd  Seq         // SND.NXT at the last ICMP Packet Too Big

	records []Seq // ends of records (WriteEOR) that may have unsent bytes, in order

	// Statistics, for Info.
	bytesRexmit uint64
	rexmits     uint32
	dsacks      uint32
	deliveredCE uint32
}

// needRare returns the rare state, allocated on first use.
func (c *Conn) needRare() *rareState {
	if c.rare == nil {
		c.rare = new(rareState)
	}
	return c.rare
}
