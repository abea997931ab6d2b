package tailmap

import (
	"slices"
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
	"tcpwheel/tun/netns"
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

// TestWaits checks that the kernel's wheel rounds a timeout up by at most one jiffy, and by at most
// eight from 63 jiffies on.
func TestWaits(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		k           netns.KernelInfo
		least, most time.Duration
	}{
		{netns.KernelInfo{SRTT: 10 * ms, RTO: 212 * ms, Jiffy: 4 * ms}, 212 * ms, 216 * ms},      // the timer
		{netns.KernelInfo{SRTT: 2 * ms, RTO: 208 * ms, Jiffy: 4 * ms}, 204 * ms, 208 * ms},       // the probe
		{netns.KernelInfo{SRTT: 100 * ms, RTO: 304 * ms, Jiffy: 4 * ms}, 304 * ms, 336 * ms},     // 76
		{netns.KernelInfo{SRTT: 1500 * ms, RTO: 1700 * ms, Jiffy: 4 * ms}, 1700 * ms, 1732 * ms}, // 425
	} {
		least, most := waits(lone{KernelInfo: c.k})
		if least < c.least || least > c.least+ms || most > c.most || most < c.most-ms {
			t.Errorf("waits(%+v) = %v, %v, want more than %v, up to %v", c.k, least, most, c.least, c.most)
		}
	}
}
