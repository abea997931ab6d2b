package wheels

import (
	"math"
	"testing"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
)

const hashingSmall = "study: hashing\ntimers: 1000\nslots: [64]\nseeds: 10\n"

func TestHashingTheHashControlsTheVarianceOnly(t *testing.T) {
	out := studytest.Run(t, Hashing, hashingSmall)
	studytest.Want(t, out, experiments.Reproduced)
	for _, row := range out.Tables[0].Rows {
		if mean := row[2].(float64); mean != 1000./64 {
			t.Errorf("%s: a tick visits %v records in the mean, want %v", row[0], mean, 1000./64)
		}
	}
}

func TestHashingPoissonMax(t *testing.T) {
	// The greatest of one draw is the mean; of very many draws of mean 1 it is 4 or more standard
	// deviations above.
	if got := poissonMax(5, 1); math.Abs(got-5) > 1e-6 {
		t.Errorf("the greatest of one draw of mean 5 is %v", got)
	}
	if got := poissonMax(1, 1000); got < 5 || got > 6 {
		t.Errorf("the greatest of 1000 draws of mean 1 is %v, want between 5 and 6", got)
	}
	// Draws with a great mean are nearly normal: the greater of two is 0.5642 standard deviations
	// above the mean.
	for _, mean := range []float64{499, 501, 5000, 1e6} {
		if got, want := poissonMax(mean, 2), mean+0.5642*math.Sqrt(mean); math.Abs(got-want) > 0.5 {
			t.Errorf("the greatest of two draws of mean %v is %v, want %v", mean, got, want)
		}
	}
}

// The study notices a wheel whose mean depends on the spread.
func TestHashingFalsifier(t *testing.T) {
	const plan = "study: hashing\ntimers: 100\nslots: [16]\nspreads: [random, one]\nheartbeat: 5\n" +
		"rotations: 1\nschemes: [scheme6]\nseeds: 1\n"
	_, out := studytest.RunAltered(t, Hashing, plan, func(r *hashingCell) { r.Costs[len(r.Costs)-1].Looks-- })
	studytest.Want(t, out, experiments.NotReproduced, "mean", "one-worst")
}
