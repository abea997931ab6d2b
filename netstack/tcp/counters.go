package tcp

import "reflect"

// Counters are what an engine counts, over all of its connections. Names and meanings are those of
// RFC 4022 without the prefix, and of Linux's TcpExt (net/ipv4/proc.c; nstat shows them), in Go and
// in JSON. All but CurrEstab only grow, and wrap around at 2^64. The zero value has counted
// nothing; counting is an addition to a field.
//
// What Linux counts and this engine has no occasion for is not here: reordering found without SACK,
// slow starts that ended by the train of their ACKs, what is dropped or reset for want of memory,
// and resets in place of FIN-WAIT-2.
type Counters struct {
	// RFC 4022 §4: the scalars.
	ActiveOpens  uint64 // connections from CLOSED to SYN-SENT
	PassiveOpens uint64 // connections from LISTEN to SYN-RECEIVED
	AttemptFails uint64 // connections from SYN-SENT or SYN-RECEIVED to CLOSED, and from SYN-RECEIVED back to LISTEN
	EstabResets  uint64 // connections from ESTABLISHED or CLOSE-WAIT to CLOSED
	CurrEstab    uint64 // connections that are in ESTABLISHED or CLOSE-WAIT now: the one that falls, too
	InSegs       uint64 // segments received, those in error included
	OutSegs      uint64 // segments sent, without those that hold retransmitted bytes only
	RetransSegs  uint64 // segments sent that hold retransmitted bytes
	InErrs       uint64 // segments received in error: bad checksums, malformed headers
	OutRsts      uint64 // segments sent with RST

	// Beside it in Linux.
	InCsumErrors uint64 // segments received with a bad checksum: of InErrs

	// Linux's TcpExt: opening.
	SyncookiesSent       uint64 // SYNs answered with a cookie
	SyncookiesRecv       uint64 // cookies that came back and were good
	SyncookiesFailed     uint64 // cookies that came back and were not
	EmbryonicRsts        uint64 // connections in SYN-RECEIVED that were reset
	ListenOverflows      uint64 // handshakes that ended while the accept queue was full
	ListenDrops          uint64 // SYNs and handshakes dropped by a listener, for whatever reason
	TCPReqQFullDoCookies uint64 // SYNs that met a full queue and were answered with a cookie
	TCPReqQFullDrop      uint64 // SYNs that met a full queue and were dropped
	TCPSynRetrans        uint64 // SYNs and SYN-ACKs retransmitted
	TCPDeferAcceptDrop   uint64 // ACKs dropped while a listener waited for data

	// TIME-WAIT and timestamps.
	TW                  uint64 // connections that ended TIME-WAIT by its timer
	TWRecycled          uint64 // connections in TIME-WAIT replaced by a new incarnation
	TCPTimeWaitOverflow uint64 // connections that skipped TIME-WAIT for want of room
	PAWSActive          uint64 // segments refused in SYN-SENT by their timestamp
	PAWSEstab           uint64 // segments refused on a synchronised connection by their timestamp

	// Data and acknowledgments.
	TCPOrigDataSent      uint64 // segments sent with new data
	TCPDelivered         uint64 // segments acknowledged or SACKed
	TCPDeliveredCE       uint64 // of these, those that ECE came with
	TCPPureAcks          uint64 // segments received that do no more than acknowledge
	DelayedACKs          uint64 // ACKs sent by the delayed-ACK timer
	DelayedACKLost       uint64 // duplicates that tell that an ACK of ours was lost
	TCPOFOQueue          uint64 // segments queued out of order
	TCPOFODrop           uint64 // segments out of order dropped for want of room
	TCPOFOMerge          uint64 // segments out of order that held what was queued
	TCPZeroWindowDrop    uint64 // segments with data that met a window of zero
	TCPFromZeroWindowAdv uint64 // windows opened from zero
	TCPToZeroWindowAdv   uint64 // windows closed to zero
	TCPWinProbe          uint64 // window probes sent
	TCPKeepAlive         uint64 // keepalive probes sent

	// Loss recovery.
	TCPTimeouts           uint64 // expiries of the retransmission timer that counted as a timeout
	TCPSpuriousRTOs       uint64 // timeouts that F-RTO found spurious
	TCPLossProbes         uint64 // tail loss probes sent
	TCPLossProbeRecovery  uint64 // losses that a tail loss probe repaired
	TCPSackRecovery       uint64 // recoveries entered with SACK
	TCPRenoRecovery       uint64 // recoveries entered without
	TCPFastRetrans        uint64 // segments retransmitted in recovery
	TCPSlowStartRetrans   uint64 // segments retransmitted after a timeout
	TCPLostRetransmit     uint64 // retransmissions that were lost themselves
	TCPSackFailures       uint64 // timeouts in a recovery with SACK
	TCPRenoFailures       uint64 // timeouts in a recovery without
	TCPLossFailures       uint64 // timeouts after a timeout
	TCPSACKReneging       uint64 // peers that took back what they had SACKed
	TCPSACKReorder        uint64 // reorderings found by SACK
	TCPSACKDiscard        uint64 // SACK blocks that made no sense
	TCPDSACKOldSent       uint64 // DSACKs sent for what was acknowledged
	TCPDSACKOfoSent       uint64 // DSACKs sent for what was queued out of order
	TCPDSACKRecv          uint64 // DSACKs received for what was acknowledged
	TCPDSACKOfoRecv       uint64 // DSACKs received for what was SACKed
	TCPFullUndo           uint64 // reductions of the window undone in a fast recovery or later, when all of its flight was acknowledged
	TCPPartialUndo        uint64 // undone in a fast recovery by an ACK of a part of its flight
	TCPLossUndo           uint64 // undone after a timeout
	TCPDSACKUndo          uint64 // of these three, those that DSACKs told of
	TCPHystartDelayDetect uint64 // slow starts that ended because round trips grew: by HyStart++, or Vegas's own rule
	TCPHystartDelayCwnd   uint64 // the sum of the windows at which it did, in segments

	// Ends.
	TCPAbortOnData    uint64 // connections reset by data after close, or closed with a linger time of 0
	TCPAbortOnClose   uint64 // connections reset because closed with data unread
	TCPAbortOnTimeout uint64 // connections given up after too many retransmissions or probes

	// Defence.
	TCPChallengeACK        uint64 // challenge ACKs sent
	TCPSYNChallenge        uint64 // of these, those sent to a SYN
	TCPACKSkippedSynRecv   uint64 // ACKs not sent because of the rate limit, in SYN-RECEIVED
	TCPACKSkippedPAWS      uint64 // to segments that PAWS refused
	TCPACKSkippedSeq       uint64 // to segments outside the window
	TCPACKSkippedFinWait2  uint64 // in FIN-WAIT-2
	TCPACKSkippedTimeWait  uint64 // in TIME-WAIT
	TCPACKSkippedChallenge uint64 // challenge ACKs not sent because of the rate limit
	OutOfWindowIcmps       uint64 // ICMP errors whose sequence number was not in flight
}

// counterNames are the names of the fields, in their order.
var counterNames = func() (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Counters]()) {
		names = append(names, f.Name)
	}
	return names
}()

// Each calls f with each counter, in the order of the fields.
func (c *Counters) Each(f func(name string, v uint64)) {
	v := reflect.ValueOf(c).Elem()
	for i, name := range counterNames {
		f(name, v.Field(i).Uint())
	}
}

// Add adds the counters of o, CurrEstab too.
func (c *Counters) Add(o *Counters) {
	sum, v := reflect.ValueOf(c).Elem(), reflect.ValueOf(o).Elem()
	for i := range counterNames {
		sum.Field(i).SetUint(sum.Field(i).Uint() + v.Field(i).Uint())
	}
}
