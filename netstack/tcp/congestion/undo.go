package congestion

// Eifel is the Eifel detection algorithm (RFC 3522), for connections with timestamps. The zero
// value is ready.
type Eifel struct {
	ts     uint32 // RetransmitTS
	armed  bool
	judged bool // decided, or undecidable
}

// OnRetransmit records the TSval of the first retransmission of a recovery. Later ones are ignored
// until Reset: if the ACK of the first arrived after a later one was sent, it would look like an
// ACK of the original.
func (e *Eifel) OnRetransmit(tsval uint32) {
	// RFC 3522 §3.2: store the timestamp of the first retransmission.
	if !e.armed && !e.judged {
		*e = Eifel{ts: tsval, armed: true}
	}
}

// Continue begins a recovery while retransmissions of an earlier one are in flight. The first of
// those counts; if it is unknown, Eifel stays undecided.
func (e *Eifel) Continue() { e.judged = e.judged || !e.armed }

// OnAck decides by the TSecr of the first acceptable ACK after the retransmission.
func (e *Eifel) OnAck(tsecr uint32) Detection {
	if !e.armed {
		return Undecided
	}
	e.armed, e.judged = false, true
	// RFC 3522 §3.2: the retransmission was spurious if the TSecr of the first acceptable ACK is
	// smaller than its timestamp. An equal one decides nothing, since timestamp clocks are coarse.
	if before(tsecr, e.ts) {
		return Spurious
	}
	return Genuine
}

// Reset forgets the retransmission.
func (e *Eifel) Reset() { *e = Eifel{} }

// DSACK compares the retransmissions of a recovery with the duplicates that the receiver reports
// (RFC 3708, RFC 2883). If each retransmission is reported, none was necessary. It counts segments,
// so pass each report once. The zero value is ready.
type DSACK struct {
	pending      uint32 // retransmissions not yet reported
	inconclusive bool   // a retransmission was repeated or lost: the counts prove nothing
}

// OnRetransmit counts a retransmitted segment. again says that it was retransmitted before in this
// recovery. Then a duplicate may be missing, and DSACK stays undecided.
func (d *DSACK) OnRetransmit(again bool) {
	d.inconclusive = d.inconclusive || again
	if d.pending < 1<<31 {
		d.pending++
	}
}

// OnDuplicate processes a DSACK for n segments retransmitted in this recovery. Do not pass reports
// of segments sent only once: the network duplicated those, which RFC 3708 treats separately.
func (d *DSACK) OnDuplicate(n uint32) Detection {
	if n == 0 || d.pending == 0 {
		return Undecided
	}
	if n > d.pending {
		d.inconclusive = true // more duplicates than retransmissions: the network duplicates
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
