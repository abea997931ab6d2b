package netstack

import (
	"gvisor.dev/gvisor/pkg/tcpip"

	"tcpwheel/netstack/tcp"
)

// addCounters adds what steps with w have counted since the last call to the statistics of the
// stack and of the endpoint, under gVisor's names. Segments, resets and checksum errors are counted
// elsewhere, one by one.
func (p *protocol) addCounters(w *scratch, e *Endpoint) {
	now, reported := &w.out.Counters, &w.reported
	since := func(now, reported *uint64) uint64 {
		n := *now - *reported
		*reported = *now
		return n
	}
	add := func(to *tcpip.StatCounter, n uint64) {
		if n != 0 {
			to.IncrementBy(n)
		}
	}
	s := &p.stats
	add(s.ActiveConnectionOpenings, since(&now.ActiveOpens, &reported.ActiveOpens))
	// gVisor does not count a retransmitted SYN as a retransmission.
	retransmits := since(&now.RetransSegs, &reported.RetransSegs) - since(&now.TCPSynRetrans, &reported.TCPSynRetrans)
	add(s.Retransmits, retransmits)
	fast := since(&now.TCPFastRetrans, &reported.TCPFastRetrans)
	add(s.FastRetransmit, fast)
	// gVisor has one timer for retransmissions and window probes.
	timeouts := since(&now.TCPTimeouts, &reported.TCPTimeouts) + since(&now.TCPWinProbe, &reported.TCPWinProbe)
	add(s.Timeouts, timeouts)
	if retransmits+fast+timeouts > 0 {
		own := &e.stats.more().SendErrors
		add(&own.Retransmits, retransmits)
		add(&own.FastRetransmit, fast)
		add(&own.Timeouts, timeouts)
	}
	add(s.FastRecovery, since(&now.TCPRenoRecovery, &reported.TCPRenoRecovery))
	add(s.SACKRecovery, since(&now.TCPSackRecovery, &reported.TCPSackRecovery))
	add(s.TLPRecovery, since(&now.TCPLossProbeRecovery, &reported.TCPLossProbeRecovery))
	add(s.SlowStartRetransmits, w.slowStartRetransmits)
	w.slowStartRetransmits = 0
	add(s.SegmentsAckedWithDSACK, since(&now.TCPDSACKRecv, &reported.TCPDSACKRecv)+since(&now.TCPDSACKOfoRecv, &reported.TCPDSACKOfoRecv))
	// SpuriousRecovery includes the undone timeouts.
	undone := since(&now.TCPLossUndo, &reported.TCPLossUndo)
	add(s.SpuriousRecovery, undone+since(&now.TCPFullUndo, &reported.TCPFullUndo)+since(&now.TCPPartialUndo, &reported.TCPPartialUndo))
	add(s.SpuriousRTORecovery, undone)
}

// counterSnapshot holds counters as they were before a step.
type counterSnapshot struct{ abortsOnTimeout, timeouts, retransmits uint64 }

func (s *scratch) snapshot() counterSnapshot {
	c := &s.out.Counters
	return counterSnapshot{c.TCPAbortOnTimeout, c.TCPTimeouts, c.RetransSegs - c.TCPSynRetrans}
}

// adjust corrects the counters of a step where gVisor counts differently from the engine. before
// and was are the counters and the state before the step. gaveUp says that the connection has timed
// out with data unacknowledged.
func (s *scratch) adjust(before counterSnapshot, was tcp.State, slowStart, gaveUp bool) {
	now := s.snapshot()
	switch {
	case was < tcp.StateEstablished:
		s.reported.TCPTimeouts += now.timeouts - before.timeouts // a retransmitted SYN is no timeout
	case gaveUp:
		s.reported.TCPTimeouts-- // the last timeout does not count
	}
	if slowStart {
		// All retransmissions below ssthresh count, not only those after a timeout.
		s.slowStartRetransmits += now.retransmits - before.retransmits
	}
}

// countState updates the gauges of established and of connected connections.
func (p *protocol) countState(before, after tcp.State) {
	if before == after {
		return
	}
	count := func(c *tcpip.StatCounter, was, is bool) {
		switch {
		case is && !was:
			c.Increment()
		case was && !is:
			c.Decrement()
		}
	}
	s := &p.stats
	count(s.CurrentEstablished, before == tcp.StateEstablished, after == tcp.StateEstablished)
	count(s.CurrentConnected, before >= tcp.StateEstablished, after >= tcp.StateEstablished)
}

// countEnd counts the end of a connection. EstablishedReset counts each end without a closing
// handshake.
func (p *protocol) countEnd(before tcp.State, phase phase, timedOut bool) {
	s := &p.stats
	if before == tcp.StateEstablished || before == tcp.StateCloseWait {
		s.EstablishedResets.Increment()
	}
	if before >= tcp.StateEstablished && phase == phaseClosed {
		s.EstablishedClosed.Increment()
	}
	if before >= tcp.StateEstablished && timedOut {
		s.EstablishedTimedout.Increment()
	}
}

// countReceived counts a segment that an endpoint or a connection in TIME-WAIT takes.
func (p *protocol) countReceived(seg *segment) {
	p.stats.ValidSegmentsReceived.Increment()
	if seg.header.Flags.Has(tcp.RST) {
		p.stats.ResetsReceived.Increment()
	}
}

// countSent counts advertised zero windows. used of the receive buffer's size bytes are taken.
func (s *endpointStats) countSent(h *tcp.Header, used, size int) {
	switch {
	case h.Flags&(tcp.SYN|tcp.RST) != 0:
	case h.Window == 0:
		s.more().ReceiveErrors.ZeroRcvWindowState.Increment()
	case used >= size:
		s.more().ReceiveErrors.WantZeroRcvWindow.Increment()
	}
}

// countDropped counts a segment that no endpoint takes.
func (p *protocol) countDropped() { p.stack.Stats().DroppedPackets.Increment() }

// countFailedOpen counts a connection that could not be opened for endpoint by.
func (p *protocol) countFailedOpen(by *Endpoint) {
	p.stats.FailedConnectionAttempts.Increment()
	by.stats.more().FailedConnectionAttempts.Increment()
}
