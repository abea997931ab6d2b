package wheels

import (
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
	"tcpwheel/experiments/internal/testbed"
)

const smallRates = "study: rates\nround_trips: [20ms]\nwatched: 100ms\nsettle: 1s\nbusy: [25000]\n" +
	"timers: [\"per-segment control=newreno delack=40ms -tlp -rack -frto\", \"rfc6298 control=newreno delack=40ms -tlp -rack\"]\n"

func TestRates(t *testing.T) {
	studytest.Want(t, studytest.Run(t, Rates, smallRates), experiments.Reproduced)
}

func TestASegmentHasOneTimerForOneRoundTrip(t *testing.T) {
	p := &ratesPlan{Rate: 1e9, Overhead: 38, Window: 1, Watched: 50 * time.Millisecond, Settle: 300 * time.Millisecond, Connections: 1}
	c, err := runRates(p, testbed.MustTimers("per-segment control=newreno delack=40ms -tlp -rack -frto"), time.Millisecond, 0)
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
	p := &ratesPlan{
		Rate: 1e8, Overhead: 38, Window: 1, Watched: 20 * time.Millisecond, Settle: 200 * time.Millisecond, Connections: 1, RoundTrips: []time.Duration{time.Millisecond},
		Timers: []testbed.Timers{testbed.MustTimers("per-segment control=newreno delack=40ms -tlp -rack -frto")},
	}
	c, err := runRates(p, p.Timers[0], time.Millisecond, 0)
	if err != nil {
		t.Fatal(err)
	}
	c.Sides[0].Kinds[0].Started--
	out := studytest.Judge(t, judgeRates, p, []ratesCell{c})
	studytest.Want(t, out, experiments.NotReproduced, "conservation", "per-segment")
}
