package track

import "testing"

// TestDelayedACK: the copy of a lone segment is acknowledged a round trip later. If the first one
// had arrived, its ACK might have been delayed, and that of a duplicate comes at once.
func TestDelayedACK(t *testing.T) {
	for _, test := range []struct {
		name     string
		prompt   int     // lone segments before that were acknowledged at once
		wait     float64 // from the segment to its copy, ms
		answer   float64 // from the copy to its ACK
		burst    bool    // a segment before it is in flight
		doubtful bool
	}{
		{"the ACK of a duplicate", 0, 100, 50, false, true},
		{"few lone segments", 2, 100, 50, false, true},
		{"a receiver that never delays", 8, 100, 50, false, false},
		{"no ACK waits so long", 0, 201, 50, false, false},
		{"an ACK that was delayed itself", 0, 100, 90, false, false},
		{"two segments, both lost", 0, 100, 50, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLab(t, Config{})
			l.open(0)
			at, seq := 100.0, 1
			for range test.prompt {
				l.send(at, true, seq, 100, 1)
				at, seq = at+50, seq+100
				l.send(at, false, 1, 0, seq)
				at += 10
			}
			from := seq
			l.send(at, true, seq, 100, 1)
			if seq += 100; test.burst {
				l.send(at, true, seq, 100, 1)
				seq += 100
			}
			at += test.wait
			l.send(at, true, from, seq-from, 1)
			l.send(at+test.answer, false, 1, 0, seq)
			want := Necessary
			if test.doubtful {
				want = Undecided
			}
			if e := l.only(); e.Doubtful != test.doubtful || e.Spurious != want || (e.TimeLost == 0) != test.doubtful {
				t.Errorf("%v by %v, doubtful %v, %v lost; want %v, %v", e.Spurious, e.Evidence, e.Doubtful, e.TimeLost, want, test.doubtful)
			}
		})
	}
}
