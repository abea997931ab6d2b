package tcp

import (
	"reflect"
	"sync"
)

// Counters are the counters of an engine, over all its connections. Names and meanings are those of
// RFC 4022 without the prefix, and of Linux's TcpExt (net/ipv4/proc.c, shown by nstat), in Go and
// in JSON. All but CurrEstab only grow, and wrap at 2^64. The zero value has counted nothing.
//
// Linux counters with no counterpart here are left out: reordering found without SACK, HyStart's
// ACK trains, resets in place of FIN-WAIT-2, and drops and resets for lack of memory, which
// netstack.Buffers has.
type Counters struct {
	MIBCounters
	OpenCounters
	TimeWaitCounters
	DataCounters
	LossCounters
	EndCounters
	DefenceCounters
}

// MIBCounters are the counters of RFC 4022, and InCsumErrors, which Linux adds.
type MIBCounters struct {
	ActiveOpens  uint64 // connections from CLOSED to SYN-SENT
	PassiveOpens uint64 // connections from LISTEN to SYN-RECEIVED
	AttemptFails uint64 // connections from SYN-SENT or SYN-RECEIVED to CLOSED or LISTEN
	EstabResets  uint64 // connections from ESTABLISHED or CLOSE-WAIT to CLOSED
	CurrEstab    uint64 // connections now in ESTABLISHED or CLOSE-WAIT; it falls too
	InSegs       uint64 // segments received, including those in error
	OutSegs      uint64 // segments sent, except pure retransmissions
	RetransSegs  uint64 // segments sent with retransmitted bytes
	InErrs       uint64 // segments received with bad checksums or malformed headers
	OutRsts      uint64 // segments sent with RST
	InCsumErrors uint64 // segments received with a bad checksum; part of InErrs
}

// OpenCounters are Linux's TcpExt of opening connections.
type OpenCounters struct {
	SyncookiesSent       uint64 // SYNs answered with a cookie
	SyncookiesRecv       uint64 // valid cookies received
	SyncookiesFailed     uint64 // invalid cookies received
	EmbryonicRsts        uint64 // connections in SYN-RECEIVED that were reset
	ListenOverflows      uint64 // handshakes that completed while the accept queue was full
	ListenDrops          uint64 // SYNs and handshakes dropped by a listener, for any reason
	TCPReqQFullDoCookies uint64 // SYNs answered with a cookie because the queue was full
	TCPReqQFullDrop      uint64 // SYNs dropped because the queue was full
	TCPSynRetrans        uint64 // SYNs and SYN-ACKs retransmitted
	TCPDeferAcceptDrop   uint64 // ACKs dropped while a listener waited for data
}

// TimeWaitCounters are those of TIME-WAIT and timestamps.
type TimeWaitCounters struct {
	TW                  uint64 // connections that ended TIME-WAIT by its timer
	TWRecycled          uint64 // connections in TIME-WAIT replaced by a new incarnation
	TCPTimeWaitOverflow uint64 // connections that skipped TIME-WAIT because it was full
	PAWSActive          uint64 // segments rejected in SYN-SENT by their timestamp
	PAWSEstab           uint64 // segments rejected in synchronized states by their timestamp
}

// DataCounters are those of data and acknowledgments.
type DataCounters struct {
	TCPOrigDataSent      uint64 // segments sent with new data
	TCPDelivered         uint64 // segments acknowledged or SACKed
	TCPDeliveredCE       uint64 // of TCPDelivered, those whose ACK had ECE
	TCPPureAcks          uint64 // pure ACKs received
	DelayedACKs          uint64 // ACKs sent by the delayed-ACK timer
	DelayedACKLost       uint64 // duplicates received because an ACK of ours was lost
	TCPOFOQueue          uint64 // segments queued out of order
	TCPOFODrop           uint64 // out-of-order segments dropped for lack of room
	TCPOFOMerge          uint64 // out-of-order segments with data already queued
	TCPZeroWindowDrop    uint64 // data segments that met a closed window
	TCPFromZeroWindowAdv uint64 // windows opened from zero
	TCPToZeroWindowAdv   uint64 // windows closed to zero
	TCPWinProbe          uint64 // window probes sent
	TCPKeepAlive         uint64 // keepalive probes sent
}

