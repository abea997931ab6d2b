package tcp

// sendWindow is the peer's advertised window: SND.WND and the segment that set it. The zero value
// is closed.
type sendWindow struct {
	Wnd    uint32 // SND.WND, bytes
	MaxWnd uint32 // MAX.SND.WND, the largest so far
	Recent uint32 // the largest since the last override timeout
	WL1    Seq    // SND.WL1, sequence number of the segment that set Wnd
	WL2    Seq    // SND.WL2, its acknowledgment number
}

// Init takes the window of the segment that opens the connection.
func (w *sendWindow) Init(seq, ack Seq, wnd uint32) { *w = sendWindow{wnd, wnd, wnd, seq, ack} }

// Update takes the scaled window wnd of a segment with an acceptable ACK, SND.UNA ≤ SEG.ACK ≤
// SND.NXT. It reports whether SND.WND changed. It costs O(1).
func (w *sendWindow) Update(seq, ack Seq, wnd uint32) bool {
	// RFC 9293 §3.10.7.4: the window is updated "If (SND.WL1 < SEG.SEQ or (SND.WL1 = SEG.SEQ and
	// SND.WL2 =< SEG.ACK))", which keeps old segments from using it.
	if !w.WL1.Before(seq) && !(w.WL1 == seq && w.WL2.AtOrBefore(ack)) {
		return false
	}
	changed := w.Wnd != wnd
	w.Wnd, w.WL1, w.WL2 = wnd, seq, ack
	w.MaxWnd, w.Recent = max(w.MaxWnd, wnd), max(w.Recent, wnd)
	return changed
}

// Usable returns the usable window U = SND.UNA + SND.WND - SND.NXT of RFC 9293 §3.8.6.2.1, at least
// 0. RFC 9293 §3.8.6 (MUST-34): the peer may shrink the window below what is in flight.
func (w *sendWindow) Usable(una, nxt Seq) uint32 {
	flight := nxt.Sub(una)
	return w.Wnd - min(w.Wnd, flight)
}

// overridden notes that the override timeout has sent a segment smaller than the MSS. The peer has
// no larger windows any more, so that the next ones of this size need not wait.
//
// DEVIATION RFC 9293 §3.8.6.2.1: Max(SND.WND) is forgotten then. Below leastRecent it stays, so
// that a peer cannot cause the silly window syndrome.
func (w *sendWindow) overridden() { w.Recent = min(w.Recent, max(w.Wnd, leastRecent)) }

// leastRecent is two segments of an Ethernet, bytes.
const leastRecent = 2 * 1460

// boundMSS returns mss, at most half of the largest recent window. Otherwise a window below the MSS
// would stop the sender for the override timeout, and a window of one segment for the delayed ACK.
// As in Linux (tcp_bound_to_half_wnd), windows of DefaultMSS4 and less are used whole.
func (w *sendWindow) boundMSS(mss uint32) uint32 {
	most := w.Recent
	if most > DefaultMSS4 {
		most /= 2
	}
	if most == 0 {
		return mss
	}
	return min(mss, max(most, MinMSS))
}

// sendInput is the input of nextSegmentLen.
type sendInput struct {
	Queued   uint32 // D: unsent bytes
	Usable   uint32 // U: room in the peer's window, bytes; the congestion window is checked elsewhere
	MSS      uint32 // Eff.snd.MSS, more than 0
	MaxWnd   uint32 // Max(SND.WND), since the last override timeout
	Idle     bool   // SND.NXT = SND.UNA
	SmallOut bool   // a segment of less than MSS bytes is unacknowledged
	Complete bool   // no more data will join: a FIN or another record follows
	NoDelay  bool   // Nagle's algorithm is off
	Minshall bool   // Nagle's algorithm in Minshall's variant, as in Linux
	Cork     bool   // TCP_CORK: full segments only
	More     bool   // the last write had MSG_MORE
	Override bool   // the override or cork timeout has expired
}

// holdReason says why nothing is sent.
type holdReason uint8

const (
	holdNone   holdReason = iota // send
	holdEmpty                    // nothing is queued
	holdWindow                   // the window is closed (persist timer) or too small (override timer)
	holdNagle                    // wait for the ACK of all data, or of the small segment
	holdCork                     // wait for more data, for TCP_CORK to be cleared, or for 200 ms
)

// nextSegmentLen returns the length of the next segment, or 0 and the reason why none is sent now.
// It implements the sender's silly window avoidance (RFC 9293 §3.8.6.2.1) with Nagle's algorithm
// (RFC 9293 §3.7.4). It costs O(1).
func nextSegmentLen(c sendInput) (uint32, holdReason) {
	n := min(c.Queued, c.Usable, c.MSS)
	switch {
	case c.Queued == 0:
		return 0, holdEmpty
	case n == 0:
		return 0, holdWindow
	case n == c.MSS:
		// RFC 9293 §3.8.6.2.1: "(1) if a maximum-sized segment can be sent, i.e., if: min(D,U) >=
		// Eff.snd.MSS;"
		return n, holdNone
	case c.Override:
		// RFC 9293 §3.8.6.2.1: "(4) or if the override timeout occurs."
		return n, holdNone
	}
	// RFC 9293 §3.7.4: with Nagle's algorithm, while there is unacknowledged data, a sender waits
	// for an acknowledgment or a full segment. Minshall's variant waits only while a small segment
	// is unacknowledged.
	nagled := !c.NoDelay && !c.Complete && !c.Idle && (!c.Minshall || c.SmallOut)
	switch {
	case c.Queued > c.Usable:
		// RFC 9293 §3.8.6.2.1: "(3) or if at least a fraction Fs of the maximum window can be sent,
		// i.e., if: [SND.NXT = SND.UNA and] min(D,U) >= Fs * Max(SND.WND);" with Fs = 1/2.
		if n < c.MaxWnd-c.MaxWnd/2 {
			return 0, holdWindow
		}
	case (c.Cork || c.More) && !c.Complete:
		return 0, holdCork
	}
	// RFC 9293 §3.8.6.2.1: "(2) or if the data is pushed and all queued data can be sent now, i.e.,
	// if: [SND.NXT = SND.UNA and] PUSHed and D <= U (the bracketed condition is imposed by the
	// Nagle algorithm);" All data counts as pushed.
	if nagled {
		return 0, holdNagle
	}
	return n, holdNone
}
