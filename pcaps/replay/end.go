package replay

import (
	"math/rand"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// outgoing is a segment as it leaves an end.
type outgoing struct {
	header          tcp.Header
	bytes           uint32 // of payload
	start, end, ack int64  // places
	try             int    // how many times its bytes have left
}

// carrier takes what an end sends. It must not keep o.
type carrier interface {
	carry(now wheel.Time, e *end, o *outgoing)
}

// end is one end of a connection at work: the engine's connection, its timers, its application and
// its ACKs. Its initial sequence number is 0, so that numbers are places, modulo 2^32.
type end struct {
	side     int
	captured *CapturedConn
	net      *network // nil while it follows a tape: nothing then expires
	cfg      *tcp.Config
	path     tcp.Path
	decider  decider
	carrier  carrier

	conn   *tcp.Conn // nil before the first packet
	out    tcp.Output
	leaves outgoing // what transmit hands on, which keeps nothing of it
	timers []*alarm // by slot
	app    app
	acks   *ackPacer // nil: the policy decides on ACKs

	sent  int64 // all before it left
	heard int64 // the last place of the peer's stream seen

	events tcp.Events // to be told
	busy   bool       // they are being told
}

// resendAt has a range leave for the n-th time at an instant, unless it is acknowledged by then.
// While the end follows a tape, that has it.
func (e *end) resendAt(at wheel.Time, r *SentRange, n int) {
	if e.net != nil {
		once(e.net, at, func(now wheel.Time) { e.resend(now, int64(r.Start), int64(r.End), n) })
	}
}

// resend retransmits what of [start, stop) has left fewer than n times.
func (e *end) resend(now wheel.Time, start, stop int64, n int) {
	e.conn.Follower().Resend(now, tcp.SeqRange{Start: tcp.Seq(start), End: tcp.Seq(stop)}, uint8(min(n, 255)), &e.out)
	e.flush(now)
}

// acked returns the first place that is not acknowledged.
func (e *end) acked() int64 {
	n := int64(e.conn.Acked())
	if n == 0 && e.conn.State() <= tcp.StateSynReceived {
		return 0
	}
	return 1 + n
}

// unacked returns how many bytes were written and are not acknowledged.
func (e *end) unacked() uint64 {
	if e.conn == nil {
		return 0
	}
	return e.app.bytes - e.conn.Acked()
}

// dial opens the connection.
func (e *end) dial(now wheel.Time) {
	e.conn = new(tcp.Conn)
	e.conn.Init(e.cfg, e.path, 0, 0)
	e.conn.Connect(now, &e.out)
	e.flush(now)
}

// receive takes in a segment of the peer with n bytes of payload.
func (e *end) receive(now wheel.Time, h *tcp.Header, n uint32) {
	in := tcp.Inbound{Header: h, Len: n}
	if e.conn == nil {
		if e.side == 0 || h.Flags&(tcp.SYN|tcp.ACK|tcp.RST) != tcp.SYN {
			return
		}
		e.conn = new(tcp.Conn)
		e.conn.Init(e.cfg, e.path, 0, 0)
		e.conn.Accept(now, &in, &e.out)
	} else {
		e.app.arrived += uint64(e.conn.Input(now, &in, &e.out).InOrder)
	}
	e.flush(now)
}

// flush carries out what a call of the connection has left. An application may call it: it is told
// of what it causes after it has returned.
func (e *end) flush(now wheel.Time) {
	e.carryOut(now)
	if e.busy {
		return
	}
	e.busy = true
	for e.events != 0 {
		events := e.events
		e.events = 0
		e.app.told(now, events)
	}
	e.busy = false
}

// carryOut sends segments, starts and stops timers, and notes events.
func (e *end) carryOut(now wheel.Time) {
	for i := range e.out.Segments {
		e.transmit(now, &e.out.Segments[i])
	}
	if e.net != nil {
		for _, op := range e.out.Timers {
			e.setTimer(op)
		}
	}
	e.events |= e.out.Events
	e.out.Reset()
}

// setTimer carries out a timer operation, unless the decider is in charge of it.
func (e *end) setTimer(op tcp.TimerOp) {
	if e.cfg.Replay.ResendOnly {
		switch op.Slot.Kind() {
		case tcptimers.Rexmit, tcptimers.TLP, tcptimers.Reorder:
			return
		}
	}
	i := int(op.Slot)
	for i >= len(e.timers) {
		slot := tcp.Slot(len(e.timers))
		e.timers = append(e.timers, &alarm{do: func(now wheel.Time) {
			e.conn.Expire(now, slot, &e.out)
			e.flush(now)
		}})
	}
	if op.Start {
		e.timers[i].set(e.net, op.At)
	} else {
		e.timers[i].stop(e.net)
	}
}

// transmit hands a segment to the carrier, unless it is an ACK that is held.
func (e *end) transmit(now wheel.Time, s *tcp.Outgoing) {
	o := &e.leaves
	*o = outgoing{header: s.Header, bytes: s.Len, try: int(s.Rexmit) + 1}
	o.start = s.Header.Seq.Unwrap(e.sent)
	o.end = o.start + int64(s.Len)
	if s.Header.Flags.HasAny(tcp.SYN | tcp.FIN) {
		o.end++
	}
	e.sent = max(e.sent, o.end)
	if s.Header.Flags.Has(tcp.ACK) {
		o.ack = s.Header.Ack.Unwrap(e.heard)
		e.heard = max(e.heard, o.ack)
	}
	if o.end > o.start {
		e.decider.sent(now, e, o.start, o.end, o.try)
	}
	if e.acks == nil || e.acks.take(now, o) {
		e.carrier.carry(now, e, o)
	}
}

// fork returns a copy of e that is released at now: in a run, under a decider, with an estimator of
// its own. acked is when it last heard of an ACK of new data.
func (e *end) fork(now wheel.Time, r *run, d decider, est tcptimers.Estimator, acked wheel.Time) *end {
	f := *e
	f.net, f.decider, f.carrier, f.cfg = r.net, d, r, r.configs[e.side]
	f.out, f.timers = outputFor(f.cfg, e.side, now), nil
	f.app.fork(&f)
	if e.acks != nil {
		f.acks = e.acks.fork(now, &f)
	}
	if e.conn != nil {
		f.conn = e.conn.Fork(now, f.cfg, est, acked, &f.out)
	}
	return &f
}

// outputFor makes the output of an end that begins at now. A policy with jitter draws from a source
// that depends on the end and the instant alone: the same draws in each run, and for each policy.
func outputFor(c *tcp.Config, side int, now wheel.Time) (o tcp.Output) {
	if c.Policy.Jitter > 0 {
		o.Rand = rand.New(rand.NewSource(int64(sim.Mix64(2*uint64(now) + uint64(side)))))
	}
	return o
}

// config makes the configuration of an end, under a decider.
func (s *CapturedConn) config(side int, o *Options, d decider) (*tcp.Config, tcp.Path, error) {
	e := &s.Ends[side]
	policy := d.policy()
	if !o.Own {
		policy.DelAck = tcptimers.DelAckConfig{Every: 1} // its ackPacer holds them
	}
	policy.Keepalive = false
	if policy.Phase == tcptimers.PhaseJiffies {
		if origin, ok := ticks(&policy, e.Timed); ok {
			policy.Origin = origin
		}
	}
	c := tcp.DefaultConfig(policy)
	c.Replay = &tcp.ReplayConfig{ResendOnly: d.resendOnly()}
	if !o.Own {
		c.Replay.Slack, c.Replay.Limits = ackTurnaround, e.SendLimits
	}
	c.Control = o.Congestion
	if c.Control == "" {
		c.Control = "newreno"
	}
	c.SACK, c.Timestamps, c.WScale = e.SACK, e.Timestamps, e.WScale || e.Window > 65535
	c.RecvBuffer, c.RecvBufferMax = max(e.Window, 1), 0
	c.Socket.NoDelay = true
	c.Socket.MaxSeg = max(e.MSS, tcp.MinMSS)
	c.Congestion.InitialWindow = e.FirstFlight
	path := tcp.Path{MTU: s.mtu(), IPv6: s.IPv6}
	if err := c.Check(); err != nil {
		return nil, path, err
	}
	return &c, path, path.Check()
}

// mss returns the length of the longest segments of both ends.
func (s *CapturedConn) mss() uint16 { return max(s.Ends[0].MSS, s.Ends[1].MSS) }

// mtu returns what these fit into with the headers of IP and TCP.
func (s *CapturedConn) mtu() int {
	if s.IPv6 {
		return int(s.mss()) + 60
	}
	return int(s.mss()) + 40
}
