package wheels

import (
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
	"tcpwheel/experiments/internal/testbed"
)

const smallRates = "study: rates\nround_trips: [20ms]\nwatched: 100ms\nsettle: 1s\nbusy: [25000]\n" +
	"timers: [\"per-segment control=newreno delack=40ms -tlp -rack -frto\", " +
	"\"rfc6298 control=newreno delack=40ms -tlp -rack\"]\n"

func TestRates(t *testing.T) {
	studytest.Want(t, studytest.Run(t, Rates, smallRates), experiments.Reproduced)
}

func TestASegmentHasOneTimerForOneRoundTrip(t *testing.T) {
	p := &ratesPlan{
		Rate: 1e9, Overhead: 38, Window: 1, Connections: 1,
		Watched: 50 * time.Millisecond, Settle: 300 * time.Millisecond,
	}
	timers := testbed.MustTimers("per-segment control=newreno delack=40ms -tlp -rack -frto")
	c, err := runRates(p, timers, time.Millisecond, 0)
	if err != nil {
		t.Fatal(err)
	}
	k := c.Sides[0].kind("rexmit")
	if k.Started != c.Sent || k.Expired != 0 || k.Lived < time.Millisecond || k.Lived > 1200*time.Microsecond {
		t.Errorf("%d segments in a round trip of 1 ms: %+v, want a timer each that runs for it", c.Sent, k)
	}
}

// TestRatesFalsifier checks that the claims notice a lost timer and a segment without one.
func TestRatesFalsifier(t *testing.T) {
	const plan = "study: rates\nrate: 100000000\nwatched: 20ms\nsettle: 200ms\nround_trips: [1ms]\nbusy: [1000]\n" +
		"timers: [\"per-segment control=newreno delack=40ms -tlp -rack -frto\"]\n"
	_, out := studytest.RunAltered(t, Rates, plan, func(c *ratesCell) { c.Sides[0].Kinds[0].Started-- })
	studytest.Want(t, out, experiments.NotReproduced, "conservation", "per-segment")
}
