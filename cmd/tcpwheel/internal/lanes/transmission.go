package lanes

import (
	"strconv"
	"time"

	"tcpwheel/netstack"
	"tcpwheel/tcptimers"
)

// Transmission is a packet on the wire of a lane, for diagrams.
type Transmission struct {
	Seq    uint64  `json:"n"`                 // counts the transmissions of the lane
	At     seconds `json:"sent_s"`            // it left
	Arrive seconds `json:"due_s"`             // it arrived, or would have
	From   int     `json:"from"`              // 0 is the server
	Conn   int     `json:"conn"`              // see ConnView
	Start  uint64  `json:"start"`             // of its data; of an ACK, SEG.ACK
	End    uint64  `json:"end"`               // Start for a packet without data
	Again  bool    `json:"again,omitempty"`   // a retransmission
	By     string  `json:"by,omitempty"`      // what caused a retransmission
	Armed  seconds `json:"armed_s,omitempty"` // of By's timer, if it has one
	Span   seconds `json:"for_s,omitempty"`   // for how long By's timer was set
	Own    bool    `json:"own,omitempty"`     // By's timer was the segment's own
	Lost   string  `json:"fate,omitempty"`    // of package events; "" was delivered
}

// seconds is a time or a span, in nanoseconds, that JSON has in seconds with up to nine decimals.
type seconds int64

// MarshalJSON implements json.Marshaler.
func (s seconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(s)/1e9, 'f', -1, 64), nil
}

func (s seconds) since(t seconds) time.Duration { return time.Duration(s - t) }

// CausedBy notes what caused a retransmission.
func (x *Transmission) CausedBy(all []netstack.Cause) {
	if len(all) == 0 {
		x.By = "ACKs"
		return
	}
	c := &all[0]
	x.By, x.Armed, x.Span, x.Own = timerName(c), seconds(c.Armed), seconds(c.Deadline-c.Armed), c.PerSegment
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
