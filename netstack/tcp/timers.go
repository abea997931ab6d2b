package tcp

import (
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// timers are the running timers of a connection. Nothing else appends a TimerOp: a timer runs if it
// was started here, and neither stopped nor expired since. sentSegment.Armed says so for a
// segment's.
type timers struct {
	running uint16 // a bit for each tcptimers.Kind
}

// start starts or moves the timer of kind k.
func (t *timers) start(o *Output, k tcptimers.Kind, at wheel.Time) {
	o.Timers = append(o.Timers, TimerOp{Slot: Slot(k), Start: true, At: at})
	t.running |= 1 << k
}

// stop stops the timer of kind k if it runs.
func (t *timers) stop(o *Output, k tcptimers.Kind) {
	if t.running&(1<<k) != 0 {
		t.running &^= 1 << k
		o.Timers = append(o.Timers, TimerOp{Slot: Slot(k)})
	}
}

func (t *timers) runs(k tcptimers.Kind) bool { return t.running&(1<<k) != 0 }

// startSegment starts or moves the retransmission timer of segment id.
func (t *timers) startSegment(o *Output, q *sentQueue, id segmentID, at wheel.Time) {
	q.seg(id).Armed = true
	o.Timers = append(o.Timers, TimerOp{Slot: segmentSlot(id), Start: true, At: at})
}

// stopSegment stops the retransmission timer of segment id if it runs.
func (t *timers) stopSegment(o *Output, q *sentQueue, id segmentID) {
	if s := q.seg(id); s.Armed {
		s.Armed = false
		o.Timers = append(o.Timers, TimerOp{Slot: segmentSlot(id)})
	}
}

// stopAll stops every timer but those of segments.
func (t *timers) stopAll(o *Output) {
	for k := range tcptimers.Kind(tcptimers.Kinds) {
		t.stop(o, k)
	}
}

// stopSegments stops the timers of all segments of q.
func (t *timers) stopSegments(o *Output, q *sentQueue) {
	for id := q.Front(); id != 0; id = q.Next(id) {
		t.stopSegment(o, q, id)
	}
}

// expired records that the timer of a slot has expired. It reports false if that timer does not run.
func (t *timers) expired(q *sentQueue, slot Slot) bool {
	if id := slot.segment(); id != 0 {
		runs := q.has(id) && q.seg(id).Armed
		if runs {
			q.seg(id).Armed = false
		}
		return runs
	}
	runs := t.runs(slot.Kind())
	t.running &^= 1 << slot.Kind()
	return runs
}

// each calls f with the slot of each running timer. It costs O(segments in flight).
func (t *timers) each(q *sentQueue, f func(Slot)) {
	for k := range tcptimers.Kind(tcptimers.Kinds) {
		if t.runs(k) {
			f(Slot(k))
		}
	}
	for id := q.Front(); id != 0; id = q.Next(id) {
		if q.seg(id).Armed {
			f(segmentSlot(id))
		}
	}
}