// LossCounters are those of loss recovery.
type LossCounters struct {
	TCPTimeouts           uint64 // expiries of the retransmission timer that counted as a timeout
	TCPSpuriousRTOs       uint64 // timeouts that F-RTO found spurious
	TCPLossProbes         uint64 // tail loss probes sent
	TCPLossProbeRecovery  uint64 // losses repaired by a tail loss probe
	TCPSackRecovery       uint64 // recoveries entered with SACK
	TCPRenoRecovery       uint64 // recoveries entered without SACK
	TCPFastRetrans        uint64 // segments retransmitted in recovery
	TCPSlowStartRetrans   uint64 // segments retransmitted after a timeout
	TCPLostRetransmit     uint64 // retransmissions that were lost
	TCPSackFailures       uint64 // timeouts during recovery with SACK
	TCPRenoFailures       uint64 // timeouts during recovery without SACK
	TCPLossFailures       uint64 // timeouts after a timeout
	TCPSACKReneging       uint64 // times a peer reneged on SACKed data
	TCPSACKReorder        uint64 // reorderings found by SACK
	TCPSACKDiscard        uint64 // invalid SACK blocks
	TCPDSACKOldSent       uint64 // DSACKs sent for data already acknowledged
	TCPDSACKOfoSent       uint64 // DSACKs sent for data already queued out of order
	TCPDSACKRecv          uint64 // DSACKs received for acknowledged data
	TCPDSACKOfoRecv       uint64 // DSACKs received for SACKed data
	TCPFullUndo           uint64 // window reductions undone after the whole flight was acknowledged
	TCPPartialUndo        uint64 // undone in fast recovery by a partial ACK
	TCPLossUndo           uint64 // undone after a timeout
	TCPDSACKUndo          uint64 // of the three above, those undone by DSACKs
	TCPHystartDelayDetect uint64 // slow starts ended by a growing RTT: HyStart++ or Vegas
	TCPHystartDelayCwnd   uint64 // sum of the windows at which they ended, segments
}

// EndCounters are those of connections that ended early.
type EndCounters struct {
	TCPAbortOnData    uint64 // connections reset by data after close, or closed with linger 0
	TCPAbortOnClose   uint64 // connections reset because data was unread at close
	TCPAbortOnTimeout uint64 // connections that failed after too many retransmissions or probes
}

// DefenceCounters are those of defences against forged segments.
type DefenceCounters struct {
	TCPChallengeACK        uint64 // challenge ACKs sent
	TCPSYNChallenge        uint64 // of TCPChallengeACK, answers to a SYN
	TCPACKSkippedSynRecv   uint64 // ACKs not sent because of the rate limit, in SYN-RECEIVED
	TCPACKSkippedPAWS      uint64 // answering segments that failed PAWS
	TCPACKSkippedSeq       uint64 // answering segments outside the window
	TCPACKSkippedFinWait2  uint64 // in FIN-WAIT-2
	TCPACKSkippedTimeWait  uint64 // in TIME-WAIT
	TCPACKSkippedChallenge uint64 // challenge ACKs not sent because of the rate limit
	OutOfWindowIcmps       uint64 // ICMP errors that quoted nothing in flight
}

// counterFields has the counters' fields in order.
var counterFields = sync.OnceValue(func() (fields []reflect.StructField) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Counters]()) {
		if !f.Anonymous {
			fields = append(fields, f)
		}
	}
	return fields
})

// Each calls f with each counter, in field order.
func (c *Counters) Each(f func(name string, v uint64)) {
	v := reflect.ValueOf(c).Elem()
	for _, field := range counterFields() {
		f(field.Name, v.FieldByIndex(field.Index).Uint())
	}
}

// Add adds o to c, CurrEstab included.
func (c *Counters) Add(o *Counters) {
	sum, v := reflect.ValueOf(c).Elem(), reflect.ValueOf(o).Elem()
	for _, f := range counterFields() {
		field := sum.FieldByIndex(f.Index)
		field.SetUint(field.Uint() + v.FieldByIndex(f.Index).Uint())
	}
}
