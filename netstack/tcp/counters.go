package tcp

// Counters are what an engine counts, over all of its connections. Names and meanings are those of RFC 4022 without the
// prefix, and of Linux's TcpExt (net/ipv4/proc.c; nstat shows them), in Go and in JSON. All but CurrEstab only grow, and wrap
// around at 2^64. The zero value has counted nothing; counting is an addition to a field.
type Counters struct {
	// RFC 4022 §4: the scalars.
	ActiveOpens  uint64 `json:"ActiveOpens"`  // connections from CLOSED to SYN-SENT
	PassiveOpens uint64 `json:"PassiveOpens"` // connections from LISTEN to SYN-RECEIVED
	AttemptFails uint64 `json:"AttemptFails"` // connections from SYN-SENT or SYN-RECEIVED to CLOSED, and from SYN-RECEIVED back to LISTEN
	EstabResets  uint64 `json:"EstabResets"`  // connections from ESTABLISHED or CLOSE-WAIT to CLOSED
	CurrEstab    uint64 `json:"CurrEstab"`    // connections that are in ESTABLISHED or CLOSE-WAIT now: the one that falls, too
	InSegs       uint64 `json:"InSegs"`       // segments received, those in error included
	OutSegs      uint64 `json:"OutSegs"`      // segments sent, without those that hold retransmitted octets only
	RetransSegs  uint64 `json:"RetransSegs"`  // segments sent that hold retransmitted octets
	InErrs       uint64 `json:"InErrs"`       // segments received in error: bad checksums, malformed headers
	OutRsts      uint64 `json:"OutRsts"`      // segments sent with RST

	// Beside it in Linux.
	InCsumErrors uint64 `json:"InCsumErrors"` // segments received with a bad checksum: of InErrs

	// Linux's TcpExt: opening.
	SyncookiesSent       uint64 `json:"SyncookiesSent"`       // SYNs answered with a cookie
	SyncookiesRecv       uint64 `json:"SyncookiesRecv"`       // cookies that came back and were good
	SyncookiesFailed     uint64 `json:"SyncookiesFailed"`     // cookies that came back and were not
	EmbryonicRsts        uint64 `json:"EmbryonicRsts"`        // connections in SYN-RECEIVED that were reset
	ListenOverflows      uint64 `json:"ListenOverflows"`      // handshakes that ended while the accept queue was full
	ListenDrops          uint64 `json:"ListenDrops"`          // SYNs and handshakes dropped by a listener, for whatever reason
	TCPReqQFullDoCookies uint64 `json:"TCPReqQFullDoCookies"` // SYNs that met a full queue and were answered with a cookie
	TCPReqQFullDrop      uint64 `json:"TCPReqQFullDrop"`      // SYNs that met a full queue and were dropped
	TCPSynRetrans        uint64 `json:"TCPSynRetrans"`        // SYNs and SYN-ACKs retransmitted
	TCPDeferAcceptDrop   uint64 `json:"TCPDeferAcceptDrop"`   // ACKs dropped while a listener waited for data

	// TIME-WAIT and timestamps.
	TW                  uint64 `json:"TW"`                  // connections that ended TIME-WAIT by its timer
	TWRecycled          uint64 `json:"TWRecycled"`          // connections in TIME-WAIT replaced by a new incarnation
	TCPTimeWaitOverflow uint64 `json:"TCPTimeWaitOverflow"` // connections that skipped TIME-WAIT for want of room
	PAWSActive          uint64 `json:"PAWSActive"`          // segments refused in SYN-SENT by their timestamp
	PAWSEstab           uint64 `json:"PAWSEstab"`           // segments refused on a synchronised connection by their timestamp

	// Data and acknowledgments.
	TCPOrigDataSent      uint64 `json:"TCPOrigDataSent"`      // segments sent with new data
	TCPDelivered         uint64 `json:"TCPDelivered"`         // segments acknowledged or SACKed
	TCPDeliveredCE       uint64 `json:"TCPDeliveredCE"`       // of these, those that ECE came with
	TCPPureAcks          uint64 `json:"TCPPureAcks"`          // segments received that do no more than acknowledge
	DelayedACKs          uint64 `json:"DelayedACKs"`          // ACKs sent by the delayed-ACK timer
	DelayedACKLost       uint64 `json:"DelayedACKLost"`       // duplicates that tell that an ACK of ours was lost
	TCPOFOQueue          uint64 `json:"TCPOFOQueue"`          // segments queued out of order
	TCPOFODrop           uint64 `json:"TCPOFODrop"`           // segments out of order dropped for want of room
	TCPOFOMerge          uint64 `json:"TCPOFOMerge"`          // segments out of order that held what was queued
	TCPRcvQDrop          uint64 `json:"TCPRcvQDrop"`          // segments in order dropped for want of room
	TCPZeroWindowDrop    uint64 `json:"TCPZeroWindowDrop"`    // segments with data that met a window of zero
	TCPFromZeroWindowAdv uint64 `json:"TCPFromZeroWindowAdv"` // windows opened from zero
	TCPToZeroWindowAdv   uint64 `json:"TCPToZeroWindowAdv"`   // windows closed to zero
	TCPWinProbe          uint64 `json:"TCPWinProbe"`          // window probes sent
	TCPKeepAlive         uint64 `json:"TCPKeepAlive"`         // keepalive probes sent

	// Loss recovery.
	TCPTimeouts           uint64 `json:"TCPTimeouts"`           // expiries of the retransmission timer that counted as a timeout
	TCPSpuriousRTOs       uint64 `json:"TCPSpuriousRTOs"`       // timeouts that F-RTO found spurious
	TCPLossProbes         uint64 `json:"TCPLossProbes"`         // tail loss probes sent
	TCPLossProbeRecovery  uint64 `json:"TCPLossProbeRecovery"`  // losses that a tail loss probe repaired
	TCPSackRecovery       uint64 `json:"TCPSackRecovery"`       // recoveries entered with SACK
	TCPRenoRecovery       uint64 `json:"TCPRenoRecovery"`       // recoveries entered without
	TCPFastRetrans        uint64 `json:"TCPFastRetrans"`        // segments retransmitted in recovery
	TCPSlowStartRetrans   uint64 `json:"TCPSlowStartRetrans"`   // segments retransmitted after a timeout
	TCPLostRetransmit     uint64 `json:"TCPLostRetransmit"`     // retransmissions that were lost themselves
	TCPSackFailures       uint64 `json:"TCPSackFailures"`       // timeouts in a recovery with SACK
	TCPRenoFailures       uint64 `json:"TCPRenoFailures"`       // timeouts in a recovery without
	TCPLossFailures       uint64 `json:"TCPLossFailures"`       // timeouts after a timeout
	TCPSACKReneging       uint64 `json:"TCPSACKReneging"`       // peers that took back what they had SACKed
	TCPSACKReorder        uint64 `json:"TCPSACKReorder"`        // reorderings found by SACK
	TCPRenoReorder        uint64 `json:"TCPRenoReorder"`        // reorderings found by duplicate ACKs
	TCPTSReorder          uint64 `json:"TCPTSReorder"`          // reorderings found by timestamps
	TCPSACKDiscard        uint64 `json:"TCPSACKDiscard"`        // SACK blocks that made no sense
	TCPDSACKOldSent       uint64 `json:"TCPDSACKOldSent"`       // DSACKs sent for what was acknowledged
	TCPDSACKOfoSent       uint64 `json:"TCPDSACKOfoSent"`       // DSACKs sent for what was queued out of order
	TCPDSACKRecv          uint64 `json:"TCPDSACKRecv"`          // DSACKs received for what was acknowledged
	TCPDSACKOfoRecv       uint64 `json:"TCPDSACKOfoRecv"`       // DSACKs received for what was SACKed
	TCPFullUndo           uint64 `json:"TCPFullUndo"`           // reductions of the window undone by timestamps in full
	TCPPartialUndo        uint64 `json:"TCPPartialUndo"`        // and in part
	TCPDSACKUndo          uint64 `json:"TCPDSACKUndo"`          // undone by DSACK
	TCPLossUndo           uint64 `json:"TCPLossUndo"`           // undone after a timeout
	TCPHystartDelayDetect uint64 `json:"TCPHystartDelayDetect"` // slow starts that HyStart ended by delay
	TCPHystartDelayCwnd   uint64 `json:"TCPHystartDelayCwnd"`   // the sum of the windows at which it did, in segments

	// Ends.
	TCPAbortOnData    uint64 `json:"TCPAbortOnData"`    // connections reset by data after close, or closed with a linger time of 0
	TCPAbortOnClose   uint64 `json:"TCPAbortOnClose"`   // connections reset because closed with data unread
	TCPAbortOnTimeout uint64 `json:"TCPAbortOnTimeout"` // connections given up after too many retransmissions or probes
	TCPAbortOnLinger  uint64 `json:"TCPAbortOnLinger"`  // connections reset by a linger time that passed
	TCPAbortOnMemory  uint64 `json:"TCPAbortOnMemory"`  // connections reset for want of room

	// Defence.
	TCPChallengeACK        uint64 `json:"TCPChallengeACK"`        // challenge ACKs sent
	TCPSYNChallenge        uint64 `json:"TCPSYNChallenge"`        // of these, those sent to a SYN
	TCPACKSkippedSynRecv   uint64 `json:"TCPACKSkippedSynRecv"`   // ACKs not sent because of the rate limit, in SYN-RECEIVED
	TCPACKSkippedPAWS      uint64 `json:"TCPACKSkippedPAWS"`      // to segments that PAWS refused
	TCPACKSkippedSeq       uint64 `json:"TCPACKSkippedSeq"`       // to segments outside the window
	TCPACKSkippedFinWait2  uint64 `json:"TCPACKSkippedFinWait2"`  // in FIN-WAIT-2
	TCPACKSkippedTimeWait  uint64 `json:"TCPACKSkippedTimeWait"`  // in TIME-WAIT
	TCPACKSkippedChallenge uint64 `json:"TCPACKSkippedChallenge"` // challenge ACKs not sent because of the rate limit
	OutOfWindowIcmps       uint64 `json:"OutOfWindowIcmps"`       // ICMP errors whose sequence number was not in flight
}

