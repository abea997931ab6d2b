package tcp

import (
	"math/rand"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Output is where a call of a connection leaves its results, which are values: segments to send,
// timers to start and stop, and what the application is to be told. One Output serves any number of
// connections, one call at a time; the owner carries out what it finds there after each call,
// segments in their order, and resets it before the next.
//
// Beside the results it lends a connection what belongs to its owner: counters, the limit on
// challenge ACKs, randomness.
type Output struct {
	Segments []Outgoing
	Timers   []TimerOp
	Events   Events

	// MaxBurst is how many bytes of data the owner takes in one Outgoing that stands for several
	// segments; 0 if it takes none.
	MaxBurst uint32

	Counters  Counters   // grow, and are not reset
	Challenge Limiter    // nil is no limit
	Rand      *rand.Rand // for RTO randomisation: needed only by policies with Jitter

	noBursts bool // sendBurst does nothing: its tests' twin

	spareFlights    []*flight
	returnedFlights []*flight           // since the last Reset
	estimator       tcptimers.Estimator // whose New is cheap, for connections of the configuration
	estimatorFor    *Config
}

// Reset empties the results, and keeps their memory.
func (o *Output) Reset() {
	o.Segments, o.Timers, o.Events = o.Segments[:0], o.Timers[:0], 0
	if len(o.returnedFlights) > 0 {
		o.reuseFlights()
	}
}

// Outgoing is a segment to be sent, or a train of them. The ports of its header, the checksum and
// all of IP's are the owner's to fill in.
type Outgoing struct {
	Header Header

	// The payload is Len bytes from Offset on in what the application has written since the
	// beginning of the connection.
	Offset uint64
	Len    uint32

	// MSS is not 0 for a train: full segments of MSS bytes each that follow each other, with the
	// same header but for the sequence number, and sent for the first time. Len is that of all.
	MSS uint32

	ECT bool // it is to be sent as ECN-capable, ECT(0)

	// Rexmit is how many times the segment's bytes were sent before, and Cause the timer that made
	// it leave, if Timed.
	Rexmit uint8
	Timed  bool
	Cause  tcptimers.Kind
}

// Slot is one of a connection's timers: Slot(kind) for those of which there is one, and for the
// retransmission timers of segments those from segmentSlot(1) on. Slots of segments are few and
// used again, the last one given back first.
type Slot uint32

// segmentSlot returns the slot of the retransmission timer of a segment.
func segmentSlot(id segmentID) Slot { return Slot(tcptimers.Kinds) + Slot(id) - 1 }

// Kind returns what the timer is for.
func (s Slot) Kind() tcptimers.Kind {
	if s < Slot(tcptimers.Kinds) {
		return tcptimers.Kind(s)
	}
	return tcptimers.Rexmit
}

// IsSegment reports whether s is the retransmission timer of one segment.
func (s Slot) IsSegment() bool { return s >= Slot(tcptimers.Kinds) }

// Segment returns the segment of a retransmission timer, 0 for a timer of the connection.
func (s Slot) segment() segmentID {
	if s < Slot(tcptimers.Kinds) {
		return 0
	}
	return segmentID(s-Slot(tcptimers.Kinds)) + 1
}

// TimerOp starts the timer of a slot, or moves it if it runs, to expire at At; or stops it. Those
// of one call are carried out in their order.
type TimerOp struct {
	Slot  Slot
	Start bool
	At    wheel.Time
}

// Events are what an application is to be told.
type Events uint16

const (
	EventConnected  Events = 1 << iota // the handshake is complete
	EventReadable                      // bytes, or the end of the stream, can be read
	EventWritable                      // bytes were acknowledged, so that there is room for others
	EventPeerClosed                    // the peer's FIN was reached: nothing more will come
	EventSent                          // all that was written, and the FIN if any, is acknowledged
	EventFailed                        // the connection has come to an end before its time: Conn.Err tells why
	EventClosed                        // CLOSED: the connection is no longer there, and no timer of it runs
	EventUrgent                        // urgent data is announced
	EventLingered                      // the time that the application waits for the close is over
	EventSoftError                     // ICMP, or R1: Conn.SoftErr tells what; the connection goes on
)

// Has reports whether all of want are there.
func (e Events) Has(want Events) bool { return e&want == want }

// Inbound is a segment that arrives, with a checksum that was right.
type Inbound struct {
	Header *Header // not kept
	Len    uint32  // bytes of payload
	CE     bool    // IP's ECN field says that congestion was experienced
}

// Disposition says what to do with the payload of a segment that arrived.
type Disposition struct {
	// Len bytes are to be kept, from Offset in the payload on; they are those from Stream on in
	// all that the peer sends. Some may be held already, from a segment before: the owner keeps
	// either copy.
	Offset, Len uint32
	Stream      uint64

	InOrder uint32 // bytes that have become readable
}
