package tcp

import "tcpwheel/wheel"

// SegmentID names a segment of a SentQueue from its Push until its acknowledgement; the name may be given again after
// that. 0 names none.
type SegmentID uint32

// SegmentFlags are the control bits that a sent segment carried and would carry again.
type SegmentFlags uint8

// The control bits of a sent segment. SYN and FIN take a sequence number each (RFC 9293 §3.4).
const (
	SegmentSYN SegmentFlags = 1 << iota
	SegmentFIN
	SegmentPSH
)

// Segment is what is remembered of a segment in flight: its range and its history, and not its octets. It is read through
// SentQueue.Get; only Armed is the owner's to write.
type Segment struct {
	Seq Seq
	Len uint32 // in sequence numbers, those of SYN and FIN included; at least 1

	FirstSent wheel.Time // the first transmission
	Sent      wheel.Time // the last transmission

	next, prev   SegmentID // in sequence order
	newer, older SegmentID // in the order of last transmissions, while queued in it
	skip         SegmentID // of a sacked one: a later segment, with none but sacked ones between

	// ref is the engine's name of the record of the timer of this slot. It stays with the slot from one segment to the next, on the
	// cache line that a segment is on anyway.
	ref timerRef

	Flags         SegmentFlags
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

// waits reports whether a segment in that state is to be retransmitted.
func (s segmentState) waits() bool { return s&(stateLost|stateRetransOut) == stateLost }

// End returns the sequence number after the last one of s.
func (s *Segment) End() Seq { return s.Seq.Add(s.Len) }

// Sacked reports whether the receiver holds s, by its word (RFC 2018).
func (s *Segment) Sacked() bool { return s.state&stateSacked != 0 }

// Lost reports whether s was deemed lost. It remains so when it is retransmitted, until it is acknowledged or SACKed.
func (s *Segment) Lost() bool { return s.state&stateLost != 0 }

// RetransOut reports whether a retransmission of s is deemed to be on its way.
func (s *Segment) RetransOut() bool { return s.state&stateRetransOut != 0 }

// Retransmitted reports whether s was sent more than once.
func (s *Segment) Retransmitted() bool { return s.Transmissions > 1 }

// payload returns how many of the sequence numbers of s are octets of data.
func (s *Segment) payload() uint32 {
	n := s.Len
	if s.Flags&SegmentSYN != 0 {
		n--
	}
	if s.Flags&SegmentFIN != 0 {
		n--
	}
	return n
}

// Count is a number of segments and the sequence numbers in them.
type Count struct {
	Segments, Octets uint32
}

func (c *Count) add(n uint32) { c.Segments++; c.Octets += n }
func (c *Count) sub(n uint32) { c.Segments--; c.Octets -= n }

// minus and plus compute on both figures. The results of minus wrap around in between, as the sum of Pipe may.
func (c Count) minus(d Count) Count { return Count{c.Segments - d.Segments, c.Octets - d.Octets} }
func (c Count) plus(d Count) Count  { return Count{c.Segments + d.Segments, c.Octets + d.Octets} }
