package tcp

import (
	"time"

	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Conn is one connection: a state machine without I/O. What happens to it are its methods, which take the time and an Output, and
// leave there what is to be sent, which timers are to be started and stopped, and what the application is to be told.
//
//	Init                            once, then one of
//	Connect, Accept, AcceptCookie   an active open, a SYN to a listener, the ACK of a SYN cookie
//	Input, ICMP, Expire             what comes from the network, and the expiry of a timer
//	Wrote, Consumed                 the application has written, or read
//	Shutdown, Close, Abort          the application is done with writing, or altogether
//	SetOptions, SetRecvBuffer       other settings; Reconfigure: another configuration
//	DeferOpen, Forget               for owners that have listeners, as Engine
//
// Each costs O(1), O(1) for each segment that it sends or takes out of flight, and O(log n) for each SACK block, where nothing else is said.
// After EventClosed all calls do nothing. A Conn belongs to one goroutine at a time; it is not to be copied once Init was called.
type Conn struct {
	cfg         *Config
	opts        *SocketOptions // those of cfg until they are changed
	mtu         uint32         // of the path
	ipHeaderLen uint8          // octets of IP's header
	ipv6        bool
	inTimeWait  bool // the engine's: it counts the connection among those in TIME-WAIT

	state   State
	caState CAState
	err     Error
	softErr Error

	// What was agreed on in the handshake.
	passive      bool // opened by a listener
	tsOn         bool // timestamps
	sackOn       bool
	wsOn         bool // window scaling
	sndScale     uint8
	rcvScale     uint8
	peerMSS      uint16
	synLost      bool // our SYN or SYN-ACK was retransmitted by its timer
	openDeferred bool // our SYN-ACK was acknowledged, and the listener waits for data: TCP_DEFER_ACCEPT

	finQueued       bool // the application will write no more: a FIN follows what it wrote
	finSent         bool // SND.NXT is beyond it
	readClosed      bool // the application will read no more
	urgent          bool // SND.UP is valid
	hasSndSml       bool // small is valid
	rcvUrgent       bool // RCV.UP is valid
	msgMore         bool // the last write said MSG_MORE
	corkExpired     bool // the cork, or the small window, has had its time
	persistIsCork   bool // the persist timer, if it runs, is that of the cork or the small window
	advertisedZero  bool // the window that was advertised last was closed
	recvBufferFixed bool // the receive buffer does not grow by itself: SetRecvBuffer

	// The sender (RFC 9293 §3.3.1). SND.NXT is what was never sent; what is sent again is the sent queue's.
	iss    Seq
	sndUna Seq
	sndNxt Seq
	sndEnd Seq // after what the application has written
	sndUp  Seq
	sndSml Seq // after the last segment that was not full (RFC 9293 §A.3): SND.sml, if smallSent
	snd    sendWindow
	acked  uint64 // octets of what was written that are acknowledged
	fl     *flight
	mss    uint32 // Eff.snd.MSS of a segment without SACK blocks

	// The receiver.
	irs         Seq
	rq          recvQueue
	gen         *sackGenerator // nil while there is nothing to report
	win         recvWindow
	delack      DelAck
	paws        pawsState
	rcvRTT      recvRTT
	tune        recvBufferTuner
	rcvUp       Seq    // RCV.UP, if rcvUrgent
	received    uint64 // octets that became readable
	rcvUser     uint32 // RCV.USER: of these, not yet read
	ackDue      bool   // an ACK leaves at the end of this call
	lastAckSent Seq    // Last.ACK.sent
	ecn         ecnState
	lastCE      bool // the last segment with text bore a CE mark

	// Timers.
	est            tcptimers.Estimator
	armed          uint16     // the kinds that run
	tsOffset       uint32     // of the clock of timestamps
	lastRecv       wheel.Time // when anything acceptable came last
	lastSent       wheel.Time // when data left last
	hasSent        bool       // lastSent is valid
	unanswered     uint8      // window or keepalive probes without an answer
	windowProbes   uint8      // window probes since the window was closed
	windowProbeOut bool       // the octet at SND.NXT, or the FIN there, left as a window probe
	timed          bool       // one segment is being timed: Policy.OneSample
	timedSeq       Seq        // where it begins
	roundEnd       Seq        // what SND.NXT was at the first sample of this round

	cc  congestion.Controller // from ESTABLISHED on
	rec recovery

	rare *rareState // nil until something of it is wanted

	// Statistics, for Info.
	bytesSent, bytesRexmit          uint64
	segsIn, segsOut                 uint32
	dataIn, dataOut                 uint32
	delivered, deliveredCE, rexmits uint32
	dsacks                          uint32
}

// WriteFlags say how data was written.
type WriteFlags uint8

const (
	WriteMore   WriteFlags = 1 << iota // MSG_MORE: more follows, so that a segment that is not full waits for it
	WriteUrgent                        // MSG_OOB: the last octet is urgent
)

// NoLinger is what Close takes for a close in the background.
const NoLinger time.Duration = -1

// State returns the state.
func (c *Conn) State() State { return c.state }

// SlowStart reports whether the congestion window is below its threshold.
func (c *Conn) SlowStart() bool { return c.cc != nil && c.cc.InSlowStart() }

// Err returns why the connection has ended before its time, nil if it has not. The error is an Error.
func (c *Conn) Err() error {
	if c.err == ErrNone {
		return nil
	}
	return c.err
}

// SoftErr returns the last error that the network reported since the peer acknowledged something, and that did not end the
// connection.
func (c *Conn) SoftErr() error {
	if c.softErr == ErrNone {
		return nil
	}
	return c.softErr
}

// Acked returns how many octets of what was written are acknowledged: the owner needs to keep only those after.
func (c *Conn) Acked() uint64 { return c.acked }

// Cwnd returns the congestion window in octets, 0 before the connection is established.
func (c *Conn) Cwnd() uint32 {
	if c.cc == nil {
		return 0
	}
	return c.cc.Cwnd()
}

// Received returns how many octets of what the peer sends have become readable.
func (c *Conn) Received() uint64 { return c.received }

// RecvScale returns by how many bits the windows that the peer is told are shifted.
func (c *Conn) RecvScale() uint8 { return c.rcvScale }

// Config returns the configuration, which is not to be changed.
func (c *Conn) Config() *Config { return c.cfg }

// Options returns the socket options.
func (c *Conn) Options() SocketOptions { return *c.opts }

// SetOptions changes the socket options, which SocketOptions.Check has found good. Timers whose spans change are moved: the time that
// has passed counts, but for a keepalive that is turned on.
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
			since = c.lastRecv // the idle time that has passed counts
		}
		c.start(o, tcptimers.Keepalive, max(now, c.cfg.Policy.Deadline(since, opts.KeepIdle)))
	} else if !opts.Keepalive {
		c.stop(o, tcptimers.Keepalive)
	}
	if opts.UserTimeout != was.UserTimeout {
		c.armUserTimeout(now, o)
	}
	if opts.WindowClamp != was.WindowClamp {
		c.win.Clamp(opts.WindowClamp)
		if c.state.canReceive() && c.win.UpdateDue(c.rq.Nxt(), c.rcvUser, c.windowMSS()) {
			c.ackDue = true
		}
	}
	if opts.NoQuickAck && !was.NoQuickAck {
		c.delack.endQuickAcks()
	} else if was.NoQuickAck && !opts.NoQuickAck {
		c.delack.requicken()
	}
	if opts.QuickAck && c.runs(tcptimers.DelAck) {
		c.ackDue = true
	}
	c.msgMore = c.msgMore && opts.Cork == was.Cork
	c.corkExpired = false
	c.output(now, o)
}

