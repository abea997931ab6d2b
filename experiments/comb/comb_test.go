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
		Watch: 5 * time.Second,
		BSD:   testbed.MustTimers("bsd"),
		Timers: []testbed.Timers{
			testbed.MustTimers("per-segment@500ms floor=1s phase=own -tlp -rack -frto"),
			testbed.MustTimers("per-segment@100ms floor=1s -tlp -rack -frto"),
			testbed.MustTimers("per-segment@exact floor=1s -tlp -rack -frto"),
		},
		FirstSeed: 1, Seeds: 1,
	}
}

func TestComb(t *testing.T) {
	p := small()
	out := judged(t, p, studytest.Cells(t, cells(p)))
	studytest.Check(t, out)
	studytest.Want(t, out, experiments.Reproduced)
}

// TestCombTooth follows a tooth of 1000 segments: the link takes one and the queue 100, and the
// rest meet again.
func TestCombTooth(t *testing.T) {
	p := small()
	c, err := p.run(p.BSD, 1)
	if err != nil {
		t.Fatal(err)
	}
	if c.Peak != 1000 || c.First != 1500*time.Millisecond || c.Dropped != 899 || c.Bins != 1 {
		t.Errorf("%+v, want a tooth of 1000 at 1.5s with 899 drops", c)
	}
	// 3 ticks, then 6: the others leave at 4.5 s.
	want := [][2]int{{1500, 1000}, {4500, 899}}
	if len(c.Comb) != 2 || c.Comb[0] != want[0] || c.Comb[1] != want[1] {
		t.Errorf("comb %v, want %v", c.Comb, want)
	}
}

// TestCombFalsifier puts fine timers in the place of 4.4BSD's.
func TestCombFalsifier(t *testing.T) {
	p := small()
	all := studytest.Cells(t, cells(p))
	fine := all[len(all)-2]
	for i := range all {
		if all[i].Timers == "bsd" {
			all[i] = fine
			all[i].Timers = "bsd"
		}
	}
	out := judged(t, p, all)
	studytest.Want(t, out, experiments.NotReproduced, "one-bin", "ratio", "drops")
}

func judged(t *testing.T, p *Plan, cells []Cell) *experiments.Outcome {
	t.Helper()
	return studytest.Judge(t, outcome, p, cells)
}
