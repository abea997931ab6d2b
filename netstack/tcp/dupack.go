package tcp

// AckFacts are what makes an ACK a duplicate one.
type AckFacts struct {
	Ack, SndUna Seq
	SegLen      uint32 // octets of data in the segment
	SYNOrFIN    bool
	SameWindow  bool // the advertised window is that of the last ACK
	HasInFlight bool // something is unacknowledged
}

// IsDuplicateAck reports whether an ACK is a duplicate in the sense of RFC 5681 §2: something is in flight, the segment carries no
// data, SYN or FIN, and neither its acknowledgement number nor its window is news.
func IsDuplicateAck(a AckFacts) bool {
	return a.HasInFlight && a.SegLen == 0 && !a.SYNOrFIN && a.Ack == a.SndUna && a.SameWindow
}

// DupAcks counts duplicate ACKs for a sender without SACK (RFC 5681 §3.2), and keeps what NewReno needs to know of the last
// recovery (RFC 6582 §3.2). The zero value is ready.
type DupAcks struct {
	n          uint32
	recover    Seq // the highest sequence number sent when the last recovery began, plus 1
	hasRecover bool
}

// Count notes a duplicate ACK, and returns how many there were since the last Reset.
func (d *DupAcks) Count() uint32 {
	if d.n < 1<<31 {
		d.n++
	}
	return d.n
}

// Reset notes an ACK of new data.
func (d *DupAcks) Reset() { d.n = 0 }

// Repaired notes an ACK that fills a hole, in a fast recovery: what it acknowledges besides, segments, had sent duplicate ACKs.
func (d *DupAcks) Repaired(segments uint32) { d.n -= min(d.n, segments) }

// Advanced notes SND.UNA: a recovery that it has gone past is forgotten, long before the numbers come round again.
func (d *DupAcks) Advanced(una Seq) { d.hasRecover = d.hasRecover && !una.After(d.recover) }

// N returns how many duplicate ACKs there were since the last Reset.
func (d *DupAcks) N() uint32 { return d.n }

// Recover notes that a recovery began, fast or by timeout, with sndNxt as the sequence number after the highest one sent
// (RFC 6582 §3.2 steps 2 and 4).
func (d *DupAcks) Recover(sndNxt Seq) { d.recover, d.hasRecover = sndNxt, true }

// FastRetransmit reports whether the duplicate ACK just counted, of ack, is to start a fast retransmit: it is the third, and
// acknowledges all that was sent before the last recovery began, so that it does not come from that one's retransmissions (RFC 6582 §3.2 step 2).
func (d *DupAcks) FastRetransmit(ack Seq) bool {
	return d.n == dupThresh && (!d.hasRecover || ack.After(d.recover))
}

// Partial reports whether an ACK of new data in a fast recovery leaves some of what it began with (RFC 6582 §3.2 step 3).
func (d *DupAcks) Partial(ack Seq) bool { return d.hasRecover && ack.Before(d.recover) }

// LimitedTransmit are the conditions of RFC 3042 §2 for sending new data on the first two duplicate ACKs. Sizes are in octets;
// Next is the size of the segment that would be sent.
type LimitedTransmit struct {
	Flight, Cwnd, SMSS, Next uint32
	RwndAllows               bool // the receiver's window has room for it
	NewlySACKed              bool // the ACK has SACK information that is news
	SACK                     bool // the connection uses SACK
}

// Allowed reports whether a segment of new data may be sent on the n-th duplicate ACK. The congestion window stays as it is.
func (c LimitedTransmit) Allowed(n uint32) bool {
	// RFC 3042 §2: not on a duplicate ACK without news, where there is SACK.
	if n < 1 || n >= dupThresh || !c.RwndAllows || c.SACK && !c.NewlySACKed {
		return false
	}
	// RFC 3042 §2: what is outstanding stays at or below the congestion window and two segments.
	return uint64(c.Flight)+uint64(c.Next) <= uint64(c.Cwnd)+2*uint64(c.SMSS)
}
