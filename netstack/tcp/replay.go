package tcp

import (
	"fmt"
	"slices"
	"time"

	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// ReplayConfig has a connection follow another sender, for replays of captures. It must not change
// while a connection uses it. Connections without one pay a comparison with nil at each place that
// asks.
type ReplayConfig struct {
	// Limits say how much new data may leave, in place of congestion control, in the order of
	// Delivered. Retransmissions are left to congestion control, and so is the new data that a loss
	// probe sends. None leaves everything to it.
	Limits []SendLimit

	// Slack is how far the times of arrivals may be off, 0 to 1 s. RACK takes an ACK that came up
	// to Slack sooner than the least round trip for that of the retransmission.
	Slack time.Duration

	// ResendOnly leaves retransmissions to Conn.Resend: ACKs find no loss. The owner must not carry
	// out the timers that retransmit or find losses either.
	ResendOnly bool

	// Estimator measures the round trips, in place of the policy's; nil for that one. With one, the
	// ReplayConfig is for one connection.
	Estimator tcptimers.Estimator
}

// SendLimit is how much new data may leave once so many bytes are known to have arrived. It holds
// until the next limit.
type SendLimit struct {
	Delivered uint64 `json:"delivered"` // bytes of the stream that ACKs and SACKs report
	Bytes     uint32 `json:"bytes"`     // how many more may have been sent

	// AtLeast says that the other sender had nothing more to send, so that its limit is not known.
	// Congestion control decides on what exceeds Bytes.
	AtLeast bool `json:"at_least,omitempty"`
}

// Check returns an error that names the first field that is out of its bounds, or the first limit
// that is not behind the one before it. It may be called on nil.
func (r *ReplayConfig) Check() error {
	if r == nil {
		return nil
	}
	if r.Slack < 0 || r.Slack > time.Second {
		return fmt.Errorf("tcp: replay with a slack of %v, want 0s to 1s", r.Slack)
	}
	for i := 1; i < len(r.Limits); i++ {
		if r.Limits[i].Delivered <= r.Limits[i-1].Delivered {
			return fmt.Errorf("tcp: send limit %d at %d bytes, want more than %d", i, r.Limits[i].Delivered, r.Limits[i-1].Delivered)
		}
	}
	return nil
}

// limit returns the limit for so many bytes delivered, nil if there is none yet. It costs O(log
// limits).
func (r *ReplayConfig) limit(delivered uint64) *SendLimit {
	i, found := slices.BinarySearchFunc(r.Limits, delivered, func(l SendLimit, delivered uint64) int {
		switch {
		case l.Delivered < delivered:
			return -1
		case l.Delivered > delivered:
			return 1
		}
		return 0
	})
	if !found {
		i--
	}
	if i < 0 {
		return nil
	}
	return &r.Limits[i]
}

// replayLimits reports whether limits of a replay, in the place of congestion control, say when new
// data leaves.
func (c *Conn) replayLimits() bool { return c.cfg.Replay != nil && len(c.cfg.Replay.Limits) > 0 }

// allowsNew reports whether n bytes of new data may leave.
func (c *Conn) allowsNew(n uint32) bool {
	// Duplicate ACKs without SACK do not say how much has arrived.
	if !c.replayLimits() || !c.rcv.sackOn && (c.caState >= CARecovery || c.rec.dup.N() > 0) {
		return c.cwndAllows(n)
	}
	delivered := c.acked + uint64(c.fl.sent.Sacked().Bytes)
	l := c.cfg.Replay.limit(delivered)
	if l == nil {
		return c.cwndAllows(n)
	}
	sent := c.acked + uint64(c.sndNxt.Sub(c.dataUna())) + uint64(n)
	if sent > delivered+uint64(l.Bytes) {
		return l.AtLeast && c.cwndAllows(n)
	}
	if c.caState < CACWR {
		c.cc.Raise(c.pipe() + n)
	}
	return true
}

// timingSlack returns how far the times of arrivals may be off.
func (c *Conn) timingSlack() time.Duration {
	if c.cfg.Replay == nil {
		return 0
	}
	return c.cfg.Replay.Slack
}

// resendOnly reports whether retransmissions are left to Resend.
func (c *Conn) resendOnly() bool { return c.cfg.Replay != nil && c.cfg.Replay.ResendOnly }

// observeResent takes in what an ACK says of reordering, and of an episode that Resend began,
// without detecting a loss.
func (c *Conn) observeResent(a *ackFacts) {
	r := &c.rec
	leaving := r.resent && c.sndUna.AtOrAfter(r.recover)
	r.resent = r.resent && !leaving
	if c.rcv.sackOn && (a.dsack || leaving) {
		r.rack.updateReoWnd(&c.fl.sent, rackInput{
			SndUna: c.sndUna, SndNxt: c.sndNxt, SRTT: c.est.SRTT(), LeavingRecovery: leaving, DSACK: c.dsackWidens(a),
		})
	}
}

// SendNew sends what was written and not sent yet, up to end, whatever windows say. The congestion
// window is then at least what is in flight.
func (c *Conn) SendNew(now wheel.Time, end Seq, o *Output) {
	if c.state < StateEstablished {
		return
	}
	for c.sndNxt.Before(end) {
		n := min(c.queued(), c.segmentMSS(), end.Sub(c.sndNxt))
		fin := c.finQueued && !c.finSent && n == c.queued() && c.sndNxt.Add(n).Before(end)
		if n == 0 && !fin || !c.sendData(now, n, fin, o) {
			break
		}
	}
	c.cc.Raise(c.pipe())
}

// Resend retransmits the segments of a range that were sent fewer than n times and are not SACKed.
// They count as retransmitted, also for Karn's algorithm, and their timers start again. They do not
// count as lost, and congestion control does not hear of them. Resend ignores what is not in
// flight. It costs O(log n) for each segment of the range.
func (c *Conn) Resend(now wheel.Time, r SeqRange, n uint8, o *Output) {
	for at := r.Start; at.Before(r.End); {
		id := c.fl.sent.Find(at)
		if id == 0 {
			if at.Before(c.sndUna) {
				at = c.sndUna
				continue
			}
			return
		}
		s := c.fl.sent.Get(id)
		at = s.Seq.Add(s.Len)
		if !s.Sacked() && s.Transmissions < n {
			if !c.rec.resent && c.state >= StateEstablished {
				c.rec.resent, c.rec.recover = true, c.sndNxt
			}
			c.retransmit(now, id, o)
		}
	}
}

// Fork returns a copy of c at now that goes on under another configuration, with an estimator that
// has measured the round trips so far. c does not change, and neither hears of
// the other from then on.
//
// The copy has backed off nothing. It is in fast recovery if Resend has begun an episode that
// lasts, but deems nothing lost. Its congestion window is the replay's limit, or that of c where it
// is not known. Its timers run as if cfg had always held: a segment's since it was last sent, and
// one that all share since acked, when SND.UNA last advanced. Overdue timers expire at once. It
// costs O(segments in flight).
func (c *Conn) Fork(now wheel.Time, cfg *Config, est tcptimers.Estimator, acked wheel.Time, o *Output) *Conn {
	f := new(Conn)
	*f = *c
	f.cfg, f.opts, f.est, f.timers = cfg, &cfg.Socket, est, timers{}
	f.rexmit = rexmitTimerOf(&cfg.Policy)
	f.setDetector()
	f.rcv.queue.held = slices.Clone(c.rcv.queue.held)
	if c.rcv.sack != nil {
		gen := *c.rcv.sack
		f.rcv.sack = &gen
	}
	if c.rare != nil {
		rare := *c.rare
		f.rare = &rare
	}
	if c.fl != &atRest {
		fl := *c.fl
		fl.sent.arena = slices.Clone(c.fl.sent.arena)
		fl.sent.order = slices.Clone(c.fl.sent.order)
		for i := range fl.sent.arena {
			fl.sent.arena[i].Armed, fl.sent.arena[i].ref = false, 0
		}
		f.fl = &fl
	}
	if f.caState > CADisorder {
		f.caState = CAOpen
	}
	f.forkControl()
	if recover := c.rec.recover; c.rec.resent && !f.resendOnly() {
		f.enterRecovery(now, o.newAck(), o)
		f.rec.recover, f.rec.forceFirst = recover, false
		f.rec.dup.Recover(recover)
	}
	f.forkTimers(now, acked, o)
	return f
}

// forkControl gives a copy a congestion control of its own, with the window that the replay knows.
func (c *Conn) forkControl() {
	if c.cc == nil {
		return // it is made when the handshake is over
	}
	window := c.cc.Cwnd()
	if c.replayLimits() {
		if l := c.cfg.Replay.limit(c.acked + uint64(c.fl.sent.Sacked().Bytes)); l != nil && !l.AtLeast {
			window = l.Bytes
		}
	}
	cfg := c.cfg.Congestion
	cfg.MSS, cfg.Paced, cfg.InitialWindow = c.mss, c.cfg.Pacing, max(window, c.pipe(), c.mss)
	cc, err := congestion.New(c.cfg.Control, cfg)
	if err != nil {
		panic("BUG: " + err.Error()) // the configuration was checked
	}
	c.cc = cc
}

// forkTimers starts the timers of a copy.
func (c *Conn) forkTimers(now, acked wheel.Time, o *Output) {
	if c.fl.sent.Len() == 0 || c.resendOnly() {
		return
	}
	c.timer().rebase(c, now, acked, o)
	if c.state >= StateEstablished {
		c.timer().scheduleProbe(c, max(acked, c.lastSent), o)
	}
}
