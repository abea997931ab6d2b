package tcp

// loss6675 is SACK-based loss detection and the choice of the next segment (RFC 6675), used when
// RACK is off. The scoreboard is the sentQueue, whose segments must have at most SMSS bytes; Split
// enforces that when SMSS shrinks.
//
// For each ACK call sentQueue.Ack and Sack, then Update. In recovery call NextSeg for each segment
// that the window has room for.
type loss6675 struct {
	// SMSS is the size of a full segment, bytes, at least 1.
	SMSS uint32

	inRecovery    bool
	highRxtEnd    Seq // HighRxt + 1
	recoveryPoint Seq // RecoveryPoint + 1
	rescueRxt     Seq // RescueRxt + 1
	hasRescue     bool
}

// isLost is IsLost (RFC 6675 §4) for the edge of q, the lowest segment that is neither SACKed nor
// marked yet.
func (l *loss6675) isLost(q *sentQueue) bool {
	// RFC 6675 §4: "The routine returns true when either DupThresh discontiguous SACKed sequences
	// have arrived above 'SeqNum' or more than (DupThresh - 1) * SMSS bytes with sequence numbers
	// greater than 'SeqNum' have been SACKed."
	return q.edge.runs >= dupThresh || uint64(q.edge.bytes) > (dupThresh-1)*uint64(l.SMSS)
}

// Update marks newly lost segments, and calls lost for each before that. A retransmission in flight
// stays in flight. Over time it visits each segment once, until SACKs are forgotten.
func (l *loss6675) Update(q *sentQueue, lost func(segmentID)) {
	for q.edge.id != 0 && l.isLost(q) {
		id := q.edge.id
		q.visits++
		if !q.seg(id).Lost() {
			if lost != nil {
				lost(id)
			}
			q.markFirstLost(id)
		}
		q.edge.rise(q)
	}
}

// IsLost reports whether the byte seq, which must be in flight, is lost as of the last Update
// (RFC 6675 §4). It costs O(log n).
func (l *loss6675) IsLost(q *sentQueue, seq Seq) bool {
	id := q.Find(seq)
	if id == 0 {
		panic("BUG: the byte is not in flight")
	}
	s := q.seg(id)
	return !s.Sacked() && (q.edge.id == 0 || s.Seq.Before(q.seg(q.edge.id).Seq))
}

// Enter starts a recovery. una is HighACK and recoveryPoint is SND.NXT (RFC 6675 §5).
func (l *loss6675) Enter(una, recoveryPoint Seq) {
	*l = loss6675{SMSS: l.SMSS, inRecovery: true, highRxtEnd: una, recoveryPoint: recoveryPoint}
}

// Leave ends a recovery, at an ACK of RecoveryPoint or at a timeout.
func (l *loss6675) Leave() { *l = loss6675{SMSS: l.SMSS} }

// nextSegRule is the rule of NextSeg (RFC 6675 §4) that selected a segment.
type nextSegRule uint8

const (
	nextSegNone   nextSegRule = iota
	nextSegLost               // rule 1: a lost segment
	nextSegNew                // rule 2: new data
	nextSegHole               // rule 3: not lost, below SACKed data
	nextSegRescue             // rule 4: the last segment, once per recovery
)

// NextSeg returns what to send next in a recovery (RFC 6675 §4): a segment to retransmit, or 0 with
// nextSegNew or nextSegNone. canSendNew says that unsent data fits the receiver's window. NextSeg
// changes nothing; report a retransmission to Retransmitted. It costs O(log n) amortised, and for
// rule 4 a step for each SACKed segment at the end.
func (l *loss6675) NextSeg(q *sentQueue, canSendNew bool) (segmentID, nextSegRule) {
	if !l.inRecovery {
		panic("BUG: NextSeg outside of a recovery")
	}
	if q.n == 0 {
		if canSendNew {
			return 0, nextSegNew
		}
		return 0, nextSegNone
	}
	una := q.seg(q.Front()).Seq
	// RFC 6675 §4: the smallest byte not SACKed that is (1.a) above HighRxt and (1.b) below the
	// highest SACKed byte.
	id := q.nextUnsacked(q.Find(MaxSeq(l.highRxtEnd, una)))
	hole := id != 0 && q.sacked.Segments > 0 && q.seg(id).Seq.Before(q.highSacked)
	switch {
	case hole && (q.seg(id).Lost() || l.IsLost(q, q.seg(id).Seq)): // (1.c)
		return id, nextSegLost
	case canSendNew:
		return 0, nextSegNew
	case hole:
		return id, nextSegHole
	case l.hasRescue && !una.After(l.rescueRxt): // both are one more than HighACK and RescueRxt
		return 0, nextSegNone
	}
	// RFC 6675 §4 (4): one rescue retransmission, of the segment with the highest byte not SACKed.
	id = q.Back()
	for id != 0 && q.seg(id).Sacked() {
		q.visits++
		id = q.seg(id).prev
	}
	if id == 0 {
		return 0, nextSegNone
	}
	return id, nextSegRescue
}

// Retransmitted records that id, which NextSeg returned with rule, was retransmitted. Also call
// sentQueue.Retransmit.
func (l *loss6675) Retransmitted(q *sentQueue, id segmentID, rule nextSegRule) {
	if rule == nextSegRescue {
		// RFC 6675 §4 (4): RescueRxt becomes RecoveryPoint, and "HighRxt MUST NOT be updated."
		l.rescueRxt, l.hasRescue = l.recoveryPoint, true
		return
	}
	l.highRxtEnd = MaxSeq(l.highRxtEnd, q.Get(id).End())
	if !l.hasRescue {
		// RFC 6675 §5 (4.3): "To prevent repeated retransmission of the same data or a premature
		// rescue retransmission, set both HighRxt and RescueRxt to the highest sequence number in
		// the retransmitted segment."
		l.rescueRxt, l.hasRescue = l.highRxtEnd, true
	}
}
