package lanes

import (
	"time"

	"tcpwheel/netstack"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Transmission is a packet on the wire of a lane, for diagrams.
type Transmission struct {
	Seq    uint64        `json:"n"`                  // counts the transmissions of the lane
	At     wheel.Time    `json:"sent_ns"`            // it left
	Arrive wheel.Time    `json:"due_ns"`             // it arrived, or would have
	From   int           `json:"from"`               // 0 is the server
	Conn   int           `json:"conn"`               // see ConnView
	Start  uint64        `json:"start"`              // of its data; of an ACK, SEG.ACK
	End    uint64        `json:"end"`                // Start for a packet without data
	Again  bool          `json:"again,omitempty"`    // a retransmission
	By     string        `json:"by,omitempty"`       // what caused a retransmission
	Armed  wheel.Time    `json:"armed_ns,omitempty"` // of By's timer, if it has one
	Span   time.Duration `json:"for_ns,omitempty"`   // for how long By's timer was set
	Own    bool          `json:"own,omitempty"`      // By's timer was the segment's own
	Lost   string        `json:"fate,omitempty"`     // of package events; "" was delivered
}

// CausedBy notes what caused a retransmission.
func (x *Transmission) CausedBy(all []netstack.Cause) {
	if len(all) == 0 {
		x.By = "ACKs"
		return
	}
	c := &all[0]
	x.By, x.Armed, x.Span, x.Own = timerName(c), c.Armed, c.Deadline.Sub(c.Armed), c.PerSegment
}

// timerName names a timer that retransmits.
func timerName(c *netstack.Cause) string {
	switch c.Kind {
	case tcptimers.Rexmit:
		if c.PerSegment {
			return "the segment's timer"
		}
		return "retransmission timer"
	case tcptimers.TLP:
		return "tail loss probe"
	case tcptimers.Reorder:
		return "reordering timer"
	}
	return c.Kind.String() + " timer"
}

// ending is what ended a timer.
type ending int

// The page has the words for these.
const (
	endedUnknown ending = iota // by the program, or by the end of the connection
	endedByACK                 // an ACK arrived
	endedByData                // data arrived
	endedBySend                // a segment left
	endedExpired
)

// since returns the packets from number *next on, at most keptPackets, and moves *next past them.
func since(all []*Transmission, next *uint64) []*Transmission {
	i := len(all)
	for i > 0 && all[i-1].Seq >= *next {
		i--
	}
	if len(all) > 0 {
		*next = all[len(all)-1].Seq + 1
	}
	return all[max(i, len(all)-keptPackets):]
}

// latest drops the oldest packets of a list now and then. The old array stays as it is for readers.
func latest(all []*Transmission) []*Transmission {
	if len(all) <= 2*keptPackets {
		return all
	}
	return append(all[:0:0], all[len(all)-keptPackets:]...)
}
