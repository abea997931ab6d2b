package tcp

import (
	"slices"
	"testing"

	"tcpwheel/tcptimers"
)

// TestTimers: each change of what runs is one TimerOp, and nothing else is.
func TestTimers(t *testing.T) {
	var (
		set timers
		o   Output
		q   = sentQueue{max: 2}
	)
	first, _ := q.Push(0, 1, 10, 0)
	second, _ := q.Push(0, 11, 10, 0)
	step := func(what string, f func(), want ...TimerOp) {
		t.Helper()
		o.Timers = nil
		if f(); !slices.Equal(o.Timers, want) {
			t.Errorf("%s: %v, want %v", what, o.Timers, want)
		}
	}
	runs := func(want ...Slot) {
		t.Helper()
		var got []Slot
		if set.each(&q, func(s Slot) { got = append(got, s) }); !slices.Equal(got, want) {
			t.Errorf("timers %v run, want %v", got, want)
		}
	}
	persist := Slot(tcptimers.Persist)
	step("start", func() { set.start(&o, tcptimers.Persist, 7) }, TimerOp{persist, true, 7})
	step("move", func() { set.start(&o, tcptimers.Persist, 8) }, TimerOp{persist, true, 8})
	step("start a segment's", func() { set.startSegment(&o, &q, second, 9) }, TimerOp{segmentSlot(second), true, 9})
	runs(persist, segmentSlot(second))
	step("stop what does not run", func() { set.stop(&o, tcptimers.TLP); set.stopSegment(&o, &q, first) })
	step("expire", func() {
		if set.expired(&q, segmentSlot(first)) || set.expired(&q, Slot(tcptimers.TLP)) {
			t.Error("a timer expired that does not run")
		}
		if !set.expired(&q, segmentSlot(second)) || set.expired(&q, segmentSlot(second)) {
			t.Error("a timer that runs must expire, once")
		}
	})
	runs(persist)
	step("start again", func() { set.startSegment(&o, &q, first, 10) }, TimerOp{segmentSlot(first), true, 10})
	step("stop all", func() { set.stopAll(&o); set.stopSegments(&o, &q) }, TimerOp{Slot: persist}, TimerOp{Slot: segmentSlot(first)})
	runs()
}
