package tcp

import (
	"time"

	"tcpwheel/wheel"
)

// dupThresh is DupThresh of RFC 5681 and RFC 8985.
const dupThresh = 3

// reoWndPersist is how many recoveries without a DSACK an enlarged reordering window lasts:
// RFC 8985 §6.2.
const reoWndPersist = 16

// maxReoWndExtra bounds RACK.reo_wnd_mult - 1. The window is never above SRTT.
const maxReoWndExtra = 1 << 10

// minRTTWindow is how long a minimum RTT counts, up to twice that. It is Linux's tcp_min_rtt_wlen.
const minRTTWindow = 300 * time.Second

// rackState is the RACK state of a connection (RFC 8985 §6): which delivered segment was sent last,
// and how much reordering to expect. The zero value is ready. The sentQueue's list by last
// transmission spares it a walk over the window.
//
// For each ACK call SampleRTT if there is a sample, Delivered for each segment newly acknowledged
// or SACKed, then Detect once.
type rackState struct {
	xmitTS wheel.Time // RACK.xmit_ts
	rtt    time.Duration

	minRTT, minRTTBefore time.Duration // of this window and the previous one
	minRTTSince          wheel.Time
	reoWnd               time.Duration

	endSeq      Seq // RACK.end_seq
	fack        Seq
	dsackRound  Seq
	reoWndExtra uint32 // RACK.reo_wnd_mult - 1
	persist     uint8  // RACK.reo_wnd_persist

	delivered      bool // xmitTS, endSeq and rtt are valid
	hasMinRTT      bool
	hasFack        bool
	reorderingSeen bool
	hasDSACKRound  bool
	learns         bool // Config.LateOriginals
	bySteps        bool // Policy.ReorderedDSACKs: only DSACKs lengthen the window, as in Linux
}

// SampleRTT performs step 1 of RFC 8985 §6.2 on an RTT measured by RFC 6298 or RFC 7323.
func (r *rackState) SampleRTT(now wheel.Time, rtt time.Duration) {
	switch {
	case !r.hasMinRTT:
		r.minRTT, r.minRTTBefore, r.minRTTSince, r.hasMinRTT = rtt, rtt, now, true
	case now.Sub(r.minRTTSince) >= minRTTWindow:
		r.minRTT, r.minRTTBefore, r.minRTTSince = rtt, r.minRTT, now
	default:
		r.minRTT = min(r.minRTT, rtt)
	}
}

// MinRTT returns RACK.min_RTT, the minimum of the last five to ten minutes, and whether there is
// one.
func (r *rackState) MinRTT() (time.Duration, bool) { return min(r.minRTT, r.minRTTBefore), r.hasMinRTT }

// RTT returns RACK.rtt, the RTT of the delivered segment sent last, and whether there is one.
func (r *rackState) RTT() (time.Duration, bool) { return r.rtt, r.delivered }

// ReoWnd returns the reordering window of the last Detect.
func (r *rackState) ReoWnd() time.Duration { return r.reoWnd }

// ReorderingSeen reports whether the connection has seen reordering.
func (r *rackState) ReorderingSeen() bool { return r.reorderingSeen }

// Delivered performs steps 2 and 3 of RFC 8985 §6.2 on a segment newly acknowledged or SACKed, in
// the order of sentQueue's callbacks. It reports whether later segments overtook it.
// staleEcho says that the ACK's timestamp echo is older than the segment's last transmission. slack
// is ReplayConfig.Slack.
func (r *rackState) Delivered(now wheel.Time, s *sentSegment, staleEcho bool, slack time.Duration) (reordered bool) {
	if s.Sacked() {
		return false
	}
	reordered = r.detectReordering(s)
	rtt := now.Sub(s.Sent)
	if s.Retransmitted() {
		// RFC 8985 §6.2 step 2: the ACK belongs to an earlier transmission if its timestamp says
		// so, or if it came within less than the minimum RTT.
		if least, ok := r.MinRTT(); staleEcho || ok && rtt < least-slack {
			return r.originalArrived(now, s)
		}
	}
	// DEVIATION RFC 8985 §6.2 step 2: the segments of one ACK are taken in sequence order, not by
	// last transmission, as in Linux. So RACK.rtt may be that of an earlier segment, which is
	// longer.
	r.rtt = rtt
	if !r.delivered || sentAfter(s.Sent, s.End(), r.xmitTS, r.endSeq) {
		r.xmitTS, r.endSeq = s.Sent, s.End()
	}
	r.delivered = true
	return reordered
}

// detectReordering performs step 3: a segment sent once and delivered below the highest delivered
// one was overtaken.
func (r *rackState) detectReordering(s *sentSegment) bool {
	switch end := s.End(); {
	case !r.hasFack || end.After(r.fack):
		r.fack, r.hasFack = end, true
	case end.Before(r.fack) && !s.Retransmitted():
		r.reorderingSeen = true
		return true
	}
	return false
}