// counter is a field of Counters with its name.
type counter struct {
	name  string
	field func(*Counters) *uint64
}

// counters go in the order of the fields. A test holds them together.
var counters = [...]counter{
	{"ActiveOpens", func(c *Counters) *uint64 { return &c.ActiveOpens }},
	{"PassiveOpens", func(c *Counters) *uint64 { return &c.PassiveOpens }},
	{"AttemptFails", func(c *Counters) *uint64 { return &c.AttemptFails }},
	{"EstabResets", func(c *Counters) *uint64 { return &c.EstabResets }},
	{"CurrEstab", func(c *Counters) *uint64 { return &c.CurrEstab }},
	{"InSegs", func(c *Counters) *uint64 { return &c.InSegs }},
	{"OutSegs", func(c *Counters) *uint64 { return &c.OutSegs }},
	{"RetransSegs", func(c *Counters) *uint64 { return &c.RetransSegs }},
	{"InErrs", func(c *Counters) *uint64 { return &c.InErrs }},
	{"OutRsts", func(c *Counters) *uint64 { return &c.OutRsts }},
	{"InCsumErrors", func(c *Counters) *uint64 { return &c.InCsumErrors }},
	{"SyncookiesSent", func(c *Counters) *uint64 { return &c.SyncookiesSent }},
	{"SyncookiesRecv", func(c *Counters) *uint64 { return &c.SyncookiesRecv }},
	{"SyncookiesFailed", func(c *Counters) *uint64 { return &c.SyncookiesFailed }},
	{"EmbryonicRsts", func(c *Counters) *uint64 { return &c.EmbryonicRsts }},
	{"ListenOverflows", func(c *Counters) *uint64 { return &c.ListenOverflows }},
	{"ListenDrops", func(c *Counters) *uint64 { return &c.ListenDrops }},
	{"TCPReqQFullDoCookies", func(c *Counters) *uint64 { return &c.TCPReqQFullDoCookies }},
	{"TCPReqQFullDrop", func(c *Counters) *uint64 { return &c.TCPReqQFullDrop }},
	{"TCPSynRetrans", func(c *Counters) *uint64 { return &c.TCPSynRetrans }},
	{"TCPDeferAcceptDrop", func(c *Counters) *uint64 { return &c.TCPDeferAcceptDrop }},
	{"TW", func(c *Counters) *uint64 { return &c.TW }},
	{"TWRecycled", func(c *Counters) *uint64 { return &c.TWRecycled }},
	{"TCPTimeWaitOverflow", func(c *Counters) *uint64 { return &c.TCPTimeWaitOverflow }},
	{"PAWSActive", func(c *Counters) *uint64 { return &c.PAWSActive }},
	{"PAWSEstab", func(c *Counters) *uint64 { return &c.PAWSEstab }},
	{"TCPOrigDataSent", func(c *Counters) *uint64 { return &c.TCPOrigDataSent }},
	{"TCPDelivered", func(c *Counters) *uint64 { return &c.TCPDelivered }},
	{"TCPDeliveredCE", func(c *Counters) *uint64 { return &c.TCPDeliveredCE }},
	{"TCPPureAcks", func(c *Counters) *uint64 { return &c.TCPPureAcks }},
	{"DelayedACKs", func(c *Counters) *uint64 { return &c.DelayedACKs }},
	{"DelayedACKLost", func(c *Counters) *uint64 { return &c.DelayedACKLost }},
	{"TCPOFOQueue", func(c *Counters) *uint64 { return &c.TCPOFOQueue }},
	{"TCPOFODrop", func(c *Counters) *uint64 { return &c.TCPOFODrop }},
	{"TCPOFOMerge", func(c *Counters) *uint64 { return &c.TCPOFOMerge }},
	{"TCPRcvQDrop", func(c *Counters) *uint64 { return &c.TCPRcvQDrop }},
	{"TCPZeroWindowDrop", func(c *Counters) *uint64 { return &c.TCPZeroWindowDrop }},
	{"TCPFromZeroWindowAdv", func(c *Counters) *uint64 { return &c.TCPFromZeroWindowAdv }},
	{"TCPToZeroWindowAdv", func(c *Counters) *uint64 { return &c.TCPToZeroWindowAdv }},
	{"TCPWinProbe", func(c *Counters) *uint64 { return &c.TCPWinProbe }},
	{"TCPKeepAlive", func(c *Counters) *uint64 { return &c.TCPKeepAlive }},
	{"TCPTimeouts", func(c *Counters) *uint64 { return &c.TCPTimeouts }},
	{"TCPSpuriousRTOs", func(c *Counters) *uint64 { return &c.TCPSpuriousRTOs }},
	{"TCPLossProbes", func(c *Counters) *uint64 { return &c.TCPLossProbes }},
	{"TCPLossProbeRecovery", func(c *Counters) *uint64 { return &c.TCPLossProbeRecovery }},
	{"TCPSackRecovery", func(c *Counters) *uint64 { return &c.TCPSackRecovery }},
	{"TCPRenoRecovery", func(c *Counters) *uint64 { return &c.TCPRenoRecovery }},
	{"TCPFastRetrans", func(c *Counters) *uint64 { return &c.TCPFastRetrans }},
	{"TCPSlowStartRetrans", func(c *Counters) *uint64 { return &c.TCPSlowStartRetrans }},
	{"TCPLostRetransmit", func(c *Counters) *uint64 { return &c.TCPLostRetransmit }},
	{"TCPSackFailures", func(c *Counters) *uint64 { return &c.TCPSackFailures }},
	{"TCPRenoFailures", func(c *Counters) *uint64 { return &c.TCPRenoFailures }},
	{"TCPLossFailures", func(c *Counters) *uint64 { return &c.TCPLossFailures }},
	{"TCPSACKReneging", func(c *Counters) *uint64 { return &c.TCPSACKReneging }},
	{"TCPSACKReorder", func(c *Counters) *uint64 { return &c.TCPSACKReorder }},
	{"TCPRenoReorder", func(c *Counters) *uint64 { return &c.TCPRenoReorder }},
	{"TCPTSReorder", func(c *Counters) *uint64 { return &c.TCPTSReorder }},
	{"TCPSACKDiscard", func(c *Counters) *uint64 { return &c.TCPSACKDiscard }},
	{"TCPDSACKOldSent", func(c *Counters) *uint64 { return &c.TCPDSACKOldSent }},
	{"TCPDSACKOfoSent", func(c *Counters) *uint64 { return &c.TCPDSACKOfoSent }},
	{"TCPDSACKRecv", func(c *Counters) *uint64 { return &c.TCPDSACKRecv }},
	{"TCPDSACKOfoRecv", func(c *Counters) *uint64 { return &c.TCPDSACKOfoRecv }},
	{"TCPFullUndo", func(c *Counters) *uint64 { return &c.TCPFullUndo }},
	{"TCPPartialUndo", func(c *Counters) *uint64 { return &c.TCPPartialUndo }},
	{"TCPDSACKUndo", func(c *Counters) *uint64 { return &c.TCPDSACKUndo }},
	{"TCPLossUndo", func(c *Counters) *uint64 { return &c.TCPLossUndo }},
	{"TCPHystartDelayDetect", func(c *Counters) *uint64 { return &c.TCPHystartDelayDetect }},
	{"TCPHystartDelayCwnd", func(c *Counters) *uint64 { return &c.TCPHystartDelayCwnd }},
	{"TCPAbortOnData", func(c *Counters) *uint64 { return &c.TCPAbortOnData }},
	{"TCPAbortOnClose", func(c *Counters) *uint64 { return &c.TCPAbortOnClose }},
	{"TCPAbortOnTimeout", func(c *Counters) *uint64 { return &c.TCPAbortOnTimeout }},
	{"TCPAbortOnLinger", func(c *Counters) *uint64 { return &c.TCPAbortOnLinger }},
	{"TCPAbortOnMemory", func(c *Counters) *uint64 { return &c.TCPAbortOnMemory }},
	{"TCPChallengeACK", func(c *Counters) *uint64 { return &c.TCPChallengeACK }},
	{"TCPSYNChallenge", func(c *Counters) *uint64 { return &c.TCPSYNChallenge }},
	{"TCPACKSkippedSynRecv", func(c *Counters) *uint64 { return &c.TCPACKSkippedSynRecv }},
	{"TCPACKSkippedPAWS", func(c *Counters) *uint64 { return &c.TCPACKSkippedPAWS }},
	{"TCPACKSkippedSeq", func(c *Counters) *uint64 { return &c.TCPACKSkippedSeq }},
	{"TCPACKSkippedFinWait2", func(c *Counters) *uint64 { return &c.TCPACKSkippedFinWait2 }},
	{"TCPACKSkippedTimeWait", func(c *Counters) *uint64 { return &c.TCPACKSkippedTimeWait }},
	{"TCPACKSkippedChallenge", func(c *Counters) *uint64 { return &c.TCPACKSkippedChallenge }},
	{"OutOfWindowIcmps", func(c *Counters) *uint64 { return &c.OutOfWindowIcmps }},
}

// Each calls f with each counter, in the order of the fields.
func (c *Counters) Each(f func(name string, v uint64)) {
	for i := range counters {
		f(counters[i].name, *counters[i].field(c))
	}
}

// Add adds the counters of o, CurrEstab too.
func (c *Counters) Add(o *Counters) {
	for i := range counters {
		*counters[i].field(c) += *counters[i].field(o)
	}
}
