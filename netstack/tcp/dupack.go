package tcp

// dupAckInput has the facts that decide whether an ACK is a duplicate.
type dupAckInput struct {
	Ack, SndUna Seq
	SegLen      uint32 // payload bytes
	SYNOrFIN    bool
	SameWindow  bool // the advertised window did not change
	HasInFlight bool // data is unacknowledged
}

// isDuplicateAck reports whether an ACK is a duplicate by RFC 5681 §2.
func isDuplicateAck(a dupAckInput) bool {
	return a.HasInFlight && a.SegLen == 0 && !a.SYNOrFIN && a.Ack == a.SndUna && a.SameWindow
}

// dupAckCounter counts duplicate ACKs for a sender without SACK (RFC 5681 §3.2), and keeps
// NewReno's recovery point (RFC 6582 §3.2). The zero value is ready.
type dupAckCounter struct {
	n          uint32
	recover    Seq // the highest sequence number sent when the last recovery began, plus 1
	hasRecover bool
}

// Count counts a duplicate ACK, and returns the number since the last Reset.
func (d *dupAckCounter) Count() uint32 {
	if d.n < 1<<31 {
		d.n++
	}
	return d.n
}

// Reset starts over, at an ACK of new data.
func (d *dupAckCounter) Reset() { d.n = 0 }

// Repaired subtracts the segments that an ACK acknowledges beyond the filled hole: their duplicate
// ACKs were counted.
func (d *dupAckCounter) Repaired(segments uint32) { d.n -= min(d.n, segments) }

// Advanced forgets a recovery point below una, long before sequence numbers wrap.
func (d *dupAckCounter) Advanced(una Seq) { d.hasRecover = d.hasRecover && !una.After(d.recover) }

// Forget forgets the last recovery. A Reno sender has no recovery point.
func (d *dupAckCounter) Forget() { d.hasRecover = false }

// N returns the number of duplicate ACKs since the last Reset.
func (d *dupAckCounter) N() uint32 { return d.n }

// Recover sets the recovery point to sndNxt, the sequence number after the highest one sent, when a
// fast recovery or a timeout begins (RFC 6582 §3.2 steps 2 and 4).
func (d *dupAckCounter) Recover(sndNxt Seq) { d.recover, d.hasRecover = sndNxt, true }

// FastRetransmit reports whether the duplicate ACK just counted starts a fast retransmit. It must
// be the third, and ack must be beyond the last recovery point, so that it is not due to that
// recovery's retransmissions (RFC 6582 §3.2 step 2).
func (d *dupAckCounter) FastRetransmit(ack Seq) bool {
	return d.n == dupThresh && (!d.hasRecover || ack.After(d.recover))
}
