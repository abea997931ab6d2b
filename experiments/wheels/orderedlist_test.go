package wheels

import (
	"testing"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
)

const orderedlistSmall = "study: orderedlist\nseeds: 3\noutstanding: [100]\n"

func TestOrderedlistLabelsAreInterchanged(t *testing.T) {
	out := studytest.Run(t, OrderedList, orderedlistSmall)
	studytest.Want(t, out, experiments.Reproduced, "exponential-head", "exponential-rear", "uniform-head", "uniform-rear",
		"narrow-head", "constant-head", "constant-rear", "interchanged", "both-ends")
	studytest.Want(t, out, experiments.NotReproduced, "printed-exponential-head", "printed-exponential-rear", "printed-uniform-head")
	if got := studytest.Claim(t, out, "constant-head").Measured.Value; got != 1 {
		t.Errorf("with constant intervals a search from the head passes %v of the list, want 1", got)
	}
}

// If exponential intervals passed two thirds of the list, as printed, the verdicts would turn.
func TestOrderedlistFalsifier(t *testing.T) {
	p := &orderedlistPlan{Intervals: []string{"exponential", "uniform"}, Mean: 1e6, Outstanding: []int{100}, Insertions: 20000, WarmUp: 10, Seeds: 2}
	swapped := studytest.Cells(t, orderedlistCells(p))
	for i := range swapped {
		r := &swapped[i]
		r.Intervals = map[string]string{"exponential": "uniform", "uniform": "exponential"}[r.Intervals]
	}
	out := studytest.Judge(t, orderedlistJudge, p, swapped)
	studytest.Want(t, out, experiments.NotReproduced, "exponential-head", "uniform-head", "interchanged")
	studytest.Want(t, out, experiments.Reproduced, "printed-exponential-head", "printed-exponential-rear", "printed-uniform-head")
}
