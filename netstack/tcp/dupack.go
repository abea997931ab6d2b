package tcp

// dupAckInput are what makes an ACK a duplicate one.
type dupAckInput struct {
	Ack, SndUna Seq
	SegLen      uint32 // bytes of data in the segment
	SYNOrFIN    bool
	SameWindow  bool // the advertised window is that of the last ACK
	HasInFlight bool // something is unacknowledged
}

// isDuplicateAck reports whether an ACK is a duplicate in the sense of RFC 5681 §2: something is in
// flight, the segment carries no data, SYN or FIN, and neither its acknowledgement number nor its
// window is news.
func isDuplicateAck(a dupAckInput) bool {
	return a.HasInFlight && a.SegLen == 0 && !a.SYNOrFIN && a.Ack == a.SndUna && a.SameWindow
}

// dupAckCounter counts duplicate ACKs for a sender without SACK (RFC 5681 §3.2), and keeps what
// NewReno needs to know of the last recovery (RFC 6582 §3.2). The zero value is ready.
type dupAckCounter struct {
	n          uint32
	recover    Seq // the highest sequence number sent when the last recovery began, plus 1
	hasRecover bool
}

// Count notes a duplicate ACK, and returns how many there were since the last Reset.
func (d *dupAckCounter) Count() uint32 {
	if d.n < 1<<31 {
		d.n++
	}
	return d.n
}

// Reset notes an ACK of new data.
func (d *dupAckCounter) Reset() { d.n = 0 }

// Repaired notes an ACK that fills a hole, in a fast recovery: what it acknowledges besides,
// segments, had sent duplicate ACKs.
func (d *dupAckCounter) Repaired(segments uint32) { d.n -= min(d.n, segments) }

// Advanced notes SND.UNA: a recovery that it has gone past is forgotten, long before the numbers
// come round again.
func (d *dupAckCounter) Advanced(una Seq) { d.hasRecover = d.hasRecover && !una.After(d.recover) }

// Forget forgets the last recovery, as a sender before NewReno knows of none.
func (d *dupAckCounter) Forget() { d.hasRecover = false }

// N returns how many duplicate ACKs there were since the last Reset.
func (d *dupAckCounter) N() uint32 { return d.n }

// Recover notes that a recovery began, fast or by timeout, with sndNxt as the sequence number after
// the highest one sent (RFC 6582 §3.2 steps 2 and 4).
func (d *dupAckCounter) Recover(sndNxt Seq) { d.recover, d.hasRecover = sndNxt, true }

// FastRetransmit reports whether the duplicate ACK just counted, of ack, is to start a fast
// retransmit: it is the third, and acknowledges all that was sent before the last recovery began,
// so that it does not come from that one's retransmissions (RFC 6582 §3.2 step 2).
func (d *dupAckCounter) FastRetransmit(ack Seq) bool {
	return d.n == dupThresh && (!d.hasRecover || ack.After(d.recover))
}
