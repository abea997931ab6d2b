package tcp

import (
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// rackDetector finds losses by time: RFC 8985 §6.2. Its state is rackState.
type rackDetector struct{}

func (d *rackDetector) onAck(c *Conn, now wheel.Time, leaving bool, a *ackFacts, o *Output) {
	if a.delivered > 0 || a.dsack || leaving {
		d.detect(c, now, leaving, a, o)
	}
}

func (d *rackDetector) onTimer(c *Conn, now wheel.Time, o *Output) {
	a := o.newAck()
	a.byTimer = true
	d.detect(c, now, false, a, o)
}

// onTimeout is RFC 8985 §6.3.
func (*rackDetector) onTimeout(c *Conn, now wheel.Time, id segmentID) {
	c.rec.rack.MarkLossesOnRTO(now, &c.fl.sent, c.lowerRexmitHint)
	if s := c.fl.sent.seg(id); !s.Lost() || s.RetransOut() {
		c.markLost(id)
	}
}

func (*rackDetector) entered(_ *Conn, o *Output) { o.Counters.TCPSackRecovery++ }
func (*rackDetector) failed(o *Output)           { o.Counters.TCPSackFailures++ }

func (*rackDetector) sendLost(c *Conn, now wheel.Time, o *Output) { c.sendMarked(now, o) }

// detect marks newly lost segments, after an ACK or when the reordering timer expires.
func (*rackDetector) detect(c *Conn, now wheel.Time, leaving bool, a *ackFacts, o *Output) {
	r := &c.rec
	before := uint32(0)
	if a.byTimer {
		before = c.pipe()
	}
	found := false
	// Run it with nothing in flight too: DSACKs and the end of a recovery change the reordering
	// window.
	timeout, ok := r.rack.Detect(now, &c.fl.sent, rackInput{
		SndUna: c.sndUna, SndNxt: c.sndNxt, SRTT: c.est.SRTT(),
		InRecovery: c.caState >= CARecovery, LeavingRecovery: leaving, DSACK: c.dsackWidens(a),
	}, func(id segmentID) {
		found = true
		if c.fl.sent.seg(id).RetransOut() {
			o.Counters.TCPLostRetransmit++
		}
		c.lowerRexmitHint(id)
	})
	switch timer := c.timer(); {
	case !ok:
		timer.stopLoss(c, tcptimers.Reorder, o)
	case !a.byTimer || timer.looksAgain():
		timer.startLoss(c, tcptimers.Reorder, c.cfg.Policy.ReorderDeadline(now, timeout), o)
		a.startedReorder = true
	}
	a.lost = a.lost || found
	if c.caState < CARecovery && (found || c.fl.sent.pendingRexmits() > 0 && !r.tooBig) {
		c.enterRecovery(now, a, o)
		if a.byTimer { // no ACK follows to update PRR
			c.fl.sndcnt = c.fl.prr.OnAck(1, c.pipe(), false, true)
		}
	} else if a.byTimer && c.caState == CARecovery {
		// As in Linux, the room of newly lost segments is free.
		c.fl.sndcnt += before - c.pipe()
	}
}
