package congestion

// Detection is what a detector concludes about a retransmission or timeout.
type Detection uint8

const (
	Undecided Detection = iota
	Genuine             // the segment was lost, as far as the detector can tell
	Spurious            // the segment was not lost
)

// FRTO is Forward RTO-Recovery (RFC 5682). After a timeout it sends new segments before it
// retransmits more. The timeout is spurious if the next ACK acknowledges data that was not
// retransmitted. Sequence numbers are modulo 2^32. The zero value is ready.
type FRTO struct {
	recover uint32 // the highest sequence number sent when the step began
	first   uint32 // the end of what the timeout retransmitted
	step    uint8  // 0 is off; 2 and 3 as in the RFC
	sack    bool
	armed   bool // recover is the recovery point of an RTO recovery
}

// FRTOAction is what to send next, in the RFC's words.
type FRTOAction uint8

const (
	Conventional FRTOAction = iota // retransmit as after any timeout
	SendNew                        // send up to two new segments; call NoNewData if there are none
	Wait                           // send nothing for this ACK
)

// Active reports whether a timeout is being examined.
func (f *FRTO) Active() bool { return f.step != 0 }

// Probing reports step 3: new segments were sent, and the next ACK decides.
func (f *FRTO) Probing() bool { return f.step == 3 }

// OnTimeout performs step 1: the timeout retransmitted the segment from una to first; nxt is
// SND.NXT. It reports whether the timeout can be examined, which it cannot in the recovery from
// another timeout.
func (f *FRTO) OnTimeout(una, first, nxt uint32, sack bool) bool {
	// RFC 5682 §3.1: "If "RecoveryPoint" is larger than or equal to SND.UNA, do not enter step 2 of
	// this algorithm."
	again := f.armed && !before(f.recover, una)
	*f = FRTO{recover: nxt, first: first, sack: sack, armed: true}
	if again {
		return false
	}
	f.step = 2
	return true
}

// OnAck processes an ACK that is a duplicate or acknowledges new data. una is SND.UNA before it,
// ack is its number and nxt is SND.NXT. original says that it acknowledges or SACKs data not
// retransmitted since the timeout. above says that it SACKs data sent after the timeout.
func (f *FRTO) OnAck(una, ack, nxt uint32, original, above bool) (Detection, FRTOAction) {
	advances := before(una, ack)
	switch f.step {
	case 2:
		if !advances {
			if f.sack {
				// RFC 5682 §3.1: "Stay in step 2 and wait for the next new acknowledgment."
				return Undecided, Wait
			}
			return f.finish(Genuine, Conventional) // RFC 5682 §2.1 (2a): a duplicate ACK
		}
		// RFC 5682 §3.1 (2a): an ACK of all data sent proves nothing. In the basic version, so does
		// one of less than what was retransmitted (RFC 5682 §2.1, 2a).
		if !before(ack, f.recover) || !f.sack && before(ack, f.first) {
			return f.finish(Undecided, Conventional)
		}
		// RFC 5682 §3.1: "transmit up to two new (previously unsent) segments and proceed to step
		// 3."
		f.recover, f.step = nxt, 3
		return Undecided, SendNew
	case 3:
		// RFC 5682 §3.1 (3a): the ACK covers data sent after the timeout, or is a duplicate without
		// news.
		if before(f.recover, ack) || above || !original || !f.sack && !advances {
			return f.finish(Genuine, Conventional)
		}
		// RFC 5682 §3.1: "The retransmission timeout can be declared spurious, because the segment
		// acknowledged with this ACK was transmitted before the timeout."
		return f.finish(Spurious, SendNew)
	}
	return Undecided, Conventional
}

// NoNewData reports that no new data could be sent after SendNew.
func (f *FRTO) NoNewData() {
	// RFC 5682 §3.1: "the recommended action is to refrain from entering step 3 of this algorithm."
	f.step = 0
}

// Reset ends the examination when the recovery is over.
func (f *FRTO) Reset() { *f = FRTO{} }

func (f *FRTO) finish(v Detection, n FRTOAction) (Detection, FRTOAction) {
	f.step = 0
	if v == Spurious {
		f.armed = false
	}
	return v, n
}
