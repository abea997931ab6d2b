package wheels

import (
	"math"
	"testing"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
	"tcpwheel/wheel"
)

func TestNicholsLosses(t *testing.T) {
	out := studytest.Run(t, Nichols, "study: nichols\nslots: [64]\nstride: 60\n")
	studytest.Want(t, out, experiments.Reproduced, "losses", "formulas", "up-never-early", "others-early",
		"one-migration")
	studytest.Want(t, out, experiments.Differs, "printed")
}

func TestNicholsTheExampleOfThePaper(t *testing.T) {
	// One slot and a half, rounded down to one: half of the interval set, and a third of the one
	// requested.
	p := &nicholsPlan{Slots: []int{64}, Minutes: 64, Stride: 60}
	c, err := nicholsRun(p, "scheme7-nomigration", 1, wheel.RoundDown, 64)
	if err != nil {
		t.Fatal(err)
	}
	if late := c.Late[96-64]; late != -32 {
		t.Errorf("96 ticks in slots of 64, rounded down, expire %d ticks late, want 32 early", late)
	}
	if got := c.Boundary.OfRequested; math.Abs(got-63./127) > 1e-12 {
		t.Errorf("the worst loses %v of its interval, want 63 ticks of 127", got)
	}
}

// The study notices rounding to the nearest in the place of rounding up.
func TestNicholsFalsifier(t *testing.T) {
	const plan = "study: nichols\nslots: [16]\nminutes: 16\nstride: 16\n"
	_, out := studytest.RunAltered(t, Nichols, plan, func(r *nicholsCell) {
		switch r.Rounding {
		case "up":
			r.Rounding = "nearest"
		case "nearest":
			r.Rounding = "up"
		}
	})
	studytest.Want(t, out, experiments.NotReproduced, "up-never-early", "others-early", "formulas", "losses")
}
