package frontier

import (
	"math/rand/v2"
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
	"tcpwheel/wheel"
)

// TestFollow runs an estimator over rounds of 100 ms. One is lost twice, and one takes 700 ms.
func TestFollow(t *testing.T) {
	const ms = time.Millisecond
	rounds := make([]round, 40)
	at := wheel.Time(7 * ms)
	for i := range rounds {
		rounds[i] = round{sent: at, rtts: []time.Duration{100 * ms}}
		if i == 20 {
			rounds[i].lost = 2
		}
		if i == 30 {
			rounds[i].rtts[0] = 700 * ms
		}
		at = at.Add(rounds[i].rtts[0])
	}
	tally := func(c config) (t Tally) {
		timer := c.timer()
		t.follow(&timer, c.sampling, rounds)
		return t
	}
	// A floor of 1 s: 1 s and, backed off, 2 s. No timeout is bad.
	if got, want := tally(standard(time.Second)), (Tally{2, 0, 3, 30}); got != want {
		t.Errorf("a floor of 1s: %v, want %v", got, want)
	}
	// Without a floor, RTTVAR is 50 ms · 0.75^19 after 20 samples, so the timeout is just above the
	// round trip. The next one is twice that.
	if got := tally(standard(0)); got[good] != 2 || got[bad] != 1 || got[waited] < 0.3 || got[waited] > 0.31 {
		t.Errorf("no floor: %v, want 2 good, 1 bad, 0.3 s", got)
	}
	// A tick of 500 ms is a floor of G: RTO = SRTT + max(G, ·), and the timer expires at a tick.
	if got := tally(both(0, 500*ms)); got[good] != 2 || got[waited] < 1.5 || got[waited] > 3 {
		t.Errorf("ticks of 500 ms: %v, want 2 good, 1.5 to 3 s", got)
	}
}

// TestRounds checks that each process loses the plan's share: of first transmissions, or of all
// transmissions where losses occur in bursts.
func TestRounds(t *testing.T) {
	p := &Plan{Rounds: 2000, RTT: 100 * time.Millisecond, Spread: 0.8, LeastRTT: 5 * time.Millisecond,
		MostRTT: 2 * time.Second, Flight: 4, Loss: 0.05, Again: 0.1}
	for i, process := range []string{"lognormal", "spikes", "shifts", "bloat", "bursts", "delack"} {
		w := path{plan: p, process: process, median: p.RTT, rng: rand.New(rand.NewPCG(1, uint64(i)))}
		lost, all := 0, 0
		for range 20 {
			for _, r := range w.connection() {
				all++
				if process == "bursts" {
					all, lost = all+r.lost, lost+r.lost
				} else if r.lost > 0 {
					lost++
				}
				for _, rtt := range r.rtts {
					if rtt <= 0 {
						t.Fatalf("%s: a round trip of %v", process, rtt)
					}
				}
			}
		}
		if share := float64(lost) / float64(all); share < 0.04 || share > 0.06 {
			t.Errorf("%s: share of losses %v, want 0.05", process, share)
		}
	}
}

const small = "study: frontier\nseeds: 3\nconnections: 40\nrounds: 100\nprocesses: [lognormal, spikes]\n" +
	"other_rtts: [20ms]\nother_seeds: 1\n"

func TestClaims(t *testing.T) {
	out := studytest.Run(t, Study, small)
	studytest.Want(t, out, experiments.Reproduced, "order-next")
	// A coarse tick is a floor, so the published order does not hold without one.
	studytest.Want(t, out, experiments.Differs, "order", "order-anywhere", "fine-ticks")
}

// TestFalsifier checks that the gains matter more than floors that are almost 0.
func TestFalsifier(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine judges, as in TestClaims: runs without -short")
	}
	out := studytest.Run(t, Study, small+"floors: [0s, 1ms, 2ms]\n")
	studytest.Want(t, out, experiments.NotReproduced, "order", "order-next", "fine-ticks")
}
