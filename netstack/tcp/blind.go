package tcp

// Blind is what is done with a RST that an attacker who sees nothing may have made up (RFC 5961).
type Blind uint8

// What may be done.
const (
	BlindReset     Blind = iota // the RST is the peer's: reset the connection
	BlindChallenge              // drop it and send a challenge ACK, <SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>, if the limiter allows
	BlindDrop                   // drop it silently
)

// CheckRST says what to do with a RST in a synchronized state. nxt is RCV.NXT and wnd RCV.WND. It costs O(1).
func CheckRST(nxt Seq, wnd uint32, seq Seq) Blind {
	switch {
	case seq == nxt:
		// RFC 5961 §3.2: "If the RST bit is set and the sequence number exactly matches the next expected sequence number
		// (RCV.NXT), then TCP MUST reset the connection." It matches also if the window is closed.
		return BlindReset
	case seq.InWindow(nxt, wnd):
		// RFC 5961 §3.2: "If the RST bit is set and the sequence number does not exactly match the next expected sequence
		// value, yet is within the current receive window", "TCP MUST send an acknowledgment (challenge ACK)".
		return BlindChallenge
	}
	// RFC 5961 §3.2: "If the RST bit is set and the sequence number is outside the current receive window, silently drop
	// the segment."
	return BlindDrop
}

// AckStanding is where an acknowledgement number stands.
type AckStanding uint8

// Where SEG.ACK may be.
const (
	AckNew          AckStanding = iota // SND.UNA < SEG.ACK ≤ SND.NXT: it acknowledges something
	AckCurrent                         // SEG.ACK = SND.UNA
	AckOld                             // SND.UNA - MAX.SND.WND ≤ SEG.ACK < SND.UNA: ignore it, take the segment's data
	AckUnacceptable                    // discard the segment, data included, and send a challenge ACK
)

// CheckAck says where ack stands. una is SND.UNA, nxt SND.NXT, and maxWnd MAX.SND.WND, the largest window that the peer
// has offered, at most 2^30. It costs O(1).
func CheckAck(una, nxt Seq, maxWnd uint32, ack Seq) AckStanding {
	// RFC 5961 §5.2: "The ACK value is considered acceptable only if it is in the range of ((SND.UNA - MAX.SND.WND) <=
	// SEG.ACK <= SND.NXT)."
	switch {
	case ack == una:
		return AckCurrent
	case ack.InWindow(una, nxt.Sub(una)+1):
		return AckNew
	case ack.InWindow(una-Seq(maxWnd), maxWnd):
		return AckOld
	}
	return AckUnacceptable
}
