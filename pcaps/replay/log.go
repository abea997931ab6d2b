package replay

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// Event is a packet as it passes the point of capture. Start, End and Ack are places.
type Event struct {
	At    wheel.Time `json:"at_ns"`
	Flow  int        `json:"flow"`
	Flags tcp.Flags  `json:"flags"`
	Start uint64     `json:"start"`
	End   uint64     `json:"end"`
	Ack   uint64     `json:"ack"`
}

// String shows the packet about as tcpdump would.
func (e *Event) String() string {
	if e == nil {
		return "none"
	}
	return fmt.Sprintf("%.9f %s %v %d:%d ack %d", time.Duration(e.At).Seconds(), [2]string{">", "<"}[e.Flow&1], e.Flags, e.Start, e.End, e.Ack)
}

// Divergence is the first difference between two logs.
type Divergence struct {
	Index     int    // in both, from 0
	Want, Got *Event // nil: none
}

// String says where and how they differ.
func (d *Divergence) String() string {
	return fmt.Sprintf("packet %d is %v, want %v", d.Index+1, d.Got, d.Want)
}

// Diverge returns the first packet where two logs differ, nil if there is none. Packets of one
// instant in different directions may come in any order.
func Diverge(want, got []Event) *Divergence {
	want, got = inOrder(want), inOrder(got)
	for i := range max(len(want), len(got)) {
		d := &Divergence{Index: i}
		if i < len(want) {
			d.Want = &want[i]
		}
		if i < len(got) {
			d.Got = &got[i]
		}
		if d.Want == nil || d.Got == nil || *d.Want != *d.Got {
			return d
		}
	}
	return nil
}

func inOrder(log []Event) []Event {
	log = slices.Clone(log)
	slices.SortStableFunc(log, func(a, b Event) int { return cmp.Or(cmp.Compare(a.At, b.At), a.Flow-b.Flow) })
	return log
}
