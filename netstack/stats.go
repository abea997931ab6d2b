package netstack

import (
	"gvisor.dev/gvisor/pkg/tcpip"

	"tcpwheel/netstack/tcp"
)

// count adds to the stack's statistics what a pass has counted since the last time, under gVisor's names. What passes through
// the stack one by one, segments, resets and checksums, is counted where it does.
func (p *protocol) count(pass *pass) {
	now, told := &pass.out.Counters, &pass.told
	add := func(to *tcpip.StatCounter, now, told *uint64) {
		if *now != *told {
			to.IncrementBy(*now - *told)
			*told = *now
		}
	}
	s := &p.stats
	add(s.ActiveConnectionOpenings, &now.ActiveOpens, &told.ActiveOpens)
	add(s.FailedConnectionAttempts, &now.AttemptFails, &told.AttemptFails)
	add(s.EstablishedResets, &now.EstabResets, &told.EstabResets)
	add(s.EstablishedTimedout, &now.TCPAbortOnTimeout, &told.TCPAbortOnTimeout)
	add(s.Retransmits, &now.RetransSegs, &told.RetransSegs)
	add(s.FastRecovery, &now.TCPRenoRecovery, &told.TCPRenoRecovery)
	add(s.SACKRecovery, &now.TCPSackRecovery, &told.TCPSackRecovery)
	add(s.TLPRecovery, &now.TCPLossProbeRecovery, &told.TCPLossProbeRecovery)
	add(s.SlowStartRetransmits, &now.TCPSlowStartRetrans, &told.TCPSlowStartRetrans)
	add(s.FastRetransmit, &now.TCPFastRetrans, &told.TCPFastRetrans)
	add(s.Timeouts, &now.TCPTimeouts, &told.TCPTimeouts)
	add(s.SegmentsAckedWithDSACK, &now.TCPDSACKRecv, &told.TCPDSACKRecv)
	add(s.SegmentsAckedWithDSACK, &now.TCPDSACKOfoRecv, &told.TCPDSACKOfoRecv)
	add(s.SpuriousRecovery, &now.TCPDSACKUndo, &told.TCPDSACKUndo)
	add(s.SpuriousRecovery, &now.TCPFullUndo, &told.TCPFullUndo)
	add(s.SpuriousRTORecovery, &now.TCPSpuriousRTOs, &told.TCPSpuriousRTOs)
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
	if after == tcp.StateClosed && before >= tcp.StateEstablished {
		s.EstablishedClosed.Increment()
	}
}
