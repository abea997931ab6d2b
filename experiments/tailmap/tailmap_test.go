package tailmap

import (
	"slices"
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
)

func find(tails []Tail, rule string, lost int) Tail {
	return tails[slices.IndexFunc(tails, func(t Tail) bool { return t.Rule == rule && t.Lost == lost })]
}

func TestTails(t *testing.T) {
	cells, out := studytest.RunAltered[Cell](t, Study, "", nil)
	studytest.WantOthers(t, out, experiments.Reproduced, "complete", "complete-probe")
	// The expectation leaves out ssthresh and RFC 9937.
	studytest.Want(t, out, experiments.Differs, "complete", "complete-probe")
	// At a round trip of 20 ms. Linux's floor: 240 / 220 / 60 ms, and 240 alone. A floor of 1 s:
	// 1020 / 1000 / 60, and 260 ms alone.
	for _, c := range cells {
		if c.Kind != kindMap || c.RTT != 20*time.Millisecond {
			continue
		}
		want := map[string][2]int{oneTimer: {240, 240}, rtoRestart: {220, 220}, perSegment: {220, 220}, probe: {240,
			60}}
		if c.Floor == floorSecond {
			want = map[string][2]int{oneTimer: {1020, 1020}, rtoRestart: {1000, 1000}, perSegment: {1000, 1000},
				probe: {260, 60}}
		}
		for rule, w := range want {
			for i, lost := range []int{1, 3} {
				if got := find(c.Tails, rule, lost).Retransmission; got/time.Microsecond != time.Duration(w[i])*1000 {
					t.Errorf("floor of %s, %s, %d lost: retransmitted after %v, want %dms", c.Floor, rule, lost, got,
						w[i])
				}
			}
		}
	}
}

// TestFalsifier swaps the one timer and the timer per segment.
func TestFalsifier(t *testing.T) {
	_, out := studytest.RunAltered(t, Study, "", func(c *Cell) {
		for i := range c.Tails {
			switch c.Tails[i].Rule {
			case oneTimer:
				c.Tails[i].Rule = perSegment
			case perSegment:
				c.Tails[i].Rule = oneTimer
			}
		}
	})
	studytest.Want(t, out, experiments.NotReproduced, "first-resend", "age")
}

func TestRounds(t *testing.T) {
	for _, test := range []struct{ n, bound, want int }{
		{1, 99, 1}, {2, 99, 2}, {3, 99, 2}, {4, 99, 3}, {7, 99, 3}, {8, 99, 4}, {15, 99, 4},
		{7, 3, 4}, {9, 4, 4},
	} {
		if got := rounds(test.n, test.bound); got != test.want {
			t.Errorf("rounds(%d, %d) = %d, want %d", test.n, test.bound, got, test.want)
		}
	}
}
