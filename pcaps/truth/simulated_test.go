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

// TestBestModel recognises a simulated sender's policy by its gaps.
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
			fit := w.Track(AtA).Timers()
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

// TestVantage distinguishes the simulator's three points of capture.
func TestVantage(t *testing.T) {
	w := simulate(t, Scenario{
		Policy: tcptimers.MustPolicy("linux"), SACK: true, Timestamps: true, RTT: 40 * time.Millisecond, Rate: 20_000_000, App: apps[0], Seed: 1,
		Span: time.Minute,
	})
	for point, want := range [3]track.Vantage{track.AtSender, track.InTheMiddle, track.AtReceiver} {
		if f := w.Track(point); f.Vantage != want {
			t.Errorf("point %d is taken for %v, want %v", point, f.Vantage, want)
		}
	}
}

// TestEarlyProbes has this project's senders answer in small flights and probe early for lost tails
// (tcp.AckPace). At the sender 99 % of the kinds are right, and the timers are recognised: of 320
// seeds those of 231 in 263 connections with the profile internet, 227 in 230 with datacenter.
func TestEarlyProbes(t *testing.T) {
	for profile, model := range map[string]string{"internet": "per-segment", "datacenter": "datacenter"} {
		sum, known, all := &Tally{}, 0, 0
		policy, err := tcptimers.NewProfile(profile)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(40) {
			rtt := []time.Duration{2, 10, 40, 100}[seed%4] * time.Millisecond
			if profile == "datacenter" {
				rtt = []time.Duration{100, 250, 500, 1000}[seed%4] * time.Microsecond
			}
			w := simulate(t, Scenario{
				Policy: policy, SACK: true, Timestamps: true, RTT: rtt, Rate: 100_000_000, Loss: sim.Losses{sim.Bernoulli{P: 0.05}},
				App: func() host.App {
					return &host.OnOff{Burst: 1000 + 1448*uint32(seed%7), Pause: 300 * time.Millisecond, Bursts: 80, Finish: true}
				}, Seed: 9000 + seed, Span: 5 * time.Minute,
			})
			sum.Add(w.Compare(AtA, func(format string, args ...any) {
				t.Logf("rtt %v, seed %d: "+format, append([]any{rtt, seed}, args...)...)
			}))
			if fit := w.Track(AtA).Timers(); fit.Gaps >= 4 {
				all++
				if fit.Best == model {
					known++
				} else {
					t.Logf("seed %d: %+v", seed, fit)
				}
			}
		}
		if n := sum.Episodes[track.TLP][track.TLP]; n < 20 || sum.Kinds() < 99 {
			t.Errorf("%s: %d probes, %.2f %% of the kinds, want 20 at least, and 99 %%", profile, n, sum.Kinds())
		}
		if 20*known < 17*all || all < 10 {
			t.Errorf("%s: the timers of %d of %d connections are recognised, want 85 %%", profile, known, all)
		}
	}
}
