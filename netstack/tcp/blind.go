package tcp

// rstAction is the response to a RST, which an off-path attacker may have forged (RFC 5961).
type rstAction uint8

const (
	rstReset     rstAction = iota // reset the connection
	rstChallenge                  // drop the RST and send a challenge ACK
	rstDrop                       // drop the RST silently
)

// checkRST returns the response to a RST at seq in a synchronized state. nxt is RCV.NXT and wnd is
// RCV.WND.
func checkRST(nxt Seq, wnd uint32, seq Seq) rstAction {
	switch {
	case seq == nxt:
		// RFC 5961 §3.2: "If the RST bit is set and the sequence number exactly matches the next
		// expected sequence number (RCV.NXT), then TCP MUST reset the connection." A closed window
		// changes nothing here.
		return rstReset
	case seq.InWindow(nxt, wnd):
		// RFC 5961 §3.2: "If the RST bit is set and the sequence number does not exactly match the
		// next expected sequence value, yet is within the current receive window", "TCP MUST send
		// an acknowledgment (challenge ACK)".
		return rstChallenge
	}
	// RFC 5961 §3.2: "If the RST bit is set and the sequence number is outside the current receive
	// window, silently drop the segment."
	return rstDrop
}

// ackClass says where SEG.ACK lies relative to the send window.
type ackClass uint8

const (
	ackNew          ackClass = iota // SND.UNA < SEG.ACK ≤ SND.NXT
	ackCurrent                      // SEG.ACK = SND.UNA
	ackOld                          // SND.UNA-MAX.SND.WND ≤ SEG.ACK < SND.UNA: take the data only
	ackUnacceptable                 // anything else: drop the segment and send a challenge ACK
)

// checkAck classifies the acknowledgment number ack. una is SND.UNA, nxt is SND.NXT, and maxWnd is
// MAX.SND.WND, at most 2^30.
func checkAck(una, nxt Seq, maxWnd uint32, ack Seq) ackClass {
	// SND.UNA-MAX.SND.WND ≤ SEG.ACK < SND.UNA: take the data only
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
