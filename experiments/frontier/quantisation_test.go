package frontier

import (
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
)

func TestQuantisation(t *testing.T) {
	out := studytest.Run(t, Quantisation, "study: quantisation\nticks: [10us, 500ms]\nsamples: 200\n")
	studytest.Want(t, out, experiments.Reproduced)
	for name, want := range map[string]float64{"rounding-up": 0.4995, "from-one": 1} {
		if got := studytest.Claim(t, out, name).Measured.Value; got != want {
			t.Errorf("%s: %v ticks, want %v", name, got, want)
		}
	}
}

// TestPhaseErrors checks a round trip of half a tick: of a thousand phases, half measure 0 and half
// 1.
func TestPhaseErrors(t *testing.T) {
	c := clockErrors(&quantPlan{Thousandths: []int{500, 2250}}, 100*time.Millisecond)
	if got, want := c.Errors[0], (phaseErrors{500, 0, 1000 * 500 * 500}); got != want {
		t.Errorf("half a tick: %+v, want %+v", got, want)
	}
	// Two ticks and a quarter: 250 phases measure 3, 0.75 too much, and 750 measure 2, 0.25 too
	// little.
	if got, want := c.Errors[1], (phaseErrors{2250, 0, 250*750*750 + 750*250*250}); got != want {
		t.Errorf("two ticks and a quarter: %+v, want %+v", got, want)
	}
}

// TestQuantisationFalsifier checks that the claims notice an error of a thousandth of a tick at one
// phase.
func TestQuantisationFalsifier(t *testing.T) {
	const plan = "study: quantisation\nticks: [1ms]\nthousandths: 500\nrtts: [1ms]\nsamples: 100\nseeds: 1\n"
	_, out := studytest.RunAltered(t, Quantisation, plan, func(c *quantCell) {
		for i := range c.Errors {
			c.Errors[i].Sum++
			c.Errors[i].Squares++
			c.Exact, c.Up, c.BSD = 1, c.Up+1, c.BSD-1
		}
		for i := range c.Timeouts {
			c.Timeouts[i].Least = c.Tick - 1
		}
	})
	studytest.Want(t, out, experiments.NotReproduced)
}
