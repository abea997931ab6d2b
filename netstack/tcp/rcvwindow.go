package tcp

import "fmt"

// windowScaleFor returns the smallest window scale that can advertise n bytes, at most 14.
func windowScaleFor(n uint32) (scale uint8) {
	for scale < MaxWScale && 65535<<scale < n {
		scale++
	}
	return scale
}

// recvScale returns the window scale that our SYN offers.
func (c *Config) recvScale() uint8 { return windowScaleFor(max(c.RecvBuffer, c.RecvBufferMax)) }

// recvWindow is the advertised receive window: the right edge RCV.NXT+RCV.WND, which never moves
// left, and the buffer behind it. All methods cost O(1).
type recvWindow struct {
	edge  Seq
	buff  uint32 // RCV.BUFF, bytes
	clamp uint32 // upper bound on the window, bytes; 0 is none
	scale uint8  // Rcv.Wind.Shift

	scaled bool // both ends scale windows
	shut   bool // the last advertised window was 0
	fixed  bool // SetRecvBuffer disabled automatic growth
}

// Init starts with a buffer of buff bytes, 1..2^30-2^14, a window scale of 0..14, and wnd bytes
// advertised from nxt by the SYN, unscaled.
func (w *recvWindow) Init(nxt Seq, wnd uint16, buff uint32, scale uint8) error {
	switch {
	case buff < 1 || buff > 65535<<MaxWScale:
		return fmt.Errorf("tcp: receive buffer %d, want 1..%d", buff, 65535<<MaxWScale)
	case scale > MaxWScale:
		return fmt.Errorf("tcp: window scale %d, want 0..%d", scale, MaxWScale)
	}
	*w = recvWindow{edge: nxt.Add(uint32(wnd)), buff: buff, scale: scale}
	return nil
}

// synWindowField returns the window field of a SYN or SYN-ACK. RFC 7323 §2.2: "The window field in
// a segment where the SYN bit is set (i.e., a <SYN> or <SYN,ACK>) MUST NOT be scaled."
func synWindowField(buff uint32) uint16 { return uint16(min(buff, 65535)) }

// Wnd returns RCV.WND, against which arriving segments are checked. RFC 7323 §2.4: "The receiver
// MUST honor, as in window, any segment that would have been in window for any <ACK> sent by the
// receiver."
func (w *recvWindow) Wnd(nxt Seq) uint32 {
	if w.edge.Before(nxt) { // a FIN arrived just beyond the window
		return 0
	}
	return w.edge.Sub(nxt)
}

// Buff returns RCV.BUFF.
func (w *recvWindow) Buff() uint32 { return w.buff }

// Grow raises RCV.BUFF to buff, at most to what the scale can advertise.
func (w *recvWindow) Grow(buff uint32) { w.buff = max(w.buff, min(buff, 65535<<w.scale)) }

// Resize sets RCV.BUFF to buff, at least 1 and at most what the scale can advertise. The advertised
// edge stays.
func (w *recvWindow) Resize(buff uint32) { w.buff = max(1, min(buff, 65535<<w.scale)) }

// Clamp limits further advertisements to n bytes; 0 is no limit (TCP_WINDOW_CLAMP).
func (w *recvWindow) Clamp(n uint32) { w.clamp = n }

// Advertise returns the window field of the next segment, and moves the edge accordingly. nxt is
// RCV.NXT, user is RCV.USER, and mss is Eff.snd.MSS.
//
// RFC 9293 §3.8.6.2.2: "to keep RCV.NXT+RCV.WND fixed until the reduction satisfies: RCV.BUFF -
// RCV.USER - RCV.WND >= min( Fr * RCV.BUFF, Eff.snd.MSS)", with Fr = 1/2; and RFC 9293 §3.8.6
// (SHLD-14): the window is not shrunk. A fixed edge that the scale cannot express is rounded up,
// which offers less than 2^scale bytes beyond the buffer. If that was done already it is rounded
// down, and Wnd still honours the edge (RFC 7323 §2.4 allows either).
func (w *recvWindow) Advertise(nxt Seq, user, mss uint32) uint16 {
	target := w.target(nxt, user)
	unit := uint32(1) << w.scale
	if target.AtOrAfter(w.edge) && target.Sub(w.edge) >= max(1, min(w.limit()/2, mss)) {
		// Advertise at least one unit; a closed window would not open otherwise.
		field := max(target.Sub(nxt)>>w.scale, 1)
		if right := nxt.Add(field << w.scale); right.AtOrAfter(w.edge) {
			w.edge = right
			return uint16(field)
		}
	}
	field := min((w.Wnd(nxt)+unit-1)>>w.scale, 65535)
	right := nxt.Add(field << w.scale)
	if right.After(w.edge) {
		if right.AtOrAfter(target.Add(unit)) {
			return uint16(w.Wnd(nxt) >> w.scale)
		}
		w.edge = right
	}
	return uint16(field)
}

// UpdateDue reports whether reading has opened the window enough for an ACK of its own: by two
// segments or half the buffer, as in BSD, and to twice the advertised window, as in Linux. An
// application that keeps up causes none; ACKs of data suffice.
func (w *recvWindow) UpdateDue(nxt Seq, user, mss uint32) bool {
	target, wnd := w.target(nxt, user), w.Wnd(nxt)
	least := max(1, min(w.limit()/2, 2*mss))
	if unit := uint32(1) << w.scale; wnd >= unit {
		// A smaller change might not show, and the ACK would look like a duplicate.
		least = max(least, unit)
	}
	return target.After(w.edge) && target.Sub(w.edge) >= least && target.Sub(nxt)/2 >= wnd
}

// target returns the right edge that the buffer has room for.
func (w *recvWindow) target(nxt Seq, user uint32) Seq {
	return nxt.Add(min(w.buff-min(user, w.buff), 65535<<w.scale, w.limit()))
}

// limit returns the largest window that is ever advertised.
func (w *recvWindow) limit() uint32 {
	if w.clamp != 0 {
		return min(w.buff, w.clamp)
	}
	return w.buff
}
