package tcp

import (
	"time"

	"tcpwheel/wheel"
)

// receiver is the receiving half of a connection, RCV.* of RFC 9293 §3.3.1: what has arrived, the
// window that is offered, and when to acknowledge. It sends nothing and starts no timer. Its owner
// tells it what happens:
//
//	open       the peer's SYN arrived
//	arrived    an acceptable segment with data or a FIN arrived
//	repeated   an unacceptable one did
//	consumed   the application has read
//	stamp      a segment leaves, and acknowledges
//
// Whenever ackDue is set, an ACK must leave.
type receiver struct {
	queue       recvQueue
	sack        *sackGenerator // nil if there is nothing to report
	win         recvWindow
	paws        pawsState
	delack      DelAck
	rtt         recvRTT
	tune        recvBufferTuner
	lastRecv    wheel.Time // when the last acceptable segment arrived
	received    uint64     // bytes that became readable
	user        uint32     // RCV.USER: readable bytes not yet read
	segments    uint32     // with data
	irs         Seq
	lastAckSent Seq  // Last.ACK.sent
	urgent      bool // queue.up is valid
	lastCE      bool // the last data segment had a CE mark
	opened      bool // the peer's SYN has arrived
	closed      bool // the application is done reading
	tsOn        bool // timestamps
	sackOn      bool
	ackDue      bool // send an ACK at the end of this call
}

// open takes the peer's SYN. Our SYN offers window, and a full segment of mss bytes.
func (r *receiver) open(now wheel.Time, syn *Header, cfg *Config, opts *SocketOptions, window, mss uint16) {
	opt := &syn.Options
	*r = receiver{
		irs: syn.Seq, opened: true, lastRecv: now,
		tsOn: cfg.Timestamps && opt.HasTimestamps, sackOn: cfg.SACK && opt.SACKPermitted,
	}
	if r.tsOn {
		r.paws.Start(now, opt.TSVal)
	}
	// RFC 7323 §2.2: "This option is an offer, not a promise; both sides MUST send Window Scale
	// options in their <SYN> segments to enable window scaling in either direction."
	scaled, scale := cfg.WScale && opt.HasWScale, uint8(0)
	if scaled {
		scale = cfg.recvScale()
	}
	nxt := syn.Seq.Add(1)
	if err := r.queue.Init(nxt, cfg.MaxOutOfOrder); err != nil {
		panic("BUG: " + err.Error())
	}
	if err := r.win.Init(nxt, window, cfg.RecvBuffer, scale); err != nil {
		panic("BUG: " + err.Error())
	}
	r.win.scaled = scaled
	r.win.Clamp(opts.WindowClamp)
	r.lastAckSent = nxt
	if opts.NoQuickAck {
		r.delack.endQuickAcks()
	}
	// The peer subtracts its options from our MSS (RFC 9293 §3.7.1). Without the same subtraction
	// here, a full segment merged with the start of the next would look like one full segment.
	r.delack.rmss = uint32(mss)
	if opts := (&Options{HasTimestamps: r.tsOn}).encodedLen(); r.delack.rmss > uint32(opts) {
		r.delack.rmss -= uint32(opts)
	}
	// As in Linux, until larger segments show the real size.
	r.delack.mss = min(r.delack.rmss, DefaultMSS4)
	r.tune.Init(now, cfg.RecvBuffer/2)
}

// nxt returns RCV.NXT.
func (r *receiver) nxt() Seq { return r.queue.Nxt() }

// wnd returns RCV.WND.
func (r *receiver) wnd() uint32 { return r.win.Wnd(r.queue.Nxt()) }

// recvContext is what the receiver asks of its connection when a segment arrives.
type recvContext struct {
	cfg    *Config
	opts   *SocketOptions
	rto    time.Duration
	offset uint32 // of our timestamp clock
	ecn    bool   // ECN is used
}

// taken is what the receiver made of a segment.
type taken struct {
	Disposition
	fin   bool          // the peer's FIN is in order now
	delay time.Duration // start the delayed-ACK timer, if ack is AckDelayed
	ack   AckTiming
}

