package tcp

import "tcpwheel/wheel"

// segmentID names a segment of a sentQueue from Push until its ACK. IDs are reused. 0 is none.
type segmentID uint32

// sentFlags are the control bits of a sent segment.
type sentFlags uint8

// SYN and FIN take a sequence number each (RFC 9293 §3.4).
const (
	sentSYN sentFlags = 1 << iota
	sentFIN
	sentPSH
)

// sentSegment is a segment in flight: its range and history, without payload. Read it through
// sentQueue.Get; the owner writes only Armed.
type sentSegment struct {
	Seq Seq
	Len uint32 // sequence numbers, SYN and FIN included; at least 1

	FirstSent wheel.Time // the first transmission
	Sent      wheel.Time // the last transmission

	next, prev   segmentID // in sequence order
	newer, older segmentID // in order of last transmission, while queued there
	skip         segmentID // of a SACKed segment: a later one with only SACKed ones between

	// ref is the engine's timer record of this slot. It stays with the slot when the segment
	// changes.
	ref timerRef

	Flags         sentFlags
	Transmissions uint8 // up to 255
	Armed         bool  // the owner sets it while the retransmission timer runs
	state         segmentState
}

type segmentState uint8

const (
	stateSacked     segmentState = 1 << iota
	stateLost                    // the first transmission, or all, deemed lost
	stateRetransOut              // a retransmission is deemed in flight
	stateTimed                   // in the list by time: a transmission is deemed in flight
)

// needsRexmit reports whether a segment in state s waits to be retransmitted.
func (s segmentState) needsRexmit() bool { return s&(stateLost|stateRetransOut) == stateLost }

// End returns the sequence number after the segment.
func (s *sentSegment) End() Seq { return s.Seq.Add(s.Len) }

// Sacked reports whether the receiver holds s (RFC 2018).
func (s *sentSegment) Sacked() bool { return s.state&stateSacked != 0 }

// Lost reports whether s was deemed lost. It stays so when retransmitted, until acknowledged or
// SACKed.
func (s *sentSegment) Lost() bool { return s.state&stateLost != 0 }

// RetransOut reports whether a retransmission of s is deemed in flight.
func (s *sentSegment) RetransOut() bool { return s.state&stateRetransOut != 0 }

// Retransmitted reports whether s was sent more than once.
func (s *sentSegment) Retransmitted() bool { return s.Transmissions > 1 }

// payload returns the number of data bytes in s.
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

// tally counts segments and their sequence numbers.
type tally struct {
	Segments, Bytes uint32
}

func (c *tally) add(n uint32) { c.Segments++; c.Bytes += n }
func (c *tally) sub(n uint32) { c.Segments--; c.Bytes -= n }

// minus and plus subtract and add both counts. minus may wrap in intermediate results, as in Pipe.
func (c tally) minus(d tally) tally { return tally{c.Segments - d.Segments, c.Bytes - d.Bytes} }
func (c tally) plus(d tally) tally  { return tally{c.Segments + d.Segments, c.Bytes + d.Bytes} }
