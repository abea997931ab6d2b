package congestion

import (
	"fmt"
	"math/bits"
	"time"

	"tcpwheel/wheel"
)

// vegas is TCP Vegas (L. Brakmo and L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a
// Global Internet", IEEE JSAC 13(8), 1995). Once per RTT it compares the expected rate cwnd/BaseRTT
// with the actual rate cwnd/RTT. Their difference times BaseRTT is the data in queues, which it
// keeps between α and β segments. In slow start the window doubles every other round, so that the
// rounds between measure a constant window. Slow start ends when γ segments are queued. It responds
// to losses as Reno does.
//
// DEVIATION from the paper: the RTT of a round is its minimum sample, as in Linux's tcp_vegas, not
// that of one distinguished segment. So delayed ACKs do not count as queues.
type vegas struct {
	window
	alpha, beta, gamma uint32
	baseRTT, roundRTT  time.Duration // BaseRTT and this round's minimum; 0 for none
	roundEnd           uint32        // the ACK of this ends the round
	roundCwnd          uint32        // cwnd at the start of the round
	inRound            bool
	holdRound          bool // in slow start, keep the window in this round
}

func newVegas(cfg Config) (*vegas, error) {
	if cfg.Alpha == 0 && cfg.Beta == 0 {
		cfg.Alpha, cfg.Beta = 2, 4
	}
	if cfg.Gamma == 0 {
		cfg.Gamma = 1
	}
	if cfg.Alpha < 1 || cfg.Beta < cfg.Alpha || cfg.Gamma < 1 || cfg.Beta > 1<<14 || cfg.Gamma > 1<<14 {
		return nil, fmt.Errorf("congestion: Alpha %d, Beta %d, Gamma %d segments, want 1 <= Alpha <= Beta <= 16384 and Gamma "+
			"1..16384", cfg.Alpha, cfg.Beta, cfg.Gamma)
	}
	return &vegas{window: newWindow(cfg), alpha: cfg.Alpha, beta: cfg.Beta, gamma: cfg.Gamma}, nil
}

func (c *vegas) OnAck(now wheel.Time, a Ack) (delayed bool) {
	acked := c.growthBytes(now, a)
	if !c.inRound {
		c.startRound(a.Nxt)
	}
	if a.RTT > 0 && !a.SYN { // a SYN takes less time on a slow link than a segment of data
		c.baseRTT, c.roundRTT = least(c.baseRTT, a.RTT), least(c.roundRTT, a.RTT)
	}
	slow := c.InSlowStart()
	if slow && !c.holdRound {
		c.slowStart(acked, c.abc())
	}
	if before(a.Una, c.roundEnd) {
		return false
	}
	if c.roundRTT > 0 && c.baseRTT > 0 {
		delayed = c.endRound(acked > 0 && !slow)
	}
	c.holdRound = !c.holdRound
	c.startRound(a.Nxt)
	return delayed
}

func (c *vegas) startRound(nxt uint32) {
	c.inRound, c.roundEnd, c.roundCwnd, c.roundRTT = true, nxt, c.cwnd, 0
}

// endRound adapts the window once per RTT. limited says that the window may grow. It reports
// whether it ended slow start.
func (c *vegas) endRound(limited bool) (ended bool) {
	waiting := c.queuedBytes()
	mss := uint64(c.mss)
	switch {
	case c.InSlowStart():
		// Slow start ends when the actual rate is γ below the expected one. Only a round with a
		// constant window counts.
		if c.holdRound && waiting > uint64(c.gamma)*mss {
			c.ssthresh = max(c.cwnd, 2*c.mss)
			c.afterTimeout = false
			return true
		}
	case waiting < uint64(c.alpha)*mss:
		if limited {
			c.grow(c.mss)
		}
	case waiting > uint64(c.beta)*mss:
		c.cwnd = max(c.cwnd-min(c.cwnd, c.mss), min(c.cwnd, 2*c.mss))
		// Keep ssthresh at or below cwnd, to stay in congestion avoidance.
		c.ssthresh = min(c.ssthresh, max(c.cwnd, 2*c.mss))
	}
	return false
}

// queuedBytes returns cwnd·(RTT-BaseRTT)/RTT.
func (c *vegas) queuedBytes() uint64 {
	hi, lo := bits.Mul64(uint64(c.roundCwnd), uint64(c.roundRTT-c.baseRTT))
	q, _ := bits.Div64(hi, lo, uint64(c.roundRTT)) // no overflow: the quotient is at most roundCwnd
	return q
}

// least returns the smaller of a and b, or b if a is 0.
func least(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}

func (c *vegas) OnCongestion(_ wheel.Time, flight uint32, _ Cause) {
	c.reduce(flight, 1, 2, false)
	c.cwnd = c.ssthresh
	c.inRound = false
}

func (c *vegas) OnTimeout(_ wheel.Time, flight uint32, first bool) {
	c.timeout(flight, 1, 2, first)
	c.inRound, c.holdRound = false, false
}

func (c *vegas) OnRecovered(_ wheel.Time, flight uint32) {
	c.recovered(flight)
	c.inRound = false
}

func (c *vegas) Undo(_ wheel.Time, flight, acked uint32) bool {
	c.inRound = false
	return c.undo(flight, acked)
}

func (c *vegas) OnApplicationLimited(now wheel.Time) {
	if c.validation != nil {
		c.validation.OnIdle(now)
		c.endPreserving(now)
	}
}

func (c *vegas) OnIdle(now wheel.Time, idle, rto time.Duration) {
	if c.idle(now, idle, rto) {
		c.inRound, c.holdRound = false, false
	}
}

func (c *vegas) SetMSS(mss uint32) { c.setMSS(mss) }
func (c *vegas) Name() string      { return "vegas" }

func (c *vegas) State() State {
	s := c.state("vegas")
	s.BaseRTT = c.baseRTT
	return s
}

// VegasCheck is TCP Vegas's fine-grained loss check, which works with any controller. On a
// duplicate ACK, and on the first two ACKs of new data after a retransmission, it checks whether
// the timeout of the first unacknowledged segment has passed, instead of waiting for three
// duplicate ACKs. The zero value is ready.
type VegasCheck struct {
	left uint8 // ACKs of new data still to check
}

// OnRetransmit records a retransmission.
func (v *VegasCheck) OnRetransmit() { v.left = 2 }

// OnAck reports whether to retransmit the first unacknowledged segment, last sent at sent. rto is
// the fine-grained timeout without a floor.
func (v *VegasCheck) OnAck(now wheel.Time, duplicate bool, sent wheel.Time, rto time.Duration) bool {
	if !duplicate {
		if v.left == 0 {
			return false
		}
		v.left--
	}
	return now.Sub(sent) > rto
}
