package comb

import (
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
	"tcpwheel/experiments/internal/testbed"
)

// small is a plan for about a second of work.
func small() *Plan {
	return &Plan{
		Connections: 1000, RTT: 10 * time.Millisecond, Outage: 500 * time.Millisecond, Rate: 100_000_000, Queue: 100,
		Watch: 10 * time.Second,
		BSD:   testbed.MustTimers("bsd"),
		Timers: []testbed.Timers{
			testbed.MustTimers("per-segment@500ms floor=1s phase=own -tlp -rack -frto"),
			testbed.MustTimers("per-segment@100ms floor=1s -tlp -rack -frto"),
			testbed.MustTimers("per-segment@exact floor=1s -tlp -rack -frto"),
		},
		Shipped: testbed.MustTimers("per-segment"), FirstSeed: 1, Seeds: 1, GVisorSeeds: 1,
	}
}

func TestComb(t *testing.T) {
	p := small()
	out := judged(t, p, studytest.Cells(t, cells(p)))
	studytest.Check(t, out)
	// At 2 per millisecond, chance bunches up to 10 in one: more than a hundredth of 1000.
	studytest.WantOthers(t, out, experiments.Reproduced, "peaks")
}

// TestCombTooth follows a tooth of 1000 segments: the link takes one and the queue 100, and the
// rest meet again.
func TestCombTooth(t *testing.T) {
	p := small()
	c, err := runOutage(p, p.BSD, Cell{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if c.Peak != 1000 || c.PeakAt != 1500*time.Millisecond || c.Dropped != 899 || c.Bins != 1 {
		t.Errorf("%+v, want a tooth of 1000 at 1.5s with 899 drops", c)
	}
	// 3 ticks, then 6, then 12: the others leave at 4.5 s, and at 10.5 s, after the watch.
	want := [][2]int{{1500, 1000}, {4500, 899}}
	if len(c.Comb) != 2 || c.Comb[0] != want[0] || c.Comb[1] != want[1] || c.Unrepaired != 798 {
		t.Errorf("comb %v, %d never repaired, want %v and 798", c.Comb, c.Unrepaired, want)
	}
}

// TestCombFalsifier puts fine timers in the place of 4.4BSD's.
func TestCombFalsifier(t *testing.T) {
	if testing.Short() {
		t.Skip("results are the same under the race detector, which takes ten times as long")
	}
	p := small()
	all := studytest.Cells(t, cells(p))
	fine := all[len(all)-2-len(gvisors)]
	if fine.Mixed || fine.Straddles {
		t.Fatalf("%+v is no cell of fine timers", fine)
	}
	for i := range all {
		if all[i].Timers == "bsd" && !all[i].Mixed {
			straddles := all[i].Straddles
			all[i] = fine
			all[i].Timers, all[i].Straddles = "bsd", straddles
		}
	}
	out := judged(t, p, all)
	studytest.Want(t, out, experiments.NotReproduced, "one-bin", "two-bins", "ratio", "ratio-straddling", "peaks",
		"drops")
}

func judged(t *testing.T, p *Plan, cells []Cell) *experiments.Outcome {
	t.Helper()
	return studytest.Judge(t, outcome, p, cells)
}
