package tcp

// StrayReset returns the reset that answers a segment of no connection, without ports. ok is false
// if none does. Every host uses it, and for refused segments in LISTEN.
//
// DEVIATION RFC 7323 §5.2: the reset has no timestamps, even if the segment has.
func StrayReset(in *Inbound) (rst Header, ok bool) {
	h := in.Header
	switch {
	case h.Flags.Has(RST):
		// RFC 9293 §3.10.7.1: "An incoming segment containing a RST is discarded."
		return Header{}, false
	case h.Flags.Has(ACK):
		// RFC 9293 §3.10.7.1: "If the ACK bit is on, <SEQ=SEG.ACK><CTL=RST>"
		return Header{Seq: h.Ack, Flags: RST}, true
	}
	// RFC 9293 §3.10.7.1: "If the ACK bit is off, sequence number zero is used,
	// <SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>"
	n := Arrival{Seq: h.Seq, Len: in.Len, SYN: h.Flags.Has(SYN), FIN: h.Flags.Has(FIN)}.SegLen()
	return Header{Ack: h.Seq.Add(n), Flags: RST | ACK}, true
}
