package tcp

import (
	"fmt"
	"slices"
	"time"

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

// limits reports whether limits of a replay, in the place of congestion control, say when new
// data leaves.
func (r *ReplayConfig) limits() bool { return r != nil && len(r.Limits) > 0 }

// slack returns how far the times of arrivals may be off.
func (r *ReplayConfig) slack() time.Duration {
	if r == nil {
		return 0
	}
	return r.Slack
}

// resendOnly reports whether retransmissions are left to Resend.
func (r *ReplayConfig) resendOnly() bool { return r != nil && r.ResendOnly }

// observeResent takes in what an ACK says of reordering, and of an episode that Resend began,
// without detecting a loss.
func (e *episode) observeResent(snd *sender, a *ackFacts) {
	leaving := e.resent && snd.una.AtOrAfter(e.recover)
	e.resent = e.resent && !leaving
	if snd.rcv.sackOn && (a.dsack || leaving) {
		snd.rack.updateReoWnd(&snd.fl.sent, rackInput{
			SndUna: snd.una, SndNxt: snd.nxt, SRTT: snd.rtt.est.SRTT(), LeavingRecovery: leaving, DSACK: a.dsackWidens(snd),
		})
	}
}

// Follower is what replays need of a sender besides ReplayConfig.
type Follower interface {
	// SendNew sends what was written and not sent yet, up to end, whatever windows say. The
	// congestion window is then at least what is in flight. It is a no-op before ESTABLISHED.
	SendNew(now wheel.Time, end Seq, o *Output)

	// Resend retransmits the segments of a range that were sent fewer than n times and are not
	// SACKed. They count as retransmitted, also for Karn's algorithm, and their timers start again.
	// They do not count as lost, and congestion control does not hear of them. Resend ignores what
	// is not in flight. It costs O(log n) for each segment of the range.
	Resend(now wheel.Time, r SeqRange, n uint8, o *Output)
}

// Follower returns what replays need of c.
func (c *Conn) Follower() Follower { return &c.snd }

// SendNew is Follower's.
func (snd *sender) SendNew(now wheel.Time, end Seq, o *Output) {
	if !snd.established() {
		return
	}
	for snd.nxt.Before(end) {
		n := min(snd.queued(), snd.segmentMSS(), end.Sub(snd.nxt))
		fin := snd.writes.fin && !snd.writes.finSent && n == snd.queued() && snd.nxt.Add(n).Before(end)
		if n == 0 && !fin || !snd.sendData(now, n, fin, o) {
			break
		}
	}
	snd.cc.Raise(snd.pipe())
}

// Resend is Follower's.
func (snd *sender) Resend(now wheel.Time, r SeqRange, n uint8, o *Output) {
	for at := r.Start; at.Before(r.End); {
		id := snd.fl.sent.Find(at)
		if id == 0 {
			if at.Before(snd.una) {
				at = snd.una
				continue
			}
			return
		}
		s := snd.fl.sent.Get(id)
		at = s.Seq.Add(s.Len)
		if !s.Sacked() && s.Transmissions < n {
			if !snd.ep.resent && snd.established() {
				snd.ep.resent, snd.ep.recover = true, snd.nxt
			}
			snd.retransmit(now, id, o)
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
	f.snd.cfg, f.snd.opts, f.snd.rcv, f.snd.rtt.est = cfg, &cfg.Socket, &f.rcv, est
	f.life, f.snd.timers = life{}, timers{}
	if c.snd.past != nil {
		past := *c.snd.past
		f.snd.past = &past
	}
	if c.snd.marks != nil {
		marks := *c.snd.marks
		f.snd.marks = &marks
	}
	f.snd.rexmit = rexmitTimerOf(&cfg.Policy)
	f.snd.detector = lossDetectorOf(f.snd.cfg, f.rcv.sackOn)
	f.rcv.queue.held = slices.Clone(c.rcv.queue.held)
	if c.rcv.sack != nil {
		gen := *c.rcv.sack
		f.rcv.sack = &gen
	}
	if c.snd.fl != &atRest {
		fl := *c.snd.fl
		fl.sent.arena = slices.Clone(c.snd.fl.sent.arena)
		fl.sent.order = slices.Clone(c.snd.fl.sent.order)
		for i := range fl.sent.arena {
			fl.sent.arena[i].Armed, fl.sent.arena[i].ref = false, 0
		}
		f.snd.fl = &fl
	}
	f.snd.ep.end()
	f.snd.cc.fork(&f.snd)
	if recover := c.snd.ep.recover; c.snd.ep.resent && !f.snd.cfg.Replay.resendOnly() {
		f.snd.ep.enterRecovery(&f.snd, now, o.newAck(), o)
		f.snd.ep.recover, f.snd.ep.forceFirst = recover, false
		f.snd.dup.Recover(recover)
	}
	f.snd.forkTimers(now, acked, o)
	return f
}

// forkTimers starts the timers of a copy.
func (snd *sender) forkTimers(now, acked wheel.Time, o *Output) {
	if snd.fl.sent.Len() == 0 || snd.cfg.Replay.resendOnly() {
		return
	}
	snd.timer().rebase(snd, now, acked, o)
	if snd.established() {
		snd.timer().scheduleProbe(snd, max(acked, snd.stats.lastSent), o)
	}
}