// originalArrived learns from a segment that was retransmitted before its first transmission
// arrived. It reports whether later segments overtook it.
//
// DEVIATION RFC 8985 §6.2 step 3: the RFC ignores retransmitted segments. So it never sees
// reordering where RACK retransmits each late segment. Linux learns it from the undo
// (tcp_try_undo_partial). Here the window also becomes as long as this segment was late. By step 4
// it grows by min_RTT/4 in each round trip with a DSACK.
func (r *rackState) originalArrived(now wheel.Time, s *sentSegment) (reordered bool) {
	if !r.learns || s.Transmissions != 2 || !s.End().Before(r.fack) {
		return false
	}
	r.reorderingSeen = true
	if least, _ := r.MinRTT(); least > 0 && !r.bySteps {
		late := r.reoWnd + now.Sub(s.Sent) // it was retransmitted when the window had passed
		r.reoWndExtra = max(r.reoWndExtra, uint32(min(4*late/least, maxReoWndExtra)))
		r.persist = reoWndPersist
	}
	return true
}

// rackInput is what Detect needs to know about the connection.
type rackInput struct {
	SndUna, SndNxt  Seq
	SRTT            time.Duration
	InRecovery      bool // fast recovery or RTO recovery
	LeavingRecovery bool // this ACK ends the recovery
	DSACK           bool // this ACK has a DSACK
}

// updateReoWnd performs step 4 of RFC 8985 §6.2.
func (r *rackState) updateReoWnd(q *sentQueue, c rackInput) {
	if r.hasDSACKRound && c.SndUna.AtOrAfter(r.dsackRound) {
		r.hasDSACKRound = false
	}
	switch {
	case !r.hasDSACKRound && c.DSACK:
		r.dsackRound, r.hasDSACKRound = c.SndNxt, true
		r.reoWndExtra = min(r.reoWndExtra+1, maxReoWndExtra)
		r.persist = reoWndPersist
	case c.LeavingRecovery:
		if r.persist > 0 {
			r.persist--
		}
		if r.persist == 0 {
			r.reoWndExtra = 0
		}
	}
	// RFC 8985 §6.2 step 4: "If RACK.reordering_seen is FALSE: If in Fast or RTO recovery: Return 0
	// Else if RACK.segs_sacked >= DupThresh: Return 0".
	if !r.reorderingSeen && (c.InRecovery || q.sacked.Segments >= dupThresh) {
		r.reoWnd = 0
		return
	}
	// RFC 8985 §6.2 step 4: "Return min(RACK.reo_wnd_mult * RACK.min_RTT / 4, SRTT)".
	least, _ := r.MinRTT()
	r.reoWnd = min(time.Duration(r.reoWndExtra+1)*least/4, c.SRTT)
}

// Detect performs steps 4 and 5 of RFC 8985 §6.2. It marks lost segments, calling lost before each.
// If ok, the caller must start the reordering timer with timeout and call Detect again when it
// expires, with neither DSACK nor LeavingRecovery set.
//
// It costs O(1) for each lost segment, and amortised for each transmission; it does not walk the
// window.
func (r *rackState) Detect(now wheel.Time, q *sentQueue, c rackInput, lost func(segmentID)) (timeout time.Duration, ok bool) {
	r.updateReoWnd(q, c)
	if !r.delivered {
		return 0, false
	}
	for id := q.oldest; id != 0 && r.overtook(q, id) && r.remaining(now, q, id) <= 0; id = q.oldest {
		q.visits++
		if lost != nil {
			lost(id)
		}
		q.MarkLost(id)
	}
	// RFC 8985 §6.2 step 5: "timeout = max(remaining, timeout)": that of the newest overtaken
	// segment.
	for {
		id := q.oldest
		if q.overtaken != 0 {
			id = q.seg(q.overtaken).newer
		}
		if id == 0 || !r.overtook(q, id) {
			break
		}
		q.visits++
		q.overtaken = id
	}
	if q.overtaken == 0 {
		return 0, false
	}
	return r.remaining(now, q, q.overtaken), true
}

// overtook reports whether a segment sent after id was delivered.
func (r *rackState) overtook(q *sentQueue, id segmentID) bool {
	s := q.seg(id)
	return sentAfter(r.xmitTS, r.endSeq, s.Sent, s.End())
}

// remaining returns how long id may still be in flight. RFC 8985 §6.2 step 5: "remaining =
// Segment.xmit_ts + RACK.rtt + RACK.reo_wnd - Now()".
func (r *rackState) remaining(now wheel.Time, q *sentQueue, id segmentID) time.Duration {
	return q.seg(id).Sent.Add(r.rtt).Add(r.reoWnd).Sub(now)
}

// MarkLossesOnRTO is RFC 8985 §6.3. When the retransmission timer expires, it marks all segments
// without time remaining lost. The caller marks the first. It calls lost before each and costs O(1)
// for each.
func (r *rackState) MarkLossesOnRTO(now wheel.Time, q *sentQueue, lost func(segmentID)) {
	for id := q.oldest; id != 0 && r.remaining(now, q, id) <= 0; id = q.oldest {
		q.visits++
		if lost != nil {
			lost(id)
		}
		q.MarkLost(id)
	}
}
