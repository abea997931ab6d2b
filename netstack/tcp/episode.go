package tcp

import (
	"time"

	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// episode is the current or last reduction of the congestion window.
type episode struct {
	kind       CAState
	undoable   bool  // past says how to find out that it was spurious
	byTimeout  bool  // it began with a timeout
	forceFirst bool  // its first retransmission is still to be sent
	resent     bool  // Follower.Resend began it, and it lasts
	tooBig     bool  // past.tooBigEnd is valid and not yet acknowledged
	frtoCredit uint8 // new segments that F-RTO still allows
	recover    Seq   // SND.NXT when it began
}

// on reports whether the window was reduced, and SND.UNA has not reached recover.
func (e *episode) on() bool { return e.kind >= CACWR }

// repairing reports whether losses are being repaired: in fast recovery, or after a timeout.
func (e *episode) repairing() bool { return e.kind >= CARecovery }

// fast reports fast recovery, and afterTimeout that a timeout has ended it or taken its place.
func (e *episode) fast() bool         { return e.kind == CARecovery }
func (e *episode) afterTimeout() bool { return e.kind == CALoss }

// calm reports that nothing is amiss: no duplicate ACKs, SACKs or reduction.
func (e *episode) calm() bool { return e.kind == CAOpen }

// disordered says whether there are duplicate ACKs or SACKs. It counts outside of episodes.
func (e *episode) disordered(amiss bool) {
	switch {
	case e.kind == CAOpen && amiss:
		e.kind = CADisorder
	case e.kind == CADisorder && !amiss:
		e.kind = CAOpen
	}
}

// goOn takes the last episode for one that lasts, so that no other reduction follows.
func (e *episode) goOn() {
	if !e.on() {
		e.kind = CACWR
	}
}

// end ends the episode.
func (e *episode) end() {
	if e.on() {
		e.kind = CAOpen
	}
}

// begin starts a recovery episode and forgets the previous one.
func (e *episode) begin(snd *sender, o *Output) {
	p := snd.needPast()
	e.recover, p.startUna = snd.nxt, snd.una
	if snd.fl.sent.RetransOut().Segments == 0 {
		p.eifel.Reset()
	} else {
		p.eifel.Continue()
	}
	p.dsack.Reset()
	snd.tlp.Reset()
	e.undoable, e.forceFirst = true, true
	snd.dup.Recover(snd.nxt)
	snd.ecn.OnReduced(snd.nxt)
	snd.timer().stopLoss(snd, tcptimers.TLP, o)
}

// enterRecovery starts fast recovery.
func (e *episode) enterRecovery(snd *sender, now wheel.Time, a *ackFacts, o *Output) {
	reduced := e.kind == CACWR
	if !reduced {
		snd.cc.OnCongestion(now, snd.fl.sent.Outstanding().Bytes, congestion.FastRetransmit)
	}
	e.begin(snd, o)
	e.undoable = !reduced // the reduction for an ECN mark or a probe-repaired loss stays
	e.byTimeout = false
	recoverFS := congestion.RecoverFS(snd.fl.sent.Outstanding().Bytes, snd.fl.sent.Sacked().Bytes, a.sacked, a.acked)
	snd.fl.prr.Start(snd.cc.Ssthresh(), snd.mss, recoverFS)
	e.kind = CARecovery
	snd.losses().entered(snd, o)
}

// enterCWR reduces the window for congestion with no loss to repair. a.flight is the flight that
// caused it.
func (e *episode) enterCWR(snd *sender, now wheel.Time, a *ackFacts, o *Output, cause congestion.Cause) {
	snd.cc.OnCongestion(now, a.flight, cause)
	e.kind = CACWR
	if e.reducing(snd) && snd.fl != &atRest {
		snd.fl.prr.Start(snd.cc.Ssthresh(), snd.mss, congestion.RecoverFS(snd.fl.sent.Outstanding().Bytes, snd.fl.sent.Sacked().Bytes, a.sacked, a.acked))
	}
	e.recover, e.undoable = snd.nxt, false
	snd.ecn.OnReduced(snd.nxt)
}

// reducing reports whether PRR decides what to send.
func (e *episode) reducing(snd *sender) bool {
	return e.fast() || e.kind == CACWR && snd.cfg.PRRInCWR && snd.fl != &atRest
}

// leave ends the episode after SND.UNA has reached its end.
func (e *episode) leave(snd *sender, now wheel.Time, o *Output) {
	if e.fast() {
		snd.cc.OnRecovered(now, snd.fl.sent.Outstanding().Bytes)
		snd.fl.l6675.Leave()
	}
	snd.fl.frto.Reset()
	e.forceFirst, e.frtoCredit = false, 0
	e.kind = CAOpen
	snd.dup.Reset()
}

// enterLoss applies the congestion response to the timeout of segment id, whose RTO was base. It
// begins a recovery episode, or continues a chain of timeouts.
func (e *episode) enterLoss(snd *sender, now wheel.Time, id segmentID, base time.Duration, o *Output) {
	s := snd.fl.sent.seg(id)
	chained := e.afterTimeout()
	// The segment was not yet retransmitted by a timeout of this episode.
	first := !(chained && s.Retransmitted() && s.Seq.Before(e.recover))
	snd.cc.OnTimeout(now, snd.fl.sent.Outstanding().Bytes, first)
	if first {
		snd.fl.timeoutRTO = base
	}
	switch {
	case chained:
		o.Counters.TCPLossFailures++
	case e.fast():
		snd.losses().failed(o)
	}
	snd.fl.l6675.Leave()
	e.kind = CALoss
	snd.fl.lossAt, snd.fl.lossDelivered = now, snd.stats.delivered
	undoable := e.undoable || !chained
	e.begin(snd, o)
	e.byTimeout, e.undoable = true, undoable
	e.forceFirst, e.frtoCredit = false, 0
	snd.fl.sndcnt = 0
	snd.timers.stop(o, tcptimers.Reorder)
	snd.timers.stop(o, tcptimers.Pacing)
}

// past is what a sender remembers of losses and congestion marks, and of closed windows.
type past struct {
	eifel      congestion.Eifel
	dsack      congestion.DSACK
	startUna   Seq        // SND.UNA when the last episode began, if it is undoable
	tooBigEnd  Seq        // SND.NXT at the last ICMP Packet Too Big
	spuriousAt wheel.Time // when a timeout was found spurious

	stampedAt wheel.Time    // stampRexmit's latest time
	stampLag  time.Duration // the most by which stampRexmit's timestamps were older

	closedAt wheel.Time // when the peer's window closed, or Close was called since; 0 if it is open

	pacer congestion.Pacer
	vegas *vegasCheck // Config.VegasCheck, from the first ACK on

	// Statistics, for Info.
	rexmitBytes uint64
	rexmits     uint32
	dsacks      uint32
	deliveredCE uint32
}

// needPast returns what snd remembers, allocated on first use.
func (snd *sender) needPast() *past {
	if snd.past == nil {
		snd.past = new(past)
	}
	return snd.past
}
