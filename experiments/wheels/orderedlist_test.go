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
	const plan = "study: orderedlist\nintervals: [exponential, uniform]\noutstanding: [100]\nseeds: 2\n"
	_, out := studytest.RunAltered(t, OrderedList, plan, func(r *orderedlistCell) {
		r.Intervals = map[string]string{"exponential": "uniform", "uniform": "exponential"}[r.Intervals]
	})
	studytest.Want(t, out, experiments.NotReproduced, "model", "interchanged")
	studytest.Want(t, out, experiments.Reproduced, "printed")
}
