package delack

import (
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
)

const millisecond = time.Millisecond

const small = "study: delack\narrivals: 200\nbursts: [1, 2]\nwait_rtts: [1ms, 201ms]\nwait_segments: 20\n" +
	"floors: [20ms, 250ms]\ngrid_delays: [4ms, 40ms]\ntails: 3\npolicies: [per-segment, linux]\nseeds: 3\n" +
	"odd_bursts: [1, 2, 3, 6]\nodd_clocks: [10ms, 500ms]\n"

func TestDelayedACKs(t *testing.T) {
	all, out := studytest.RunAltered[Cell](t, Study, small, nil)
	studytest.Check(t, out)
	studytest.WantOthers(t, out, experiments.Reproduced, "remedy-timeout")
	// The round trip is longer than the tick.
	studytest.Want(t, out, experiments.Differs, "remedy-timeout")
	// The default's floor of 50 ms on the variation suits delays of 40 ms: no retransmission is
	// spurious there, and all are with 200 ms.
	for _, c := range all {
		if c.Kind == kindPolicy && c.Policy == "per-segment" && c.Delay > 0 {
			want := 0
			if c.Delay == 200*millisecond {
				want = c.Grid[0].Tails
			}
			if c.Grid[0].Spurious != want {
				t.Errorf("default with a delay of %v: %d of %d tails spurious, want %d",
					c.Delay, c.Grid[0].Spurious, c.Grid[0].Tails, want)
			}
		}
	}
}

// TestOneSpuriousTimeout follows a tail of three. The ACK of the pair restarts one timer of 50 ms
// at 10 ms, so it expires at 60 ms; the third segment's timer expires at 50 ms. The delayed ACK
// arrives at 55 ms.
func TestOneSpuriousTimeout(t *testing.T) {
	p := studytest.Own[Plan](t, Study)
	c := Cell{Kind: kindGrid, RTT: 10 * millisecond, Burst: 3, Seed: 1}
	for _, test := range []struct {
		each     bool
		spurious int
	}{{false, 0}, {true, p.Tails}} {
		pt := Point{Each: test.each}
		if err := tails(p, &c, floored(50*millisecond, true, test.each), 45*millisecond, &pt); err != nil {
			t.Fatal(err)
		}
		if pt.Spurious != test.spurious || pt.Against != 0 {
			t.Errorf("a timer per segment: %v: %+v, want %d spurious", test.each, pt, test.spurious)
		}
	}
}

// TestPartsOfThePlan checks that the claims of parts missing from a plan do not apply.
func TestPartsOfThePlan(t *testing.T) {
	for text, claims := range map[string]int{
		"bursts: [2]":              10, // none of the heartbeat and of timers
		"bursts: [1]":              13, // none of pairs
		"wait_rtts: [201ms, 1ms]":  14,
		"grid_tails: [3]":          13, // none of the diagonal
		"delays: [5ms]":            14,
		"heartbeat: 5ms":           14,
		"grid_delays: [4ms, 40ms]": 14,
		"odd_clocks: []":           13,
		"odd_bursts: []":           10,
	} {
		out := studytest.Run(t, Study, "study: delack\nseeds: 1\narrivals: 20\nfloors: [5ms, 250ms]\n"+text+"\n")
		apply := 0
		for _, c := range out.Claims {
			if c.Verdict != experiments.NotApplicable {
				apply++
			}
		}
		if apply != claims || len(out.Claims) != 14 {
			t.Errorf("%s: %d of %d claims apply, want %d of 14", text, apply, len(out.Claims), claims)
		}
	}
}

// TestRemedyUnderATick checks that a delay a tick less than the floor on the timeout is a remedy
// where the round trip is shorter than the tick.
func TestRemedyUnderATick(t *testing.T) {
	for rtt, want := range map[string]experiments.Verdict{"500us": experiments.Reproduced, "5ms": experiments.Differs} {
		const plan = "study: delack\nseeds: 1\narrivals: 10\nwait_rtts: [1ms]\nfloors: [50ms]\n"
		out := studytest.Run(t, Study, plan+"grid_rtt: "+rtt+"\n")
		studytest.Want(t, out, want, "remedy-timeout")
	}
}

// TestFalsifier swaps the receivers.
func TestFalsifier(t *testing.T) {
	swapped := map[string]string{
		ruleNone: ruleFloor, ruleFloor: ruleNone,
		ruleLonger: clockRule(10 * millisecond), clockRule(10 * millisecond): ruleLonger,
		clockRule(500 * millisecond): clockRule(500 * millisecond),
	}
	_, out := studytest.RunAltered(t, Study, small, func(c *Cell) {
		switch {
		case c.Kind == kindOdd:
			c.Policy = swapped[c.Policy]
		case c.Kind == kindGrid && c.Delay > 0:
			for j := range c.Grid {
				c.Grid[j].Spurious = c.Grid[j].Tails - c.Grid[j].Spurious
			}
		case c.Delay == 0:
			c.Delay = 40 * millisecond
		case c.Delay == 40*millisecond:
			c.Delay = 0
		}
	})
	studytest.Want(t, out, experiments.NotReproduced, "even", "mean", "p99", "fixed", "lock", "diagonal",
		"odd-bursts", "odd-rule", "odd-cost", "odd-clocks")
}
