package netstack

import (
	"gvisor.dev/gvisor/pkg/tcpip"

	"tcpwheel/netstack/tcp"
)

// count adds to the stack's statistics, and the endpoint's, what a pass over it has counted since the last time, under gVisor's names.
// What passes through the stack one by one, segments, resets and checksums, is counted where it does.
func (p *protocol) count(pass *pass, e *Endpoint) {
	now, told := &pass.out.Counters, &pass.told
	since := func(now, told *uint64) uint64 {
		n := *now - *told
		*told = *now
		return n
	}
	add := func(to *tcpip.StatCounter, n uint64) {
		if n != 0 {
			to.IncrementBy(n)
		}
	}
	s := &p.stats
	add(s.ActiveConnectionOpenings, since(&now.ActiveOpens, &told.ActiveOpens))
	// A SYN that is sent again is none of gVisor's retransmits.
	again := since(&now.RetransSegs, &told.RetransSegs) - since(&now.TCPSynRetrans, &told.TCPSynRetrans)
	add(s.Retransmits, again)
	fast := since(&now.TCPFastRetrans, &told.TCPFastRetrans)
	add(s.FastRetransmit, fast)
	// One timer is that of retransmissions and of window probes there.
	timeouts := since(&now.TCPTimeouts, &told.TCPTimeouts) + since(&now.TCPWinProbe, &told.TCPWinProbe)
	add(s.Timeouts, timeouts)
	if again+fast+timeouts > 0 {
		own := &e.stats.more().SendErrors
		add(&own.Retransmits, again)
		add(&own.FastRetransmit, fast)
		add(&own.Timeouts, timeouts)
	}
	add(s.FastRecovery, since(&now.TCPRenoRecovery, &told.TCPRenoRecovery))
	add(s.SACKRecovery, since(&now.TCPSackRecovery, &told.TCPSackRecovery))
	add(s.TLPRecovery, since(&now.TCPLossProbeRecovery, &told.TCPLossProbeRecovery))
	add(s.SlowStartRetransmits, pass.slow)
	pass.slow = 0
	add(s.SegmentsAckedWithDSACK, since(&now.TCPDSACKRecv, &told.TCPDSACKRecv)+since(&now.TCPDSACKOfoRecv, &told.TCPDSACKOfoRecv))
	// Those of timeouts are among all.
	late := since(&now.TCPLossUndo, &told.TCPLossUndo)
	add(s.SpuriousRecovery, late+since(&now.TCPFullUndo, &told.TCPFullUndo)+since(&now.TCPPartialUndo, &told.TCPPartialUndo))
	add(s.SpuriousRTORecovery, late)
}

// counted are counters as they were before a pass.
type counted struct{ ends, timeouts, again uint64 }

func (p *pass) before() counted {
	c := &p.out.Counters
	return counted{c.TCPAbortOnTimeout, c.TCPTimeouts, c.RetransSegs - c.TCPSynRetrans}
}

// adjust has the stack's statistics tell of a pass what gVisor counts otherwise than the engine. before are the counters, and was the
// state, as they were before it. gaveUp is true if it has found that what was sent again often enough is not acknowledged.
func (p *pass) adjust(before counted, was tcp.State, slowStart, gaveUp bool) {
	now := p.before()
	switch {
	case was < tcp.StateEstablished:
		p.told.TCPTimeouts += now.timeouts - before.timeouts // a SYN that is sent again is no timeout
	case gaveUp:
		p.told.TCPTimeouts-- // the last timeout is one
	}
	if slowStart {
		// Of all that is sent again below ssthresh, and not only of what follows the first after a timeout.
		p.slow += now.again - before.again
	}
}

// countState counts the connections that are established, and connected.
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

// countEnd counts what a connection has ended from, and by: an EstablishedReset is any end that skips the closing handshake.
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

// countSent counts what a segment of the endpoint says of the receive buffer, of which used octets of size are taken.
func (e *Endpoint) countSent(h *tcp.Header, used, size int) {
	switch {
	case h.Flags&(tcp.SYN|tcp.RST) != 0:
	case h.Window == 0:
		e.stats.more().ReceiveErrors.ZeroRcvWindowState.Increment()
	case used >= size:
		e.stats.more().ReceiveErrors.WantZeroRcvWindow.Increment()
	}
}

// dropped counts a segment that nobody takes.
func (p *protocol) dropped() { p.stack.Stats().DroppedPackets.Increment() }

// failedOpen counts a connection that could not be opened; by is the endpoint that wanted it.
func (p *protocol) failedOpen(by *Endpoint) {
	p.stats.FailedConnectionAttempts.Increment()
	by.stats.more().FailedConnectionAttempts.Increment()
}
