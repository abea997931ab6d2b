package wheels

import (
	"testing"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
)

const fig9Small = "study: fig9\niterations: 1000\noutstanding: [0, 100, 1000]\nbeyond: [10000]\n"

func TestFig9(t *testing.T) {
	out := studytest.Run(t, Fig9, fig9Small)
	studytest.Want(t, out, experiments.Reproduced)
	// 2·n·iterations: timeout and untimeout search n records each.
	for _, row := range out.Tables[0].Rows {
		if n, got := row[0].(float64), row[1]; n <= 1000 && got != 2*n*1000 {
			t.Errorf("with %v callouts, %v records were visited, want %v", n, got, 2*n*1000)
		}
	}
}

// The study notices a wheel that searches: here, an ordered list in the place of one.
func TestFig9Falsifier(t *testing.T) {
	const plan = "study: fig9\niterations: 100\noutstanding: [0, 1000]\nbeyond: []\n"
	_, out := studytest.RunAltered(t, Fig9, plan, func(r *fig9Cell) {
		switch r.Kernel {
		case "ordered":
			r.Kernel = "wheel-handle"
		case "wheel-handle":
			r.Kernel = "ordered"
		}
	})
	studytest.Want(t, out, experiments.NotReproduced, "wheel-handle-flat", "ordered-linear")
}
