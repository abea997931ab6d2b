package watch

import (
	"time"

	"tcpwheel/wheel"
)

// drops are the times when the kernel dropped packets.
type drops struct {
	n     uint64
	spans []dropSpan // in order, apart
}

type dropSpan struct{ from, to wheel.Time }

const (
	// dropShadow is how long after a drop its trace may show as a gap: a later packet of the flow
	// must come first.
	dropShadow = time.Second

	maxDropSpans = 1024
)

// add notes n drops between two times, not before those of an earlier call.
func (d *drops) add(n uint64, from, to wheel.Time) {
	d.n += n
	if i := len(d.spans) - 1; i >= 0 && from.Sub(d.spans[i].to) <= dropShadow {
		d.spans[i].to = max(d.spans[i].to, to)
		return
	}
	if len(d.spans) == maxDropSpans { // join the oldest two
		d.spans[1].from = d.spans[0].from
		d.spans = append(d.spans[:0], d.spans[1:]...)
	}
	d.spans = append(d.spans, dropSpan{from, to})
}

// overlap reports whether packets were dropped between two times.
func (d *drops) overlap(from, to wheel.Time) bool {
	for i := len(d.spans) - 1; i >= 0 && d.spans[i].to >= from; i-- {
		if d.spans[i].from <= to {
			return true
		}
	}
	return false
}
