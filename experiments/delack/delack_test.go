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
	}
}

func TestDelayedACKs(t *testing.T) {
	p := small()
	all := studytest.Cells(t, cells(p))
	out := studytest.Judge(t, judge, p, all)
	studytest.Check(t, out)
	studytest.WantOthers(t, out, experiments.Reproduced, "remedy-timeout")
	studytest.Want(t, out, experiments.Differs, "remedy-timeout") // the round trip is longer than the tick
	// The floor of 50 ms on the variation is for delays of 40 ms: the default sends nothing again in vain there, and all towards 200 ms.
	for _, c := range all {
		if c.Kind == kindPolicy && c.Policy == "per-segment" && c.Delay > 0 {
			want := 0
			if c.Delay == 200*millisecond {
				want = c.Grid[0].Tails
			}
			if c.Grid[0].Spurious != want {
				t.Errorf("default towards a delay of %v: %d of %d tails in vain, want %d", c.Delay, c.Grid[0].Spurious, c.Grid[0].Tails, want)
			}
		}
	}
}

// TestOneVainTimeout tells the story of a tail of three: the ACK of the pair restarts one timer of 50 ms at 10 ms, so that it is due at 60
// ms; that of the third segment is due at 50 ms. Its ACK, put off by 45 ms, comes at 55 ms.
func TestOneVainTimeout(t *testing.T) {
	p := small()
	c := Cell{Kind: kindGrid, RTT: 10 * millisecond, Burst: 3, Seed: 1}
	for _, test := range []struct {
		each bool
		vain int
	}{{false, 0}, {true, p.Tails}} {
		pt := Point{Each: test.each}
		if err := tails(p, &c, floored(50*millisecond, true, test.each), 45*millisecond, &pt); err != nil {
			t.Fatal(err)
		}
		if pt.Spurious != test.vain || pt.Against != 0 {
			t.Errorf("a timer per segment: %v: %+v, want %d in vain", test.each, pt, test.vain)
		}
	}
}

// TestPartsOfThePlan: what a plan leaves out has no claim, and what it has is judged.
func TestPartsOfThePlan(t *testing.T) {
	for text, claims := range map[string]int{
		"bursts: [2]":              6, // none of the heartbeat and of timers
		"bursts: [1]":              9, // none of pairs
		"wait_rtts: [201ms, 1ms]":  10,
		"grid_tails: [3]":          9, // none of the diagonal
		"delays: [5ms]":            10,
		"heartbeat: 5ms":           10,
		"grid_delays: [4ms, 40ms]": 10,
	} {
		out := studytest.Run(t, Study, "study: delack\nseeds: 1\narrivals: 20\nfloors: [5ms, 250ms]\n"+text+"\n")
		if len(out.Claims) != claims {
			t.Errorf("%s: %d claims, want %d", text, len(out.Claims), claims)
		}
	}
}

// TestRemedyUnderATick: a delay a tick less than the floor on the timeout is a remedy where the round trip is shorter than the tick, as the
// study says of those that it has no room for.
func TestRemedyUnderATick(t *testing.T) {
	for rtt, want := range map[string]experiments.Verdict{"500us": experiments.Reproduced, "5ms": experiments.Differs} {
		out := studytest.Run(t, Study, "study: delack\nseeds: 1\narrivals: 10\nwait_rtts: [1ms]\nfloors: [50ms]\ngrid_rtt: "+rtt+"\n")
		studytest.Want(t, out, want, "remedy-timeout")
	}
}

// TestFalsifier has the receivers change places.
func TestFalsifier(t *testing.T) {
	p := small()
	all := studytest.Cells(t, cells(p))
	for i := range all {
		c := &all[i]
		switch {
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
	studytest.Want(t, out, experiments.NotReproduced, "even", "mean", "p99", "fixed", "lock", "diagonal")
}
