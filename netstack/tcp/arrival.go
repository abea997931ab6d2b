package tcp

// acceptability is the result of the acceptability test on an arriving segment.
type acceptability uint8

const (
	// acceptable: some part of the segment is in the window.
	unacceptable acceptability = iota
	// controlOnly: the segment is at RCV.NXT and the window is closed. Its ACK is taken; its data
	// is dropped and acknowledged. RFC 9293 §3.10.7.4: "If the RCV.WND is zero, no segments will be
	// acceptable, but special allowance should be made to accept valid ACKs, URGs, and RSTs."
	controlOnly
	// acceptable: some part of the segment is in the window.
	acceptable
)

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

// checkSequence applies the acceptability test of RFC 9293 §3.10.7.4 to a segment of n sequence
// numbers at seq; SYN and FIN count. nxt is RCV.NXT and wnd is RCV.WND, at most 2^30. "There are
// four cases for the acceptability test for an incoming segment":
//
//	SEG.LEN  RCV.WND  test
//	0        0        SEG.SEQ = RCV.NXT
//	0        > 0      RCV.NXT ≤ SEG.SEQ < RCV.NXT+RCV.WND
//	> 0      0        not acceptable
//	> 0      > 0      the first or the last number is in the window
//
// DEVIATION RFC 9293 §3.10.7.4: the second case also accepts SEG.SEQ = RCV.NXT+RCV.WND, as Linux
// does. A peer that has filled the window sends all its ACKs from there. If both ends have filled
// the window and lost data, each would otherwise reject the other's ACKs forever.
//
// DEVIATION RFC 9293 §3.10.7.4: the fourth case also accepts a segment that begins before the
// window and ends beyond it. The part inside the window is valid.
func checkSequence(nxt Seq, wnd uint32, seq Seq, n uint32) acceptability {
	end := seq.Add(n)
	switch {
	case n == 0:
		if seq.InWindow(nxt, wnd+1) {
			return acceptable
		}
		return unacceptable
	case n >= 1<<31: // sequence numbers this far apart cannot be compared
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

// Arrival is the sequence range of an arriving segment. The payload begins at Seq, or at Seq+1
// after a SYN.
type Arrival struct {
	Seq      Seq
	Len      uint32 // payload bytes
	SYN, FIN bool
}

// SegLen returns SEG.LEN: the payload bytes, plus one each for SYN and FIN.
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

// payload returns the sequence range of the payload.
func (a Arrival) payload() SeqRange {
	start := a.Seq
	if a.SYN {
		start++
	}
	return SeqRange{start, start.Add(a.Len)}
}

// trimmed is an Arrival cut to the receive window.
type trimmed struct {
	Keep   SeqRange // payload inside the window; if empty, at RCV.NXT or at the FIN
	Offset uint32   // of Keep in the payload, bytes
	FIN    bool     // the FIN is inside the window, right after Keep
	Old    SeqRange // payload before RCV.NXT: a duplicate
	Beyond uint32   // payload bytes beyond the window's right edge
}

// trimToWindow cuts a to the window of wnd bytes from nxt. RFC 9293 §3.10.7.4: "One could tailor
// actual segments to fit this assumption by trimming off any portions that lie outside the window
// (including SYN and FIN)".
//
// For an unacceptable arrival Keep is empty. Old is still set, because the ACK reports the
// duplicate (RFC 2883 §4).
func trimToWindow(nxt Seq, wnd uint32, a Arrival, fit *trimmed) {
	p := a.payload()
	*fit = trimmed{}
	fit.Keep.Start, fit.Keep.End = nxt, nxt
	if a.Len >= 1<<31 {
		fit.Beyond = a.Len
		return
	}
	if p.Start.Before(nxt) {
		fit.Old = SeqRange{p.Start, MinSeq(p.End, nxt)}
	}
	right := nxt.Add(wnd)
	if p.End.After(right) {
		fit.Beyond = p.End.Sub(MaxSeq(p.Start, right))
	}
	start, end := MaxSeq(p.Start, nxt), MinSeq(p.End, right)
	if start.Before(end) {
		fit.Keep, fit.Offset = SeqRange{start, end}, start.Sub(p.Start)
	}
	if a.FIN && p.End.InWindow(nxt, wnd) {
		fit.FIN = true
		if fit.Keep.Len() == 0 { // no new payload before the FIN
			fit.Keep, fit.Offset = SeqRange{p.End, p.End}, a.Len
		}
	}
}