// arrived takes the data and FIN of an acceptable segment.
func (r *receiver) arrived(now wheel.Time, in *Inbound, a Arrival, x recvContext, o *Output) (t taken) {
	if a.Len > 0 {
		r.segments++
	}
	before := r.queue.Nxt()
	var ins insertion
	r.queue.Insert(a, r.win.Wnd(before), &ins)
	r.report(&ins)
	t.Offset, t.Len, t.InOrder = ins.Offset, ins.Keep.Len(), ins.InOrder
	if t.Len > 0 {
		t.Stream = r.received + uint64(ins.Keep.Start.Sub(before))
	}
	r.received += uint64(ins.InOrder)
	r.user += ins.InOrder
	if ins.InOrder > 0 {
		o.Events |= EventReadable
	}
	countArrival(&ins, a, o)
	r.sampleRTT(now, in.Header, a, &x)
	t.ack, t.delay = r.decideACK(now, in, a, &ins, &x)
	t.fin = ins.FIN
	// A FIN out of order: RFC 5681 §4.2 applies as for data.
	r.ackDue = r.ackDue || t.ack == AckNow || a.FIN
	return t
}

// report makes SACK blocks report what arrived.
func (r *receiver) report(ins *insertion) {
	if !r.sackOn || ins.Duplicate.Len() == 0 && ins.Block.Len() == 0 {
		return
	}
	if r.sack == nil {
		r.sack = new(sackGenerator)
	}
	r.sack.OnInsert(ins)
}

// countArrival updates the counters of out-of-order segments.
func countArrival(ins *insertion, a Arrival, o *Output) {
	switch {
	case ins.Dropped > 0 && ins.Keep.Len() == 0 && a.Len > 0:
		if ins.Block.Len() == 0 && ins.InOrder == 0 {
			o.Counters.TCPOFODrop++
		}
	case ins.Block.Len() > 0 && ins.Keep.Len() > 0:
		o.Counters.TCPOFOQueue++
	case ins.Block.Len() > 0 && a.Len > 0:
		o.Counters.TCPOFOMerge++
	}
}

// sampleRTT measures the receiver's RTT, by the timestamp that a full segment echoes, or else by
// window rounds.
func (r *receiver) sampleRTT(now wheel.Time, h *Header, a Arrival, x *recvContext) {
	if !r.tsOn {
		r.rtt.OnData(now, r.nxt(), r.wnd())
		return
	}
	if h.Options.TSEcr == 0 || a.Len < r.delack.mss {
		return
	}
	if ticks := int32(x.cfg.timestamp(now, x.offset) - h.Options.TSEcr); ticks >= 0 {
		r.rtt.OnTimestamp(x.cfg.TimestampTick * time.Duration(max(ticks, 1)))
	}
}

// decideACK decides when to acknowledge the segment.
func (r *receiver) decideACK(now wheel.Time, in *Inbound, a Arrival, ins *insertion, x *recvContext) (AckTiming, time.Duration) {
	ce := false
	if a.Len > 0 {
		ce = x.ecn && in.CE != r.lastCE
		r.lastCE = in.CE
		if !x.opts.NoQuickAck && r.delack.idle(now) > x.rto {
			// After an idle time the peer restarts with a small window: RFC 5681 §4.1.
			r.delack.requicken()
		}
	}
	var s SegmentIn
	s.Len, s.PSH, s.FIN = a.Len, in.Header.Flags.Has(PSH), ins.FIN
	s.Duplicate = ins.Duplicate.Len() > 0 || ins.Dropped > 0
	s.FilledGap, s.Gap, s.CE = ins.FilledGap, len(r.queue.Held()) > 0, ce
	s.Now = x.opts.QuickAck || x.cfg.AckPush && s.PSH
	return r.delack.OnSegment(now, &x.cfg.Policy.DelAck, &s)
}

// repeated takes an unacceptable segment: the next ACK reports its part that arrived before
// (RFC 2883 §4).
func (r *receiver) repeated(a Arrival, o *Output) {
	if a.Len == 0 {
		return
	}
	var fit trimmed
	trimToWindow(r.nxt(), 0, a, &fit)
	if fit.Old.Len() > 0 {
		o.Counters.DelayedACKLost++
		r.report(&insertion{Duplicate: fit.Old})
	}
}

