package wheels

import (
	"math/rand/v2"
	"testing"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
)

const hierarchySmall = "study: hierarchy\nintervals: [100, 1000, 10000]\nslots: [64, 256, 1024, 4096]\n" +
	"timers: 500\nseeds: 1\n"

func TestHierarchyLaws(t *testing.T) {
	out := studytest.Run(t, Hierarchy, hierarchySmall)
	studytest.Want(t, out, experiments.Reproduced, "looks", "migrations", "exponential-100", "exponential-1000",
		"crossover-whole")
	studytest.Want(t, out, experiments.Differs, "law-six")
}

func TestHierarchyVisitsATimerOncePerRotation(t *testing.T) {
	// 1000 ticks in 256 slots: three rotations pass the timer over, and the fourth visit finds it due.
	r, err := hierarchySix(256, 10, 1, func(*rand.Rand) uint64 { return 1000 })
	if err != nil || r.Looks != 40 || r.Moves != 0 || r.Miscounted != 0 || r.Ticks != 10*1000 {
		t.Errorf("%+v, %v, want 4 visits each and no move", r, err)
	}
	// In two levels of 64, such timers start on the upper level and migrate once.
	r, err = hierarchySeven(128, 64, 2, 1000, 1, 1000)
	if err != nil || r.Most != 1 || r.Looks < 2000 || r.Looks > 2500 || r.Looks-r.Moves != 1000 {
		t.Errorf("%+v, %v, want a little more than 2 visits each, and one move less than visits", r, err)
	}
}

// The study notices one visit too many.
func TestHierarchyFalsifier(t *testing.T) {
	const plan = "study: hierarchy\nintervals: [100]\nslots: [64, 128]\nlevels: [2]\n" +
		"timers: 20\nlooks: 1000\nseeds: 1\n"
	_, out := studytest.RunAltered(t, Hierarchy, plan, func(c *hierarchyCell) {
		c.Six[0].Miscounted++
		c.Seven[0].Most = 2
	})
	studytest.Want(t, out, experiments.NotReproduced, "looks", "migrations")
}
