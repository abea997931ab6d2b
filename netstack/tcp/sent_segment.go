package tcp

import "tcpwheel/wheel"

// segmentID names a segment of a sentQueue from its Push until its acknowledgement; the name may be
// given again after that. 0 names none.
type segmentID uint32

// sentFlags are the control bits that a sent segment carried and would carry again.
type sentFlags uint8

// The control bits of a sent segment. SYN and FIN take a sequence number each (RFC 9293 §3.4).
const (
	sentSYN sentFlags = 1 << iota
	sentFIN
	sentPSH
)

// sentSegment is what is remembered of a segment in flight: its range and its history, and not its
// bytes. It is read through sentQueue.Get; only Armed is the owner's to write.
type sentSegment struct {
	Seq Seq
	Len uint32 // in sequence numbers, those of SYN and FIN included; at least 1

	FirstSent wheel.Time // the first transmission
	Sent      wheel.Time // the last transmission

	next, prev   segmentID // in sequence order
	newer, older segmentID // in the order of last transmissions, while queued in it
	skip         segmentID // of a sacked one: a later segment, with none but sacked ones between

	// ref is the engine's name of the record of the timer of this slot. It stays with the slot from
	// one segment to the next, on the cache line that a segment is on anyway.
	ref timerRef

	Flags         sentFlags
	Transmissions uint8 // held at 255
	Armed         bool  // the owner's word that its retransmission timer runs; not so in a new segment and in one that a split made
	state         segmentState
}

type segmentState uint8

const (
	stateSacked     segmentState = 1 << iota
	stateLost                    // the first transmission, or all of them
	stateRetransOut              // a retransmission is on its way, as far as is known
	stateTimed                   // in the list by time: a transmission is on its way, as far as is known
)

// needsRexmit reports whether a segment in that state is to be retransmitted.
func (s segmentState) needsRexmit() bool { return s&(stateLost|stateRetransOut) == stateLost }

// End returns the sequence number after the last one of s.
func (s *sentSegment) End() Seq { return s.Seq.Add(s.Len) }

// Sacked reports whether the receiver holds s, by its word (RFC 2018).
func (s *sentSegment) Sacked() bool { return s.state&stateSacked != 0 }

// Lost reports whether s was deemed lost. It remains so when it is retransmitted, until it is
// acknowledged or SACKed.
func (s *sentSegment) Lost() bool { return s.state&stateLost != 0 }

// RetransOut reports whether a retransmission of s is deemed to be on its way.
func (s *sentSegment) RetransOut() bool { return s.state&stateRetransOut != 0 }

// Retransmitted reports whether s was sent more than once.
func (s *sentSegment) Retransmitted() bool { return s.Transmissions > 1 }

// payload returns how many of the sequence numbers of s are bytes of data.
func (s *sentSegment) payload() uint32 {
	n := s.Len
	if s.Flags&sentSYN != 0 {
		n--
	}
	if s.Flags&sentFIN != 0 {
		n--
	}
	return n
}

// tally is a number of segments and the sequence numbers in them.
type tally struct {
	Segments, Bytes uint32
}

func (c *tally) add(n uint32) { c.Segments++; c.Bytes += n }
func (c *tally) sub(n uint32) { c.Segments--; c.Bytes -= n }

// minus and plus compute on both figures. The results of minus wrap around in between, as the sum
// of Pipe may.
func (c tally) minus(d tally) tally { return tally{c.Segments - d.Segments, c.Bytes - d.Bytes} }
func (c tally) plus(d tally) tally  { return tally{c.Segments + d.Segments, c.Bytes + d.Bytes} }