// takeUrgent processes the urgent pointer of a segment at seq. RFC 9293 §3.8.5 (MUST-32): the
// application learns when urgent data becomes pending and when the pointer advances. A pointer to
// data received before is ignored.
func (r *receiver) takeUrgent(h *Header, seq Seq, state State, o *Output) {
	up := seq.Add(uint32(h.Urgent))
	if !h.Flags.Has(URG) || !state.canReceive() || !up.After(r.nxt()) || r.urgent && !up.After(r.queue.up) {
		return
	}
	r.queue.up, r.urgent = up, true
	o.Events |= EventUrgent
}

// consumed takes n bytes that the application has read, and returns how many there were to read.
func (r *receiver) consumed(n uint32) uint32 {
	n = min(n, r.user)
	r.user -= n
	r.urgent = r.urgent && r.queue.up.After(r.nxt()-Seq(r.user)) // until all urgent data is read
	return n
}

// resize grows the buffer, if it is not fixed, when n bytes were read of a sender whose segments
// have mss bytes.
func (r *receiver) resize(now wheel.Time, n, mss uint32, cfg *Config) {
	if cfg.RecvBufferMax <= cfg.RecvBuffer || r.win.fixed {
		return
	}
	if rtt, ok := r.rtt.RTT(); ok {
		if buff, ok := r.tune.OnRead(now, n, rtt, mss, cfg.RecvBufferMax); ok {
			r.win.Grow(buff)
		}
	}
}

// updateDue reports whether reading n more bytes opens the window enough for an ACK of its own
// (RFC 9293 §3.8.6.2.2). mss is Eff.snd.MSS.
func (r *receiver) updateDue(n, mss uint32) bool {
	return r.win.UpdateDue(r.nxt(), r.user-min(n, r.user), r.windowMSS(mss))
}

// windowMSS returns the smallest step by which the window opens. RFC 9293 §3.8.6.2.2: "the receiver
// must use its own Eff.snd.MSS, making the assumption that it is the same as the sender's". If the
// peer is known to send larger segments, their size counts instead.
func (r *receiver) windowMSS(mss uint32) uint32 { return max(r.delack.mss, mss) }

// fullSize returns the size of the peer's full segments, as far as known, else mss.
func (r *receiver) fullSize(mss uint32) uint32 {
	if r.delack.mss > 0 {
		return r.delack.mss
	}
	return mss
}

// reports says whether the next segment carries SACK blocks.
func (r *receiver) reports() bool { return r.sack != nil && (r.queue.Beyond() || r.sack.hasDup) }

// blocks returns the SACK blocks of the next segment in dst.
func (r *receiver) blocks(dst []SeqRange) uint8 { return uint8(r.sack.Blocks(&r.queue, dst)) }

// stamp completes a segment that leaves: it acknowledges all that has arrived, echoes a timestamp
// if it has one of ours, and offers the window. No ACK is due then. mss is Eff.snd.MSS.
func (r *receiver) stamp(h *Header, mss uint32, o *Output) {
	h.Ack = r.nxt()
	if r.tsOn {
		h.Options.TSEcr, _ = r.paws.Recent()
	}
	if r.reports() {
		r.stampSACK(h, o)
	}
	h.Window = r.win.Advertise(h.Ack, r.user, r.windowMSS(mss))
	if shut := h.Window == 0; shut != r.win.shut {
		r.win.shut = shut
		if shut {
			o.Counters.TCPToZeroWindowAdv++
		} else {
			o.Counters.TCPFromZeroWindowAdv++
		}
	}
	r.lastAckSent = h.Ack
	r.delack.OnAckSent()
	r.ackDue = false
}

// stampSACK adds the SACK blocks to a segment that leaves.
func (r *receiver) stampSACK(h *Header, o *Output) {
	h.Options.NumSACK = r.blocks(h.Options.SACK[:h.Options.sackRoom()])
	if r.sack.hasDup {
		if r.sack.dup.Start.Before(h.Ack) {
			o.Counters.TCPDSACKOldSent++
		} else {
			o.Counters.TCPDSACKOfoSent++
		}
	}
	if r.sack.OnAckSent(&r.queue); r.sack.n == 0 {
		r.sack = nil
	}
}