// setState moves to another state, and counts what RFC 4022 §4 calls tcpCurrEstab.
func (c *Conn) setState(s State, o *Output) {
	if c.state == StateEstablished || c.state == StateCloseWait {
		o.Counters.CurrEstab--
	}
	c.state = s
	if s == StateEstablished || s == StateCloseWait {
		o.Counters.CurrEstab++
	}
}

// dataUna is SND.UNA, or what it will be when the SYN is acknowledged.
func (c *Conn) dataUna() Seq {
	if c.sndUna == c.iss && c.state <= StateSynReceived {
		return c.iss.Add(1)
	}
	return c.sndUna
}

// queued returns how many octets are written and were never sent.
func (c *Conn) queued() uint32 {
	if c.finSent {
		return 0
	}
	if c.sndNxt == c.iss && c.state <= StateSynReceived {
		return c.sndEnd.Sub(c.iss.Add(1)) // the SYN is still to be sent
	}
	return c.sndEnd.Sub(c.sndNxt)
}

// allSent reports whether nothing is left that was never sent, the FIN included.
func (c *Conn) allSent() bool { return c.finSent || !c.finQueued && c.queued() == 0 }

// timestamp returns what the clock of timestamps shows.
func (c *Conn) timestamp(now wheel.Time) uint32 {
	return uint32(int64(now)/int64(c.cfg.TimestampTick)) + c.tsOffset
}

// rareState is what few connections ever need.
type rareState struct {
	pacer      congestion.Pacer
	vegas      congestion.VegasCheck
	fine       tcptimers.Estimator // the fine-grained clock of Vegas's check, nil without it
	answeredAt wheel.Time          // when a segment that is not acceptable was answered last
	answered   bool                // answeredAt is valid
	closedAt   wheel.Time          // when the peer's window was closed, or the application closed behind it
	spuriousAt wheel.Time          // when a timeout was found to be spurious
}

// needRare returns the rare state, and makes it if there is none.
func (c *Conn) needRare() *rareState {
	if c.rare == nil {
		c.rare = new(rareState)
	}
	return c.rare
}
