package congestion

// Detection is what a detector thinks of a retransmission.
type Detection uint8

const (
	Undecided Detection = iota
	Genuine             // the segment was lost, as far as this detector can tell
	Spurious            // it was not
)

// FRTO is Forward RTO-Recovery (RFC 5682): after a timeout it sends new segments before it
// retransmits more, and takes the timeout for spurious if the next ACK acknowledges what was not
// retransmitted. Sequence numbers go round at 2^32. The zero value is ready.
type FRTO struct {
	recover uint32 // the highest sequence number sent when the state was entered
	first   uint32 // the end of what the timeout retransmitted
	step    uint8  // 0 is off; 2 and 3 as in the RFC
	sack    bool
	armed   bool // recover is that of an RTO recovery
}

// FRTOAction is what to do next, in words of RFC 5682.
type FRTOAction uint8

const (
	Conventional FRTOAction = iota // retransmit as after any timeout
	SendNew                        // up to two segments that were never sent; call NoNewData if there are none
	Wait                           // send nothing because of this ACK
)

// Active reports whether a timeout is under examination.
func (f *FRTO) Active() bool { return f.step != 0 }

// Probing reports whether new segments were let go, and the ACK that judges is awaited: step 3.
func (f *FRTO) Probing() bool { return f.step == 3 }

// OnTimeout is step 1: the segment at una was retransmitted, whose end is first; nxt is the highest
// sequence number sent. It reports whether the timeout can be examined. Not if it comes in the
// recovery from another timeout.
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

// OnAck takes an ACK that is a duplicate or acknowledges new data. una is SND.UNA before it and ack
// its number, nxt the highest sequence number sent; fresh tells whether it acknowledges or SACKs
// bytes that were not acknowledged before and not retransmitted since the timeout, and above
// whether it SACKs anything beyond what was sent at the timeout.
func (f *FRTO) OnAck(una, ack, nxt uint32, fresh, above bool) (Detection, FRTOAction) {
	advances := before(una, ack)
	switch f.step {
	case 2:
		if !advances {
			if f.sack {
				// RFC 5682 §3.1: "Stay in step 2 and wait for the next new acknowledgment."
				return Undecided, Wait
			}
			return f.finish(Genuine, Conventional) // a duplicate ACK: basic F-RTO reverts, RFC 5682 §2.1 (2a)
		}
		// RFC 5682 §3.1 (2a): the ACK covers all that was sent, or in the basic version less than
		// what was retransmitted (RFC 5682 §2.1, 2a), and says nothing.
		if !before(ack, f.recover) || !f.sack && before(ack, f.first) {
			return f.finish(Undecided, Conventional)
		}
		// RFC 5682 §3.1: "transmit up to two new (previously unsent) segments and proceed to step
		// 3."
		f.recover, f.step = nxt, 3
		return Undecided, SendNew
	case 3:
		// RFC 5682 §3.1 (3a): the ACK covers more than what was sent by the timeout, or is a
		// duplicate that tells nothing new.
		if before(f.recover, ack) || above || !fresh || !f.sack && !advances {
			return f.finish(Genuine, Conventional)
		}
		// RFC 5682 §3.1: "The retransmission timeout can be declared spurious, because the segment
		// acknowledged with this ACK was transmitted before the timeout."
		return f.finish(Spurious, SendNew)
	}
	return Undecided, Conventional
}

// NoNewData tells that nothing could be sent when SendNew was asked for.
func (f *FRTO) NoNewData() {
	// RFC 5682 §3.1: "the recommended action is to refrain from entering step 3 of this algorithm."
	f.step = 0
}

// Reset forgets the recovery, when it is over.
func (f *FRTO) Reset() { *f = FRTO{} }

func (f *FRTO) finish(v Detection, n FRTOAction) (Detection, FRTOAction) {
	f.step = 0
	if v == Spurious {
		f.armed = false
	}
	return v, n
}
