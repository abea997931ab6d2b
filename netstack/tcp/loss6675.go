package tcp

// loss6675 is loss detection and the choice of what to send where RACK is off, by the SACK
// scoreboard (RFC 6675). The scoreboard itself is the sentQueue, whose segments are to be of at
// most SMSS bytes (Split makes them so when SMSS shrinks).
//
// For each ACK: sentQueue.Ack and Sack, then Update. In recovery, NextSeg for each segment that the
// window has room for.
type loss6675 struct {
	// SMSS is the size of a full segment in bytes, at least 1.
	SMSS uint32

	inRecovery    bool
	highRxtEnd    Seq // HighRxt + 1
	recoveryPoint Seq // RecoveryPoint + 1
	rescueRxt     Seq // RescueRxt + 1
	hasRescue     bool
}

// isLost is IsLost of RFC 6675 §4 for the edge of q: the lowest segment that is neither SACKed nor
// judged yet.
func (l *loss6675) isLost(q *sentQueue) bool {
	// RFC 6675 §4: "The routine returns true when either DupThresh discontiguous SACKed sequences
	// have arrived above 'SeqNum' or more than (DupThresh - 1) * SMSS bytes with sequence numbers
	// greater than 'SeqNum' have been SACKed."
	return q.edge.runs >= dupThresh || uint64(q.edge.octets) > (dupThresh-1)*uint64(l.SMSS)
}

// Update marks what has become lost by the SACKs that arrived, and calls lost for each segment
// before that. A retransmission of it that is on its way remains so. It visits each segment once in
// all, until SACKs are forgotten.
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

// IsLost reports whether the byte seq, which is in flight, is lost as of the last Update
// (RFC 6675 §4). It costs O(log n).
func (l *loss6675) IsLost(q *sentQueue, seq Seq) bool {
	id := q.Find(seq)
	if id == 0 {
		panic("BUG: the byte is not in flight")
	}
	s := q.seg(id)
	return !s.Sacked() && (q.edge.id == 0 || s.Seq.Before(q.seg(q.edge.id).Seq))
}

// Enter starts a recovery: una is HighACK, the lowest sequence number in flight, and recoveryPoint
// is SND.NXT (RFC 6675 §5).
func (l *loss6675) Enter(una, recoveryPoint Seq) {
	*l = loss6675{SMSS: l.SMSS, inRecovery: true, highRxtEnd: una, recoveryPoint: recoveryPoint}
}

// Leave ends a recovery, at an ACK of RecoveryPoint or at a retransmission timeout.
func (l *loss6675) Leave() { *l = loss6675{SMSS: l.SMSS} }

// InRecovery reports whether a recovery is on, and the sequence number whose ACK ends it.
func (l *loss6675) InRecovery() (recoveryPoint Seq, ok bool) { return l.recoveryPoint, l.inRecovery }

// nextSegRule is the rule of RFC 6675 §4, NextSeg, by which something is to be sent.
type nextSegRule uint8

// The rules of NextSeg.
const (
	nextSegNone   nextSegRule = iota
	nextSegLost               // rule 1: a lost segment
	nextSegNew                // rule 2: new data
	nextSegHole               // rule 3: one below SACKed data that is not deemed lost
	nextSegRescue             // rule 4: the end of what is in flight, once in a recovery
)

// NextSeg returns what to send next in a recovery (RFC 6675 §4): a segment to retransmit, or 0 with
// nextSegNew or nextSegNone. canSendNew says that there is unsent data, and that the receiver's
// window has room for it. It changes nothing; what is retransmitted is told by Retransmitted. It
// costs O(log n) amortised, and rule 4 the SACKed segments at the end.
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
	// RFC 6675 §4: the smallest byte that is not SACKed, is (1.a) above HighRxt and (1.b) below
	// the highest one SACKed.
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
	// RFC 6675 §4 (4): a single rescue retransmission, of the segment with the highest byte that
	// is not SACKed.
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

// Retransmitted notes that id, which NextSeg returned with rule, was retransmitted;
// sentQueue.Retransmit is told besides.
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
