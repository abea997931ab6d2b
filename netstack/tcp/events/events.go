// Package events is the vocabulary of events: what /events and --trace of tcpwheel up, the log of
// tcpwheel link and its readers call a segment, a timer and a loss. A new field is a field here,
// and the place that fills it.
package events

import (
	"math"
	"strconv"

	"tcpwheel/netstack/tcp"
)

// Seconds is a time or a span in nanoseconds. JSON has it in seconds.
type Seconds int64

// MarshalJSON returns the seconds with as many decimals as it takes, up to nine.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(s)/1e9, 'f', -1, 64), nil
}

// UnmarshalJSON reads seconds, to the nearest nanosecond.
func (s *Seconds) UnmarshalJSON(text []byte) error {
	f, err := strconv.ParseFloat(string(text), 64)
	*s = Seconds(math.Round(f * 1e9))
	return err
}

// Names of events. Those of tcp.TraceKind are the same.
const (
	SegmentSent     = "segment_sent"
	SegmentReceived = "segment_received"
	SegmentLost     = "segment_lost" // by an emulated link
	TimerStarted    = "timer_started"
	TimerMoved      = "timer_moved" // started while it ran
	TimerStopped    = "timer_stopped"
	TimerExpired    = "timer_expired"
	Recovered       = "recovered" // a retransmitted segment was acknowledged
	LinesMissed     = "missed"    // by a reader that is too slow
)

// Head begins an event of a stack.
type Head struct {
	T     Seconds `json:"t_s" help:"on the stack's clock"`
	Event string  `json:"event"`
	Conn  string  `json:"conn" help:"the stack's address, and the other one"`
}

// Timer is a change of a timer.
type Timer struct {
	Head
	Timer   string   `json:"timer" help:"its kind"`
	Segment int      `json:"segment" help:"numbers the timers of segments in flight from 1; 0 is the connection's"`
	Due     *Seconds `json:"due_s,omitempty" help:"from now to its deadline, if it was started or moved"`
	Late    *Seconds `json:"late_s,omitempty" help:"from its deadline to now, if it expired"`
}

// Passed is a segment at the stack's end of a link.
type Passed struct {
	Head
	Segment
	Transmission int    `json:"transmission,omitempty" help:"2 or more for a retransmission"`
	By           string `json:"by,omitempty" help:"the timer that caused it, or the loss model that lost it"`
}

// Repair is the end of a recovery.
type Repair struct {
	Head
	Seq           uint32  `json:"seq" help:"of the first byte behind the segment"`
	Took          Seconds `json:"took_s" help:"from its first transmission to its acknowledgement"`
	Transmissions int     `json:"transmissions"`
}

// Segment is a segment's header. Sequence numbers are those on the wire.
type Segment struct {
	Flags  string      `json:"flags" help:"as tcpdump writes them: S, S., P. and so on"`
	Seq    uint32      `json:"seq"`
	Ack    uint32      `json:"ack"`
	Len    uint32      `json:"len" help:"bytes of payload"`
	Window uint16      `json:"window" help:"as sent, not scaled"`
	TSVal  uint32      `json:"tsval,omitempty"`
	TSEcr  uint32      `json:"tsecr,omitempty"`
	SACK   [][2]uint32 `json:"sack,omitempty"`
}

// SegmentOf returns the segment with that header, and so many bytes of payload.
func SegmentOf(h *tcp.Header, size uint32) Segment {
	s := Segment{Flags: h.Flags.String(), Seq: uint32(h.Seq), Ack: uint32(h.Ack), Len: size, Window: h.Window}
	if h.Options.HasTimestamps {
		s.TSVal, s.TSEcr = h.Options.TSVal, h.Options.TSEcr
	}
	for _, r := range h.Options.SACK[:h.Options.NumSACK] {
		s.SACK = append(s.SACK, [2]uint32{uint32(r.Start), uint32(r.End)})
	}
	return s
}

// Fates of a Packet.
const (
	FateDelivered  = "delivered"
	FateLost       = "lost"       // by a loss model, on the wire: see By
	FateQueue      = "queue"      // dropped as the queue was full
	FateTooBig     = "too-big"    // larger than the path MTU; it has met no model, and has no number
	FateByHand     = "by-hand"    // dropped by the user of the demo
	FateUnfinished = "unfinished" // on the wire when the link ended
)

// Packet is what became of a packet on a link.
type Packet struct {
	Record    string  `json:"record"` // "packet"
	Direction string  `json:"direction" help:"a-to-b or b-to-a"`
	N         uint64  `json:"n" help:"number in its direction, from 1, as the loss model packets counts"`
	Sent      Seconds `json:"sent_s" help:"when it entered the link"`
	Size      uint32  `json:"size" unit:"bytes" help:"of the IP packet"`
	Fate      string  `json:"fate"`
	By        string  `json:"by,omitempty" help:"the loss model that lost it"`

	Due        *Seconds  `json:"due_s,omitempty" help:"when it arrives in the model"`
	Arrived    []Seconds `json:"arrived_s,omitempty" help:"when it left the link: two times if it was duplicated"`
	Reordered  bool      `json:"reordered,omitempty"`
	Duplicated bool      `json:"duplicated,omitempty"`
	Marked     bool      `json:"marked,omitempty" help:"CE was set"`
	CorruptBit *uint32   `json:"corrupt_bit,omitempty" help:"the flipped bit, counted from the highest bit of the first byte"`

	Protocol string  `json:"protocol,omitempty" help:"tcp, udp, icmp, icmpv6, fragment, or another protocol's number"`
	Src      string  `json:"src,omitempty" help:"with a port for TCP and UDP"`
	Dst      string  `json:"dst,omitempty"`
	TCP      *OnWire `json:"tcp,omitempty"`
}

// OnWire is a segment on a link.
type OnWire struct {
	Segment
	Attempt uint32 `json:"attempt" help:"number of the transmission of its bytes, from 1: of the byte that was sent most often; 0 is none"`
	Start   uint64 `json:"start" help:"of its bytes in the stream, from 0 for the byte after the SYN; the FIN counts as a byte"`
	End     uint64 `json:"end"`
}
