package congestion

import (
	"time"

	"tcpwheel/wheel"
)

// newReno is standard congestion control: RFC 5681 and RFC 6582, with byte counting by RFC 3465.
type newReno struct {
	window
	hystart *hystartPlusPlus // nil for standard slow start
}

func newNewReno(cfg Config) *newReno {
	c := &newReno{window: newWindow(cfg)}
	if cfg.SlowStart == HyStartPlusPlus {
		c.hystart = newHystart(cfg)
	}
	return c
}

func (c *newReno) OnAck(now wheel.Time, a Ack) (delayed bool) {
	acked := c.growthBytes(now, a)
	switch {
	case !c.InSlowStart():
		c.avoid(acked)
	case c.hystart != nil && c.ssthresh == infinite:
		return c.hystartAck(c.hystart, a, acked)
	default:
		c.slowStart(acked, c.abc())
	}
	return false
}

// hystartAck processes an ACK in the initial slow start with HyStart++, and reports whether that
// ended slow start.
func (w *window) hystartAck(h *hystartPlusPlus, a Ack, acked uint32) bool {
	w.grow(h.Growth(acked, w.mss))
	if h.OnAck(a.RTT, a.Una, a.Nxt) {
		// RFC 9406 §4.2: "If CSS_ROUNDS rounds are complete, enter congestion avoidance by setting
		// the ssthresh to the current cwnd."
		w.ssthresh, w.bytesAcked = max(w.cwnd, 2*w.mss), 0
		return true
	}
	return false
}

func (c *newReno) OnCongestion(_ wheel.Time, flight uint32, _ Cause) {
	c.reduce(flight, 1, 2, false)
	c.cwnd = c.ssthresh
}

func (c *newReno) OnTimeout(_ wheel.Time, flight uint32, first bool) { c.timeout(flight, 1, 2, first) }
func (c *newReno) OnRecovered(_ wheel.Time, flight uint32)           { c.recovered(flight) }

func (c *newReno) Undo(_ wheel.Time, flight, acked uint32) bool { return c.undo(flight, acked) }

func (c *newReno) OnApplicationLimited(now wheel.Time) {
	if c.validation != nil {
		c.validation.OnIdle(now)
		c.endPreserving(now)
	}
}

func (c *newReno) OnIdle(now wheel.Time, idle, rto time.Duration) { c.idle(now, idle, rto) }
func (c *newReno) SetMSS(mss uint32)                              { c.setMSS(mss) }
func (c *newReno) Name() string                                   { return "newreno" }

func (c *newReno) State() State {
	s := c.state("newreno")
	s.Conservative = c.hystart != nil && s.SlowStart && c.hystart.Conservative()
	return s
}
