package congestion

// PRR is Proportional Rate Reduction (RFC 9937). It decides how much each ACK of fast recovery may
// send, so that the flight is at ssthresh when recovery ends. While more than ssthresh is in
// flight, it sends in proportion to what is delivered. Below that it sends as much as is delivered
// (conservative reduction bound, CRB), or a segment more if recovery goes well (slow start, SSRB).
//
// RFC 9937 differs from its experimental predecessor: the SafeACK rule chooses between
// CRB and SSRB for each ACK, RecoverFS excludes what was SACKed before, an ACK that delivers
// nothing changes nothing, and the first retransmission is forced. The zero value is not in
// recovery.
type PRR struct {
	ssthresh, mss, recoverFS uint32
	delivered, out           uint64 // prr_delivered, prr_out
	dupAckCredit             uint32 // bytes that duplicate ACKs counted as delivered, without SACK
}

// RecoverFS returns the flight size for PRR.Start. outstanding is SND.NXT-SND.UNA and sacked is the
// SACKed part, both after the ACK that begins recovery. That ACK SACKed newlySacked bytes and
// acknowledged newlyAcked.
func RecoverFS(outstanding, sacked, newlySacked, newlyAcked uint32) uint32 {
	fs := uint64(outstanding) + uint64(newlySacked) + uint64(newlyAcked)
	return uint32(min(fs-min(fs, uint64(sacked)), maxWindow))
}

// Start begins a recovery after the controller has set ssthresh. Pass the ACK that began it to
// OnAck next.
func (p *PRR) Start(ssthresh, mss, recoverFS uint32) {
	// RFC 9937 §6.1: "RecoverFS remains constant during a given fast recovery episode."
	*p = PRR{ssthresh: ssthresh, mss: mss, recoverFS: max(recoverFS, 1)}
}

// OnAck returns how many bytes may be sent now. delivered is what the ACK newly acknowledged and
// SACKed, pipe is the estimated flight, advanced says that SND.UNA advanced, and lost that the ACK
// showed further loss.
func (p *PRR) OnAck(delivered, pipe uint32, advanced, lost bool) (sndcnt uint32) {
	// RFC 9937 §6.2: "if (DeliveredData is 0) Return"
	if delivered == 0 {
		return 0
	}
	p.delivered += uint64(delivered)
	var n uint64
	if pipe > p.ssthresh {
		// RFC 9937 §6.2: "out = DIV_ROUND_UP(prr_delivered * ssthresh, RecoverFS)", "SndCnt = out -
		// prr_out"
		fs := uint64(p.recoverFS)
		// No overflow: only data sent meanwhile can be delivered beyond RecoverFS.
		n = saturatingSub((min(p.delivered, maxWindow)*uint64(p.ssthresh)+fs-1)/fs, p.out)
	} else {
		// RFC 9937 §6.2: "SndCnt = MAX(prr_delivered - prr_out, DeliveredData)"
		n = max(saturatingSub(p.delivered, p.out), uint64(delivered))
		// RFC 9937 §6.2: "SafeACK = (SND.UNA advances and no further loss indicated)"
		if advanced && !lost {
			n += uint64(p.mss)
		}
		// RFC 9937 §6.2: "SndCnt = MIN(ssthresh - inflight, SndCnt)"
		n = min(uint64(p.ssthresh-pipe), n)
	}
	// RFC 9937 §6.2: "Force a fast retransmit upon entering recovery"
	if p.out == 0 && n == 0 {
		n = uint64(p.mss)
	}
	return uint32(min(n, maxWindow))
}

// OnSent counts bytes sent or retransmitted during the recovery.
func (p *PRR) OnSent(n uint32) {
	// RFC 9937 §6.3: "prr_out += (data sent)"
	p.out += uint64(n)
}

// DeliveredWithoutSACK returns the delivered argument of OnAck for a connection without SACK.
// advance is by how much SND.UNA advanced, 0 for a duplicate ACK.
func (p *PRR) DeliveredWithoutSACK(advance uint32) uint32 {
	// RFC 9937 §6.2: "DeliveredData is estimated to be 1 SMSS on each received duplicate ACK (i.e.,
	// SND.UNA did not change). When SND.UNA advances (i.e., a full or partial ACK), DeliveredData
	// is the change in SND.UNA, minus 1 SMSS for each preceding duplicate ACK."
	n := p.mss
	if advance > 0 {
		// The segment that filled the hole sent no duplicate ACK, so at least one segment is new,
		// as in Linux. Otherwise a partial ACK after many duplicates would count for nothing, and
		// the next hole would wait for the timer.
		n = max(advance-min(advance, p.dupAckCredit), min(advance, p.mss))
		p.dupAckCredit -= min(advance-n, p.dupAckCredit)
	}
	// RFC 9937 §6.2: "PRR disallows incrementing DeliveredData when the total bytes delivered in a
	// PRR episode would exceed the estimated data outstanding upon entering recovery (RecoverFS)."
	n = uint32(min(uint64(n), saturatingSub(uint64(p.recoverFS), p.delivered)))
	if advance == 0 {
		p.dupAckCredit += n
	}
	return n
}

// saturatingSub returns a-b, at least 0.
func saturatingSub(a, b uint64) uint64 { return a - min(a, b) }
