package tcp

import (
	"math/rand"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Output collects the results of calls: segments to send, timers to start and stop, and events for
// the application. One Output serves any number of connections, one call at a time. After each call
// the owner carries out the results, segments in order, and calls Reset.
//
// It also lends connections what their owner has: counters, the challenge ACK limit, randomness.
type Output struct {
	Segments []Outgoing
	Timers   []TimerOp
	Events   Events

	// MaxBurst is the largest Len of a burst of segments, bytes; 0 disables bursts.
	MaxBurst uint32

	Counters  Counters   // not reset by Reset
	Challenge Limiter    // nil is no limit
	Rand      *rand.Rand // needed only by policies with Jitter

	ack      ackFacts // of the ACK that is processed
	expiring bool     // in Conn.Expire
	noBursts bool     // disables sendBurst, for tests

	spareFlights    []*flight
	returnedFlights []*flight           // since the last Reset
	estimator       tcptimers.Estimator // a prototype for connections of estimatorFor
	estimatorFor    *Config
}

// newAck returns empty facts for the ACK that is processed. Elsewhere they would escape, because
// interfaces take them.
func (o *Output) newAck() *ackFacts {
	o.ack = ackFacts{}
	return &o.ack
}

// Reset clears the results but keeps their memory.
func (o *Output) Reset() {
	o.Segments, o.Timers, o.Events = o.Segments[:0], o.Timers[:0], 0
	if len(o.returnedFlights) > 0 {
		o.reuseFlights()
	}
}

// Outgoing is a segment to send, or a burst of them. The owner fills in the ports, the checksum and
// the IP header.
type Outgoing struct {
	Header Header

	// The payload is Len bytes at Offset in the stream that the application writes.
	Offset uint64
	Len    uint32

	// MSS is not 0 for a burst: consecutive full segments of MSS bytes each with new data. They
	// have the same header but for the sequence number. Len is their total.
	MSS uint32

	ECT bool // send as ECN-capable, ECT(0)

	// Rexmit is how many times these bytes were sent before. Cause is the timer that caused the
	// segment, if Timed.
	Rexmit uint8
	Timed  bool
	Cause  tcptimers.Kind
}

// Slot names one of a connection's timers. Slot(kind) is the timer of a kind, and segmentSlot(1)
// and up are retransmission timers of segments. Segment slots are few and reused, last freed first.
type Slot uint32

// segmentSlot returns the slot of a segment's retransmission timer.
func segmentSlot(id segmentID) Slot { return Slot(tcptimers.Kinds) + Slot(id) - 1 }

// Kind returns the timer's kind.
func (s Slot) Kind() tcptimers.Kind {
	if s < Slot(tcptimers.Kinds) {
		return tcptimers.Kind(s)
	}
	return tcptimers.Rexmit
}

// IsSegment reports whether s is the retransmission timer of one segment.
func (s Slot) IsSegment() bool { return s >= Slot(tcptimers.Kinds) }

// segment returns the segment of a retransmission timer, 0 for other timers.
func (s Slot) segment() segmentID {
	if s < Slot(tcptimers.Kinds) {
		return 0
	}
	return segmentID(s-Slot(tcptimers.Kinds)) + 1
}

// TimerOp starts a slot's timer to expire at At, moving it if it runs, or stops it. The operations
// of one call are carried out in order.
type TimerOp struct {
	Slot  Slot
	Start bool
	At    wheel.Time
}

// Events are what the application should learn.
type Events uint16

const (
	EventConnected  Events = 1 << iota // the handshake is complete
	EventReadable                      // data or the end of the stream can be read
	EventWritable                      // data was acknowledged, or is sent (NotSentLowat)
	EventPeerClosed                    // the peer's FIN is in order: no more data will come
	EventSent                          // all data, and the FIN if any, is acknowledged
	EventFailed                        // the connection ended before its time; see Conn.Err
	EventClosed                        // CLOSED: the connection is gone and has no timers
	EventUrgent                        // urgent data was announced
	EventLingered                      // the linger time is over
	EventSoftError                     // an ICMP error or R1, not fatal; see Conn.SoftErr
)

// Has reports whether all events of want occurred.
func (e Events) Has(want Events) bool { return e&want == want }

// Inbound is an arriving segment with a verified checksum.
type Inbound struct {
	Header *Header // not kept
	Len    uint32  // payload bytes
	CE     bool    // the IP header has the CE mark
}

// Disposition says what to do with the payload of an arriving segment.
type Disposition struct {
	// Keep Len bytes from Offset in the payload. They belong at Stream in the peer's stream. Some
	// may be held already; keep either copy.
	Offset, Len uint32
	Stream      uint64

	InOrder uint32 // bytes that became readable
}
