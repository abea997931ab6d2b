package wheels

import (
	"testing"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
)

// TestAdvice makes the lists cheap at any number of timers, and a chip that hears of each timer.
func TestAdvice(t *testing.T) {
	studytest.Want(t, studytest.Run(t, Advice, ""), experiments.Reproduced, "few", "messages")
	_, out := studytest.RunAltered(t, Advice, "", func(c *adviceCell) {
		c.Records[sortedList], c.Messages = 0, 3*c.Expiries
	})
	studytest.Want(t, out, experiments.NotReproduced, "few", "messages")
}
