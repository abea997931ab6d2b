package replay

import (
	"testing"
	"time"

	"tcpwheel/wheel"
)

// TestPairs has a transmission that both made, one that the engine was late with, one that it did
// not make, and one of its own.
func TestPairs(t *testing.T) {
	at := func(ms int) wheel.Time { return wheel.Time(time.Duration(ms) * time.Millisecond) }
	o := WireOutcome{
		Want: []Event{{At: at(0), Start: 1, End: 101}, {At: at(1), Start: 101, End: 201}, {At: at(2), Start: 201, End: 201}, {At: at(200), Start: 1, End: 101}, {At: at(300), Start: 201, End: 202}},
		Got:  []Event{{At: at(0), Start: 1, End: 101}, {At: at(1), Start: 101, End: 201}, {At: at(230), Start: 1, End: 101}, {At: at(900), Start: 1, End: 101}, {At: at(800), Start: 101, End: 201}},
	}
	all := o.Pairs()
	type row struct {
		want, got int
		try       int
		right     bool
	}
	wants := []row{{0, 0, 1, true}, {1, 1, 1, true}, {3, 2, 2, false}, {4, -1, 1, false}, {-1, 4, 2, false}, {-1, 3, 3, false}}
	if len(all) != len(wants) {
		t.Fatalf("%d pairs, want %d", len(all), len(wants))
	}
	for i, want := range wants {
		p := &all[i]
		same := func(e *Event, in []Event, k int) bool { return e == nil && k < 0 || e != nil && k >= 0 && e == &in[k] }
		if !same(p.Want, o.Want, want.want) || !same(p.Got, o.Got, want.got) || p.Try != want.try || p.Right() != want.right {
			t.Errorf("pair %d: %v and %v, try %d, right %v, want %+v", i, p.Want, p.Got, p.Try, p.Right(), want)
		}
	}
	if later, ok := all[2].Off(); !ok || later != 30*time.Millisecond {
		t.Errorf("off by %v, %v, want 30ms", later, ok)
	}
	if _, ok := all[3].Off(); ok {
		t.Error("what the engine has not sent is off by something")
	}
}
