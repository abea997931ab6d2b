package tcp

import (
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// rackDetector finds losses by time: RFC 8985 §6.2. Its state is rackState.
type rackDetector struct{}

func (d *rackDetector) onAck(snd *sender, now wheel.Time, leaving bool, a *ackFacts, o *Output) {
	if a.delivered > 0 || a.dsack || leaving {
		d.detect(snd, now, leaving, a, o)
	}
}

func (d *rackDetector) onTimer(snd *sender, now wheel.Time, o *Output) {
	a := o.newAck()
	a.byTimer = true
	d.detect(snd, now, false, a, o)
}

// onTimeout is RFC 8985 §6.3.
func (*rackDetector) onTimeout(snd *sender, now wheel.Time, id segmentID) {
	snd.rack.MarkLossesOnRTO(now, &snd.fl.sent, snd.fl.lowerRexmitHint)
	if s := snd.fl.sent.seg(id); !s.Lost() || s.RetransOut() {
		snd.fl.markLost(id)
	}
}

func (*rackDetector) entered(_ *sender, o *Output) { o.Counters.TCPSackRecovery++ }
func (*rackDetector) failed(o *Output)             { o.Counters.TCPSackFailures++ }
func (*rackDetector) partialEnds() bool            { return false }

func (*rackDetector) sendLost(snd *sender, now wheel.Time, o *Output) { snd.sendMarked(now, o) }

// detect marks newly lost segments, after an ACK or when the reordering timer expires.
func (*rackDetector) detect(snd *sender, now wheel.Time, leaving bool, a *ackFacts, o *Output) {
	before := uint32(0)
	if a.byTimer {
		before = snd.pipe()
	}
	found := false
	// Run it with nothing in flight too: DSACKs and the end of a recovery change the reordering
	// window.
	timeout, ok := snd.rack.Detect(now, &snd.fl.sent, rackInput{
		SndUna: snd.una, SndNxt: snd.nxt, SRTT: snd.rtt.est.SRTT(),
		InRecovery: snd.ep.repairing(), LeavingRecovery: leaving, DSACK: a.dsackWidens(snd),
	}, func(id segmentID) {
		found = true
		if snd.fl.sent.seg(id).RetransOut() {
			o.Counters.TCPLostRetransmit++
		}
		snd.fl.lowerRexmitHint(id)
	})
	switch timer := snd.timer(); {
	case !ok:
		timer.stopLoss(snd, tcptimers.Reorder, o)
	case !a.byTimer || timer.looksAgain():
		timer.startLoss(snd, tcptimers.Reorder, snd.cfg.Policy.ReorderDeadline(now, timeout), o)
		a.startedReorder = true
	}
	a.lost = a.lost || found
	if !snd.ep.repairing() && (found || snd.fl.sent.pendingRexmits() > 0 && !snd.ep.tooBig) {
		snd.ep.enterRecovery(snd, now, a, o)
		if a.byTimer { // no ACK follows to update PRR
			snd.fl.sndcnt = snd.fl.prr.OnAck(1, snd.pipe(), false, true)
		}
	} else if a.byTimer && snd.ep.fast() {
		// As in Linux, the room of newly lost segments is free.
		snd.fl.sndcnt += before - snd.pipe()
	}
}
