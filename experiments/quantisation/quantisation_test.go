package quantisation

import (
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
)

func TestClaims(t *testing.T) {
	out := studytest.Run(t, Study, "study: quantisation\nticks: [10us, 500ms]\nsamples: 200\n")
	studytest.Want(t, out, experiments.Reproduced)
	for name, want := range map[string]float64{"rounding-up": 0.4995, "from-one": 1} {
		if got := studytest.Claim(t, out, name).Measured.Value; got != want {
			t.Errorf("%s: %v ticks, want %v", name, got, want)
		}
	}
}

// TestErrors checks a round trip of half a tick: of a thousand phases, half measure 0 and half 1.
func TestErrors(t *testing.T) {
	c := errors(&Plan{Thousandths: []int{500, 2250}}, 100*time.Millisecond)
	if got, want := c.Errors[0], (Errors{500, 0, 1000 * 500 * 500}); got != want {
		t.Errorf("half a tick: %+v, want %+v", got, want)
	}
	// Two ticks and a quarter: 250 phases measure 3, 0.75 too much, and 750 measure 2, 0.25 too
	// little.
	if got, want := c.Errors[1], (Errors{2250, 0, 250*750*750 + 750*250*250}); got != want {
		t.Errorf("two ticks and a quarter: %+v, want %+v", got, want)
	}
}

// TestFalsifier checks that the claims notice an error of a thousandth of a tick at one phase.
func TestFalsifier(t *testing.T) {
	p := &Plan{Ticks: []time.Duration{time.Millisecond}, Thousandths: []int{500}, RTTs: []time.Duration{time.Millisecond}, Samples: 100, Seeds: 1}
	c := errors(p, time.Millisecond)
	c.Errors[0].Sum++
	c.Errors[0].Squares++
	c.Exact, c.Up, c.BSD = 1, c.Up+1, c.BSD-1
	late := timeouts(p, time.Millisecond, 1)
	late.Timeouts[0].Least = late.Tick - 1
	out := studytest.Judge(t, judge, p, []Cell{c, late})
	studytest.Want(t, out, experiments.NotReproduced)
}
