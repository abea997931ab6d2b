package congestion

import (
	"fmt"
	"math/bits"
	"time"

	"tcpwheel/wheel"
)

// vegas is TCP Vegas (L. Brakmo and L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a
// Global Internet", IEEE JSAC 13(8), 1995). Once per round trip it compares the rate that the
// window should give, cwnd/BaseRTT, with the one that it gave, cwnd/RTT: their difference times
// BaseRTT is what waits in queues, which it keeps between α and β segments. In slow start the
// window doubles every other round, so that the rounds between compare like with like, and slow
// start ends when γ segments wait. To losses it responds as Reno does.
//
// DEVIATION from the paper: the RTT of a round is the least of its samples, as Linux's tcp_vegas
// takes it, not that of one distinguished segment, so that delayed ACKs do not count as queues.
type vegas struct {
	window
	alpha, beta, gamma uint32
	baseRTT, roundRTT  time.Duration // BaseRTT, and the least of this round; 0 for none
	roundEnd           uint32        // the round ends when this is acknowledged
	roundCwnd          uint32        // the window when the round began
	inRound            bool
	holdRound          bool // in slow start, the window stays in this round
}

func newVegas(cfg Config) (*vegas, error) {
	if cfg.Alpha == 0 && cfg.Beta == 0 && cfg.Gamma == 0 {
		cfg.Alpha, cfg.Beta, cfg.Gamma = 2, 4, 1
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
	if a.RTT > 0 {
		c.baseRTT, c.roundRTT = least(c.baseRTT, a.RTT), least(c.roundRTT, a.RTT)
	}
	if a.MinRTT > 0 {
		c.baseRTT = least(c.baseRTT, a.MinRTT)
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

// endRound is what happens once per round trip. limited is whether the window may grow. It reports
// whether it ended slow start.
func (c *vegas) endRound(limited bool) (ended bool) {
	waiting := c.queuedBytes()
	mss := uint64(c.mss)
	switch {
	case c.InSlowStart():
		// When the actual rate is below the expected one by γ, slow start is over. Only a round in
		// which the window stayed tells.
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
		// A window that shrinks by itself stays in this mode.
		c.ssthresh = min(c.ssthresh, max(c.cwnd, 2*c.mss))
	}
	return false
}

// queuedBytes is cwnd·(RTT-BaseRTT)/RTT, in bytes.
func (c *vegas) queuedBytes() uint64 {
	hi, lo := bits.Mul64(uint64(c.roundCwnd), uint64(c.roundRTT-c.baseRTT))
	q, _ := bits.Div64(hi, lo, uint64(c.roundRTT)) // hi < rtt, as start < 2^32 and the quotient is at most start
	return q
}

// least returns the lesser of two spans, of which a is 0 if there is none yet.
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

// VegasCheck is the fine-grained check of TCP Vegas, which works with any control: on a duplicate
// ACK, or the first or second ACK of new data after a retransmission, it looks at the time that the
// first unacknowledged segment was sent, and does not wait for three duplicate ACKs if its timeout
// has passed. The zero value is ready.
type VegasCheck struct {
	left uint8 // ACKs of new data to check yet
}

// OnRetransmit notes that a segment was retransmitted.
func (v *VegasCheck) OnRetransmit() { v.left = 2 }

// OnAck reports whether to retransmit the first unacknowledged segment, which was last sent at
// sent. rto is the timeout of the fine clock, not of a coarse one and without its floor.
func (v *VegasCheck) OnAck(now wheel.Time, duplicate bool, sent wheel.Time, rto time.Duration) bool {
	if !duplicate {
		if v.left == 0 {
			return false
		}
		v.left--
	}
	return now.Sub(sent) > rto
}
