package congestion

// Eifel is the Eifel detection algorithm (RFC 3522) for connections with timestamps. The zero value
// is ready.
type Eifel struct {
	ts     uint32 // RetransmitTS
	armed  bool
	judged bool // there is a verdict, or there cannot be one
}

// OnRetransmit notes the TSval of the first retransmission of a recovery. Later ones change nothing
// until Reset: an ACK of the first, that comes after a later one left, would be older than that,
// and look like one of the original.
func (e *Eifel) OnRetransmit(tsval uint32) {
	// RFC 3522 §3.2: the timestamp of the retransmission is stored, if it is the first.
	if !e.armed && !e.judged {
		*e = Eifel{ts: tsval, armed: true}
	}
}

// Continue begins a recovery while retransmissions of an earlier one are on their way: the first of
// those counts, and if it is not known, there will be no verdict.
func (e *Eifel) Continue() { e.judged = e.judged || !e.armed }

// OnAck judges the first acceptable ACK after it, by its TSecr.
func (e *Eifel) OnAck(tsecr uint32) Detection {
	if !e.armed {
		return Undecided
	}
	e.armed, e.judged = false, true
	// RFC 3522 §3.2: the retransmission was spurious if the TSecr of the first acceptable ACK is
	// smaller than its timestamp. An equal one may be either's: clocks of timestamps are coarse.
	if before(tsecr, e.ts) {
		return Spurious
	}
	return Genuine
}

// Reset forgets the retransmission.
func (e *Eifel) Reset() { *e = Eifel{} }

// DSACK counts retransmissions of a recovery against the duplicates that the receiver reports
// (RFC 3708, RFC 2883): when each has been reported, none was needed. It keeps counts of segments,
// not their ranges: the caller passes each segment's report once. The zero value is ready.
type DSACK struct {
	pending      uint32 // retransmissions without a report
	inconclusive bool   // one retransmission had to be repeated, or its loss was seen: counts prove nothing any more
}

// OnRetransmit counts a segment that was retransmitted. again tells that it had been already, in
// this recovery: then one of two duplicates may be missing, and no verdict is given.
func (d *DSACK) OnRetransmit(again bool) {
	d.inconclusive = d.inconclusive || again
	if d.pending < 1<<31 {
		d.pending++
	}
}

// OnDuplicate takes a DSACK for n segments that were retransmitted in this recovery. What was sent
// once only and is reported still was duplicated by the network, and is not to be passed: RFC 3708
// has that apart.
func (d *DSACK) OnDuplicate(n uint32) Detection {
	if n == 0 || d.pending == 0 {
		return Undecided
	}
	if n > d.pending {
		d.inconclusive = true // more duplicates than retransmissions: the network makes them
	}
	d.pending -= min(n, d.pending)
	switch {
	case d.pending > 0:
		return Undecided
	case d.inconclusive:
		return Genuine
	}
	return Spurious
}

// Reset begins another recovery.
func (d *DSACK) Reset() { *d = DSACK{} }
