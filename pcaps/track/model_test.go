package track

import (
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/tcptimers"
)

// TestBestModel finds the policy that a simulated sender has, from its gaps, at each point of capture.
func TestBestModel(t *testing.T) {
	for _, policy := range tcptimers.PolicyNames() {
		right, all := 0, 0
		for seed := range uint64(12) {
			w := run(t, scenario{
				policy: policy, sack: true, stamps: true, rtt: 40 * time.Millisecond, rate: 20_000_000, loss: sim.Losses{sim.Bernoulli{P: 0.1}},
				app: func() host.App {
					return &host.OnOff{Burst: 3400, Pause: 650 * time.Millisecond, Bursts: 60, Finish: true}
				}, seed: 1000 + seed, span: 5 * time.Minute,
			})
			fit := w.follow(t, atSender).Timers
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
		if all < 6 || 10*right < 9*all {
			t.Errorf("%s: %d of %d connections are recognised, want nine tenths", policy, right, all)
		}
	}
}

// TestVantage tells the three points of capture of the simulator from each other.
func TestVantage(t *testing.T) {
	w := run(t, scenario{
		policy: "linux", sack: true, stamps: true, rtt: 40 * time.Millisecond, rate: 20_000_000, app: apps[0].make, seed: 1, span: time.Minute,
	})
	for point, want := range [3]Vantage{AtSender, InTheMiddle, AtReceiver} {
		if f := w.follow(t, point); f.Near != want {
			t.Errorf("point %d is taken for %v, want %v: %v", point, f.Near, want, f.Why)
		}
	}
}

// TestDelayedACKs infers the timer of a receiver that delays its ACKs.
func TestDelayedACKs(t *testing.T) {
	for name, test := range map[string]struct {
		delay func(i int) float64
		want  string
	}{
		"fixed":     {func(i int) float64 { return 40 + float64(i%3)/10 }, "fixed"},
		"heartbeat": {func(i int) float64 { return float64(10 + i*37%190) }, "heartbeat"},
	} {
		l := newLab(t, Config{})
		l.open(0)
		l.send(60, true, 1, 100, 1)
		l.send(110, false, 1, 0, 101)
		for i := range 40 {
			at := 1000 * float64(i+1)
			l.send(at, true, 101+100*i, 100, 1)
			l.send(at+50+test.delay(i), false, 1, 0, 201+100*i)
		}
		d := l.wantClean(1)[0].Flows[0].Delayed
		if d.Timer != test.want || d.Count < 30 {
			t.Errorf("%s: %+v, want %s", name, d, test.want)
		}
		if name == "fixed" && (d.Median < 39*time.Millisecond || d.Median > 41*time.Millisecond) {
			t.Errorf("median %v, want 40ms", d.Median)
		}
	}
}
