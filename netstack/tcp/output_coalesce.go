package tcp

// coalesceACKs removes the last segment but one if it is a pure ACK and the last one carries all
// that it does. A host that feeds several segments before it sends the output sends one ACK for
// them. It reports whether it removed one.
func (o *Output) coalesceACKs() bool {
	n := len(o.Segments)
	if n < 2 || o.expiring {
		return false
	}
	a, b := &o.Segments[n-2], &o.Segments[n-1]
	if a.Timed || !supersedes(b, a) {
		return false
	}
	// RFC 7323 §4.3: an ACK of several segments echoes the timestamp of the earliest.
	b.Header.Options.TSEcr = a.Header.Options.TSEcr
	*a = *b
	o.Segments = o.Segments[:n-1]
	o.Counters.OutSegs--
	return true
}

// supersedes reports whether sending b alone loses nothing that a carries: both are pure ACKs, b
// acknowledges more, and neither carries anything else.
func supersedes(b, a *Outgoing) bool {
	h, g := &a.Header, &b.Header
	return a.Len == 0 && b.Len == 0 && h.Flags == ACK && g.Flags == ACK && g.Ack.After(h.Ack) && h.Seq == g.Seq &&
		h.Options.NumSACK == 0 && g.Options.NumSACK == 0 && a.ECT == b.ECT
}
