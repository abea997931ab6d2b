package replay

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// String shows the packet about as tcpdump would.
func (e *Event) String() string {
	if e == nil {
		return "none"
	}
	return fmt.Sprintf("%.9f %s %v %d:%d ack %d", time.Duration(e.At).Seconds(), [2]string{">", "<"}[e.Flow&1], e.Flags, e.Start, e.End, e.Ack)
}

// divergence is the first difference between two logs.
type divergence struct {
	index     int    // in both, from 0
	want, got *Event // nil: none
}

// String says where and how they differ.
func (d *divergence) String() string {
	return fmt.Sprintf("packet %d is %v, want %v", d.index+1, d.got, d.want)
}

// diverge returns the first packet where two logs differ, nil if there is none. Packets of one
// instant in different directions may come in any order.
func diverge(want, got []Event) *divergence {
	want, got = inOrder(want), inOrder(got)
	for i := range max(len(want), len(got)) {
		d := &divergence{index: i}
		if i < len(want) {
			d.want = &want[i]
		}
		if i < len(got) {
			d.got = &got[i]
		}
		if d.want == nil || d.got == nil || *d.want != *d.got {
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
