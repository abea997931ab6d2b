package replay

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Divergence is the first difference between two logs.
type Divergence struct {
	Index     int    // in both, from 0
	Want, Got *Event // nil if there is none
}

// String says where and how they differ.
func (d *Divergence) String() string {
	return fmt.Sprintf("packet %d is %v, want %v", d.Index+1, d.Got, d.Want)
}

// String is the packet as tcpdump would show it, about.
func (e *Event) String() string {
	if e == nil {
		return "none"
	}
	return fmt.Sprintf("%.9f %s %v %d:%d ack %d", time.Duration(e.At).Seconds(), [2]string{">", "<"}[e.Flow&1], e.Flags, e.Start, e.End, e.Ack)
}

// Diverge returns the first packet in which two logs differ, nil if there is none. Packets of one instant in different directions may come in any order.
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
	slices.SortStableFunc(log, func(a, b Event) int {
		if a.At != b.At {
			return cmp.Compare(a.At, b.At)
		}
		return a.Flow - b.Flow
	})
	return log
}
