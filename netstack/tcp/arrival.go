package tcp

// acceptability is what the first check on an arriving segment says of it.
type acceptability uint8

// What a segment may be.
const (
	// Unacceptable is a segment none of which lies in the window. RFC 9293 §3.10.7.4: "If an incoming segment is not
	// acceptable, an acknowledgment should be sent in reply (unless the RST bit is set, if so drop the segment and return)".
	unacceptable acceptability = iota
	// ControlOnly is a segment at RCV.NXT that finds the window closed: its octets are not taken and are answered as those
	// of an unacceptable segment, its acknowledgement is. RFC 9293 §3.10.7.4: "If the RCV.WND is zero, no segments will be
	// acceptable, but special allowance should be made to accept valid ACKs, URGs, and RSTs."
	controlOnly
	// Acceptable is a segment that has something in the window.
	acceptable
)

// String returns the name in lower case.
func (a acceptability) String() string {
	switch a {
	case unacceptable:
		return "unacceptable"
	case controlOnly:
		return "control-only"
	case acceptable:
		return "acceptable"
	}
	return "Acceptability(?)"
}

// Accept applies the acceptability test of RFC 9293 §3.10.7.4 to a segment that begins at seq and takes up n sequence
// numbers, SYN and FIN counted. nxt is RCV.NXT and wnd RCV.WND, at most 2^30. "There are four cases for the acceptability
// test for an incoming segment":
//
//	SEG.LEN  RCV.WND  test
//	0        0        SEG.SEQ = RCV.NXT
//	0        > 0      RCV.NXT ≤ SEG.SEQ < RCV.NXT+RCV.WND
//	> 0      0        not acceptable
//	> 0      > 0      the first or the last number is in the window
//
// It costs O(1).
//
// DEVIATION RFC 9293 §3.10.7.4: of the second case, a segment is accepted too that is at the right edge, RCV.NXT+RCV.WND, as in
// Linux. There stands every ACK of a peer that has filled the window. If both ends have done so, and lost what they
// sent, neither would believe the other's acknowledgements for ever.
//
// DEVIATION RFC 9293 §3.10.7.4: of the fourth case, a segment is accepted too that begins before the window and ends
// beyond it, though neither end is inside: what it has in the window is as good as that of any other segment.
func checkSequence(nxt Seq, wnd uint32, seq Seq, n uint32) acceptability {
	end := seq.Add(n)
	switch {
	case n == 0:
		if seq.InWindow(nxt, wnd+1) {
			return acceptable
		}
		return unacceptable
	case n >= 1<<31: // numbers that far apart cannot be compared; no segment is so long
		return unacceptable
	case wnd == 0:
		if seq.AtOrBefore(nxt) && end.After(nxt) {
			return controlOnly
		}
		return unacceptable
	}
	if seq.Before(nxt.Add(wnd)) && end.After(nxt) {
		return acceptable
	}
	return unacceptable
}

// Arrival is the part of a segment that takes up sequence numbers. Its payload begins at Seq, or one after it behind a SYN.
type Arrival struct {
	Seq      Seq
	Len      uint32 // octets of payload
	SYN, FIN bool
}

// SegLen returns SEG.LEN, the sequence numbers that the segment takes up.
func (a Arrival) SegLen() uint32 {
	n := a.Len
	if a.SYN {
		n++
	}
	if a.FIN {
		n++
	}
	return n
}

// Payload returns the numbers of the payload's octets.
func (a Arrival) payload() Range {
	start := a.Seq
	if a.SYN {
		start++
	}
	return Range{start, start.Add(a.Len)}
}

// Fit is an arrival cut to the window.
type trimmed struct {
	Keep   Range  // the payload inside the window; if there is none, empty at RCV.NXT or at the FIN
	Offset uint32 // of Keep in the payload
	FIN    bool   // a FIN inside the window follows Keep
	Old    Range  // the payload before RCV.NXT, which was received before
	Beyond uint32 // octets of payload cut off at the window's right edge
}

// Trim cuts a to the window of wnd octets from nxt on. RFC 9293 §3.10.7.4: "One could tailor actual segments to fit this
// assumption by trimming off any portions that lie outside the window (including SYN and FIN)". It costs O(1).
//
// For an arrival that Accept does not find Acceptable nothing is kept; Old is told all the same, because the
// acknowledgement that answers it reports the duplicate (RFC 2883 §4).
func trimToWindow(nxt Seq, wnd uint32, a Arrival) trimmed {
	p := a.payload()
	fit := trimmed{Keep: Range{nxt, nxt}}
	if a.Len >= 1<<31 {
		fit.Beyond = a.Len
		return fit
	}
	if p.Start.Before(nxt) {
		fit.Old = Range{p.Start, MinSeq(p.End, nxt)}
	}
	right := nxt.Add(wnd)
	if p.End.After(right) {
		fit.Beyond = p.End.Sub(MaxSeq(p.Start, right))
	}
	start, end := MaxSeq(p.Start, nxt), MinSeq(p.End, right)
	if start.Before(end) {
		fit.Keep, fit.Offset = Range{start, end}, start.Sub(p.Start)
	}
	if a.FIN && p.End.InWindow(nxt, wnd) {
		fit.FIN = true
		if fit.Keep.Len() == 0 { // a FIN alone, or behind old octets only
			fit.Keep, fit.Offset = Range{p.End, p.End}, a.Len
		}
	}
	return fit
}
