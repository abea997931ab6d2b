package tcp

import (
	"time"

	"tcpwheel/wheel"
)

// dupThresh is the DupThresh of RFC 5681 and RFC 8985.
const dupThresh = 3

// RFC 8985 §6.2: an enlarged reordering window lasts for 16 recoveries without a DSACK.
const reoWndPersist = 16

// minRTTWindow is how long a least round-trip time counts, at least; at most twice that. It is
// Linux's tcp_min_rtt_wlen.
const minRTTWindow = 300 * time.Second

// rackState is the state of RACK (RFC 8985 §6) for one connection: which of the delivered segments
// was sent last, and how much reordering is to be reckoned with. The zero value is ready. It works
// on the connection's sentQueue, whose list by the time of last transmissions spares it the walk of
// the window.
//
// For each ACK: SampleRTT if there is a sample, Delivered for each segment that Ack and Sack tell
// of, Detect once.
type rackState struct {
	xmitTS wheel.Time // RACK.xmit_ts
	rtt    time.Duration

	minRTT, minRTTBefore time.Duration // in this window and the one before it
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
}

// SampleRTT is step 1 of RFC 8985 §6.2: it is told each round-trip time measured by the rules of
// RFC 6298 and RFC 7323.
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

// MinRTT returns RACK.min_RTT, the least of the round-trip times of the last five to ten minutes,
// and whether there is one.
func (r *rackState) MinRTT() (time.Duration, bool) { return min(r.minRTT, r.minRTTBefore), r.hasMinRTT }

// RTT returns RACK.rtt, that of the segment delivered that was sent last, and whether there is one.
func (r *rackState) RTT() (time.Duration, bool) { return r.rtt, r.delivered }

// ReoWnd returns the reordering window as the last Detect had it.
func (r *rackState) ReoWnd() time.Duration { return r.reoWnd }

// ReorderingSeen reports whether reordering was seen on the connection.
func (r *rackState) ReorderingSeen() bool { return r.reorderingSeen }

// Delivered is steps 2 and 3 of RFC 8985 §6.2, for a segment that is newly acknowledged or SACKed,
// in the order in which sentQueue tells of them; one that was SACKed before changes nothing.
// staleEcho says that the ACK has a timestamp option, and that its echo is older than the stamp of
// the segment's last transmission; slack by how much times may be off: Script.Slack. It reports
// whether the segment was overtaken by others.
func (r *rackState) Delivered(now wheel.Time, s *sentSegment, staleEcho bool, slack time.Duration) (reordered bool) {
	if s.Sacked() {
		return false
	}
	reordered = r.detectReordering(s)
	rtt := now.Sub(s.Sent)
	if s.Retransmitted() {
		// RFC 8985 §6.2 step 2: the ACK may be of an earlier transmission, if its timestamp says so
		// or if it came within less than the least round-trip time.
		if staleEcho {
			return reordered
		}
		if least, ok := r.MinRTT(); ok && rtt < least-slack {
			return reordered
		}
	}
	// DEVIATION RFC 8985 §6.2 step 2: the segments of one ACK come in the order of their numbers,
	// and not of their last transmission, as in Linux. RACK.rtt may so be that of an earlier one,
	// which is longer.
	r.rtt = rtt
	if !r.delivered || sentAfter(s.Sent, s.End(), r.xmitTS, r.endSeq) {
		r.xmitTS, r.endSeq = s.Sent, s.End()
	}
	r.delivered = true
	return reordered
}

// detectReordering is step 3: an original delivered below the highest one delivered was overtaken.
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

// rackInput is what Detect has to know of its connection.
type rackInput struct {
	SndUna, SndNxt  Seq
	SRTT            time.Duration
	InRecovery      bool // fast or RTO recovery
	LeavingRecovery bool // by the ACK at hand
	DSACK           bool // the ACK at hand has a DSACK option
}

// updateReoWnd is step 4 of RFC 8985 §6.2.
func (r *rackState) updateReoWnd(q *sentQueue, c rackInput) {
	if r.hasDSACKRound && c.SndUna.AtOrAfter(r.dsackRound) {
		r.hasDSACKRound = false
	}
	switch {
	case !r.hasDSACKRound && c.DSACK:
		r.dsackRound, r.hasDSACKRound = c.SndNxt, true
		r.reoWndExtra = min(r.reoWndExtra+1, 1<<10)
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

// Detect is steps 4 and 5 of RFC 8985 §6.2: it marks what is lost by now, calling lost for each
// before, and returns in how long the reordering timer is to call again, if ok. When that timer
// expires, c has neither DSACK nor LeavingRecovery set.
//
// It costs O(1), for each segment lost, and amortised for each transmission: the window is not
// walked.
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
	// RFC 8985 §6.2 step 5: "timeout = max(remaining, timeout)": that of the newest one overtaken.
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

// overtook reports whether a segment was delivered that was sent after id.
func (r *rackState) overtook(q *sentQueue, id segmentID) bool {
	s := q.seg(id)
	return sentAfter(r.xmitTS, r.endSeq, s.Sent, s.End())
}

// remaining is how long id may still be on its way. RFC 8985 §6.2 step 5: "remaining =
// Segment.xmit_ts + RACK.rtt + RACK.reo_wnd - Now()".
func (r *rackState) remaining(now wheel.Time, q *sentQueue, id segmentID) time.Duration {
	return q.seg(id).Sent.Add(r.rtt).Add(r.reoWnd).Sub(now)
}

// MarkLossesOnRTO is RFC 8985 §6.3: when the retransmission timer expires, the first segment is
// lost, and all whose time is up, whether one sent later was delivered or not. It calls lost for
// each before it marks it. It costs O(1) for each.
func (r *rackState) MarkLossesOnRTO(now wheel.Time, q *sentQueue, lost func(segmentID)) {
	mark := func(id segmentID) {
		q.visits++
		if lost != nil {
			lost(id)
		}
		q.MarkLost(id)
	}
	if id := q.Front(); id != 0 && q.seg(id).state&stateTimed != 0 {
		mark(id)
	}
	for id := q.oldest; id != 0 && r.remaining(now, q, id) <= 0; id = q.oldest {
		mark(id)
	}
}
