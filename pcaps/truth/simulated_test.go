package truth

import (
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/pcaps/track"
	"tcpwheel/tcptimers"
)

func simulate(t *testing.T, s Scenario) *Simulated {
	t.Helper()
	w, err := Simulate(s)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestBestModel finds the policy that a simulated sender has, from its gaps, at each point of capture.
func TestBestModel(t *testing.T) {
	for _, policy := range tcptimers.PolicyNames() {
		right, all := 0, 0
		for seed := range uint64(24) {
			w := simulate(t, Scenario{
				Policy: tcptimers.MustPolicy(policy), SACK: true, Timestamps: true, RTT: 40 * time.Millisecond, Rate: 20_000_000,
				Loss: sim.Losses{sim.Bernoulli{P: 0.1}},
				App: func() host.App {
					return &host.OnOff{Burst: 3400, Pause: 650 * time.Millisecond, Bursts: 60, Finish: true}
				}, Seed: 1000 + seed, Span: 5 * time.Minute,
			})
			fit := w.Track(AtA).Timers
			if fit.Gaps < 4 {
				continue
			}
			all++
			if fit.Best == policy {
				right++
			} else {
				t.Logf("%s, seed %d: %+v", policy, seed, fit)
			}
		}
		t.Logf("%s: %d of %d", policy, right, all)
		if all < 12 || 10*right < 9*all {
			t.Errorf("%s: %d of %d connections are recognised, want nine tenths", policy, right, all)
		}
	}
}

// TestVantage tells the three points of capture of the simulator from each other.
func TestVantage(t *testing.T) {
	w := simulate(t, Scenario{
		Policy: tcptimers.MustPolicy("linux"), SACK: true, Timestamps: true, RTT: 40 * time.Millisecond, Rate: 20_000_000, App: apps[0], Seed: 1,
		Span: time.Minute,
	})
	for point, want := range [3]track.Vantage{track.AtSender, track.InTheMiddle, track.AtReceiver} {
		if f := w.Track(point); f.Near != want {
			t.Errorf("point %d is taken for %v, want %v: %v", point, f.Near, want, f.Why)
		}
	}
}
