package tcp

// Blind is what is done with a RST that an attacker who sees nothing may have made up (RFC 5961).
type rstAction uint8

// What may be done.
const (
	rstReset     rstAction = iota // the RST is the peer's: reset the connection
	rstChallenge                  // drop it and send a challenge ACK, <SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>, if the limiter allows
	rstDrop                       // drop it silently
)

// checkRST says what to do with a RST in a synchronized state. nxt is RCV.NXT and wnd RCV.WND. It costs O(1).
func checkRST(nxt Seq, wnd uint32, seq Seq) rstAction {
	switch {
	case seq == nxt:
		// RFC 5961 §3.2: "If the RST bit is set and the sequence number exactly matches the next expected sequence number
		// (RCV.NXT), then TCP MUST reset the connection." It matches also if the window is closed.
		return rstReset
	case seq.InWindow(nxt, wnd):
		// RFC 5961 §3.2: "If the RST bit is set and the sequence number does not exactly match the next expected sequence
		// value, yet is within the current receive window", "TCP MUST send an acknowledgment (challenge ACK)".
		return rstChallenge
	}
	// RFC 5961 §3.2: "If the RST bit is set and the sequence number is outside the current receive window, silently drop
	// the segment."
	return rstDrop
}

// ackClass is where an acknowledgement number stands.
type ackClass uint8

// Where SEG.ACK may be.
const (
	ackNew          ackClass = iota // SND.UNA < SEG.ACK ≤ SND.NXT: it acknowledges something
	ackCurrent                      // SEG.ACK = SND.UNA
	ackOld                          // SND.UNA - MAX.SND.WND ≤ SEG.ACK < SND.UNA: ignore it, take the segment's data
	ackUnacceptable                 // discard the segment, data included, and send a challenge ACK
)

// checkAck says where ack stands. una is SND.UNA, nxt SND.NXT, and maxWnd MAX.SND.WND, the largest window that the peer
// has offered, at most 2^30. It costs O(1).
func checkAck(una, nxt Seq, maxWnd uint32, ack Seq) ackClass {
	// RFC 5961 §5.2: "The ACK value is considered acceptable only if it is in the range of ((SND.UNA - MAX.SND.WND) <=
	// SEG.ACK <= SND.NXT)."
	switch {
	case ack == una:
		return ackCurrent
	case ack.InWindow(una, nxt.Sub(una)+1):
		return ackNew
	case ack.InWindow(una-Seq(maxWnd), maxWnd):
		return ackOld
	}
	return ackUnacceptable
}
