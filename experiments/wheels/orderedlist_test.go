package wheels

import (
	"testing"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
)

const orderedlistSmall = "study: orderedlist\nseeds: 3\noutstanding: [100]\n"

func TestOrderedlistLabelsAreInterchanged(t *testing.T) {
	out := studytest.Run(t, OrderedList, orderedlistSmall)
	studytest.Want(t, out, experiments.Reproduced, "model", "interchanged", "both-ends")
	studytest.Want(t, out, experiments.NotReproduced, "printed")
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
	studytest.Want(t, out, experiments.NotReproduced, "model", "interchanged")
	studytest.Want(t, out, experiments.Reproduced, "printed")
}
