package incast

import (
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
)

// TestRandomisedLockstep shows why a random part may help: with a floor far above the round trip,
// all servers that lost retransmit at one instant, and in each round only as many arrive as the
// port holds.
func TestRandomisedLockstep(t *testing.T) {
	p := studytest.Own[randomisedPlan](t, Randomised)
	p.Queries = 2
	ask := func(jitter bool) randomisedCell {
		c, err := randomisedRun(p, randomisedCell{Floor: 10 * time.Millisecond, Jitter: jitter, Servers: 400, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	without, with := ask(false), ask(true)
	// 400 servers' 1200 packets take 15 ms; three rounds of backoff are 10 + 20 + 40 ms.
	if without.Took[1] < 70*time.Millisecond || without.Ruled != 1 || with.Took[1] > without.Took[1]/2 {
		t.Errorf("without: %+v, with a random part: %+v, want three rounds of timeouts without it, and half of the "+
			"time with it", without, with)
	}
}

func randomisedVerdicts(t *testing.T, text string) (vasudevan, chen experiments.Verdict) {
	t.Helper()
	o := studytest.Run(t, Randomised, "study: randomised\n"+text)
	return o.Claims[0].Verdict, o.Claims[1].Verdict
}

// TestRandomisedFalsifiers checks where each position must be wrong: Vasudevan's if the port holds
// all packets, Chen's in lockstep.
func TestRandomisedFalsifiers(t *testing.T) {
	const small = "seeds: 1\nfew_seeds: 1\nqueries: 2\nunsettled: 1\nrates: [1000000000]\nround_trips: " +
		"[100us]\nfloors: [10ms]\nservers: [1001]\nservices: []\n"
	if v, c := randomisedVerdicts(t, small+"bytes: 100\nbuffer: 10000\n"); v != experiments.NotReproduced ||
		c != experiments.Reproduced {
		t.Errorf("a port that holds all: Vasudevan %q, Chen %q", v, c)
	}
	if v, c := randomisedVerdicts(t, small+"bytes: 1448\n"); v != experiments.Reproduced ||
		c != experiments.NotReproduced {
		t.Errorf("lockstep: Vasudevan %q, Chen %q", v, c)
	}
}

// TestRandomisedFew runs a plan without the servers that a position speaks about.
func TestRandomisedFew(t *testing.T) {
	out := studytest.Run(t, Randomised, "study: randomised\nseeds: 1\nfew_seeds: 1\nfloors: [10ms]\nservers: "+
		"[16]\nservices: []\n")
	studytest.Want(t, out, experiments.NotApplicable, "vasudevan", "spread")
}

func TestRandomisedPlanIsChecked(t *testing.T) {
	studytest.WantRefused(t, Randomised, map[string]string{
		"rates: [1000000]":    "round_trips: 2, want one for each of 1 rates",
		"servers: [2000, 16]": "want more than the value before it",
		"unsettled: 6":        "unsettled: 6, want less than queries, 6",
	})
}
