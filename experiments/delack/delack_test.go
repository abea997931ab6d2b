package delack

import (
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
)

const millisecond = time.Millisecond

func small() *Plan {
	return &Plan{
		Heartbeat: 200 * millisecond, Delays: []time.Duration{200 * millisecond, 40 * millisecond},
		Bursts: []int{1, 2}, Arrivals: 200, ArrivalRTT: 10 * millisecond,
		WaitRTTs: []time.Duration{millisecond, 201 * millisecond}, WaitSegments: 20,
		GridRTT: 10 * millisecond, Floors: []time.Duration{20 * millisecond, 250 * millisecond}, GridDelays: []time.Duration{4 * millisecond, 40 * millisecond},
		GridTails: []int{1, 3}, Tails: 3, Evens: 30, Tick: millisecond, Policies: []string{"per-segment", "linux"}, Seeds: 3,
		OddBursts: []int{1, 2, 3, 6}, OddFloor: time.Second, OddClocks: []time.Duration{10 * millisecond, 500 * millisecond},
	}
}

func TestDelayedACKs(t *testing.T) {
	p := small()
	all := studytest.Cells(t, cells(p))
	out := studytest.Judge(t, judge, p, all)
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
				t.Errorf("default with a delay of %v: %d of %d tails spurious, want %d", c.Delay, c.Grid[0].Spurious, c.Grid[0].Tails, want)
			}
		}
	}
}

// TestOneSpuriousTimeout follows a tail of three. The ACK of the pair restarts one timer of 50 ms
// at 10 ms, so it expires at 60 ms; the third segment's timer expires at 50 ms. The delayed ACK
// arrives at 55 ms.
func TestOneSpuriousTimeout(t *testing.T) {
	p := small()
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

// TestPartsOfThePlan checks that parts missing from a plan have no claims.
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
		if len(out.Claims) != claims {
			t.Errorf("%s: %d claims, want %d", text, len(out.Claims), claims)
		}
	}
}

// TestRemedyUnderATick checks that a delay a tick less than the floor on the timeout is a remedy
// where the round trip is shorter than the tick.
func TestRemedyUnderATick(t *testing.T) {
	for rtt, want := range map[string]experiments.Verdict{"500us": experiments.Reproduced, "5ms": experiments.Differs} {
		out := studytest.Run(t, Study, "study: delack\nseeds: 1\narrivals: 10\nwait_rtts: [1ms]\nfloors: [50ms]\ngrid_rtt: "+rtt+"\n")
		studytest.Want(t, out, want, "remedy-timeout")
	}
}

// TestFalsifier swaps the receivers.
func TestFalsifier(t *testing.T) {
	p := small()
	all := studytest.Cells(t, cells(p))
	for i := range all {
		c := &all[i]
		switch {
		case c.Kind == kindOdd:
			c.Policy = map[string]string{ruleNone: ruleFloor, ruleFloor: ruleNone, ruleLonger: clockRule(10 * millisecond), clockRule(10 * millisecond): ruleLonger}[c.Policy]
		case c.Kind == kindGrid && c.Delay > 0:
			for j := range c.Grid {
				c.Grid[j].Spurious = c.Grid[j].Tails - c.Grid[j].Spurious
			}
		case c.Delay == 0:
			c.Delay = 40 * millisecond
		case c.Delay == 40*millisecond:
			c.Delay = 0
		}
	}
	out := studytest.Judge(t, judge, p, all)
	studytest.Want(t, out, experiments.NotReproduced, "even", "mean", "p99", "fixed", "lock", "diagonal", "odd-bursts", "odd-rule", "odd-cost", "odd-clocks")
}
