package datacentre

import (
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
)

const ms = time.Millisecond

func TestAckDelay(t *testing.T) {
	for _, c := range []struct {
		text               string
		least, jiffy, want time.Duration
	}{
		{"40ms", 5 * ms, ms, 40 * ms},
		{noDelay, 5 * ms, ms, 0},
		{belowFloor, 5 * ms, ms, 4 * ms}, // Linux commit bbf80d7
		{belowFloor, 8 * ms, 4 * ms, 4 * ms},
		{belowFloor, ms, ms, ms}, // at least a jiffy
		{belowFloor, 200 * ms, 4 * ms, 40 * ms},
	} {
		if d, err := ackDelay(c.text, c.least, c.jiffy); err != nil || d != c.want {
			t.Errorf("ackDelay(%q, %v, %v) = %v, %v, want %v", c.text, c.least, c.jiffy, d, err, c.want)
		}
	}
}

// TestRows checks that each step knows what the step before took, under the same seed.
func TestRows(t *testing.T) {
	p := studytest.Own[Plan](t, Study)
	p.Works, p.RoundTrips, p.Seeds = p.Works[:1], p.RoundTrips[:1], 2
	var all []Cell
	p.each(func(_ *Work, c Cell) {
		c.Took = time.Duration(len(all) + 1)
		all = append(all, c)
	})
	steps := map[int]map[int]Row{}
	for _, r := range rows(p, all) {
		if steps[r.Step] == nil {
			steps[r.Step] = map[int]Row{}
		}
		steps[r.Step][r.Seed] = r
	}
	for n := 2; n <= len(p.Steps); n++ {
		for seed := 1; seed <= 2; seed++ {
			if r, before := steps[n][seed], steps[n-1][seed]; r.Before != before.Took {
				t.Errorf("step %d, seed %d: %v before, want %v", n, seed, r.Before, before.Took)
			}
		}
	}
	// 10,000 bytes are 7 segments of 90 bytes of headers and overhead.
	if least := p.least(&p.Works[0]); least != (10000+7*90)*8*time.Nanosecond {
		t.Errorf("a query takes at least %v", least)
	}
}

const small = `study: datacentre
seeds: 2
round_trips: [100us]
jiffies: [4ms, 1ms]
stamps: [1ms]
works:
  - {name: request-response, servers: 1, bytes: 10000, loss: 0.02, think: 10ms, queries: 40}
  - {name: idle, servers: 1, bytes: 10000, loss: 0, think: 100ms, queries: 20}
`

// TestClaims checks claims with the study's own cells, and that each fails with others.
func TestClaims(t *testing.T) {
	if testing.Short() {
		t.Skip("results are the same under the race detector, which takes ten times as long")
	}
	all, out := studytest.RunAltered[Cell](t, Study, small, nil)
	studytest.Check(t, out)
	studytest.Want(t, out, experiments.Reproduced, "ss", "spurious", "each-step", "harmless", "jiffies", "quickack",
		"answered")
	studytest.Want(t, out, experiments.NotApplicable, "stamps", "enough", "others", "hz")
	for _, c := range all {
		if c.Work == "idle" && c.Delay != "40ms" && c.Resent > 0 {
			t.Errorf("%+v: a retransmission, want none", c)
		}
	}
	_, out = studytest.RunAltered(t, Study, small, func(c *Cell) {
		c.RTO++
		c.Resent = 1
		c.Took += time.Duration(c.Seed) * time.Second / time.Duration(c.Floor/1000+c.Jiffy)
		if c.Delay == noDelay {
			c.Took /= 2
		}
		if c.Floor == 200*ms {
			c.Took = 1
		}
	})
	studytest.Want(t, out, experiments.NotReproduced, "ss", "spurious", "each-step", "harmless", "jiffies", "quickack",
		"answered")
}

func TestPlanIsChecked(t *testing.T) {
	studytest.WantRefused(t, Study, map[string]string{
		"delays: [soon]":      `delays: "soon", want a duration up to 500ms`,
		"usual_delay: 2s":     `delays: "2s", want a duration up to 500ms`,
		"jiffies: [0s]":       "jiffies",
		"timers: linux@never": "timers",
		"steps: [{name: a, set: x, floor: 5ms, delay: \"off\", jiffy: 1ms, stamp: 1ms}, {name: b, set: y, floor: 5ms, " +
			"delay: \"off\", jiffy: 1ms, stamp: 1ms}]": `steps: "b" is the same setting as an earlier step`,
	})
}
