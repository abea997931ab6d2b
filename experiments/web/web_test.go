package web

import (
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/wheel"
)

// TestTail measures the cost of a lost tail: the last three of ten segments are lost, and no ACK
// reveals it. Without probes the timer repairs them; with probes an ACK does.
func TestTail(t *testing.T) {
	p := studytest.Own[Plan](t, Study)
	a := answer{seed: 1, bytes: 10 * 1448, trip: 40 * time.Millisecond, connections: 1}
	// The handshake and the request take a little more than 60 ms, and each segment 1.2 ms.
	bad := func(at wheel.Time) bool {
		return at > wheel.Time(69*time.Millisecond) && at < wheel.Time(80*time.Millisecond)
	}
	for _, c := range []struct {
		timers           string
		least, most      time.Duration
		timeouts, probes uint64
	}{
		{"linux -tlp", 300 * time.Millisecond, 400 * time.Millisecond, 1, 0},
		{"linux", 150 * time.Millisecond, 260 * time.Millisecond, 0, 1},
		{"rfc6298", 1050 * time.Millisecond, 1200 * time.Millisecond, 1, 0},
	} {
		took, lost, counters, err := p.send(testbed.MustTimers(c.timers), a, bad)
		if err != nil {
			t.Fatal(err)
		}
		if lost != 3 || took < c.least || took > c.most || counters.TCPTimeouts != c.timeouts ||
			counters.TCPLossProbes != c.probes {
			t.Errorf("%s: %v, %d lost, %d timeouts, %d probes, want %v to %v, 3, %d, %d",
				c.timers, took, lost, counters.TCPTimeouts, counters.TCPLossProbes, c.least, c.most, c.timeouts,
				c.probes)
		}
	}
}

// TestAnswersLeaveAtOnce checks that an answer within the initial window of ten segments takes a
// round trip and its time on the link, with a last segment that is not full.
func TestAnswersLeaveAtOnce(t *testing.T) {
	p := studytest.Own[Plan](t, Study)
	a := answer{seed: 1, bytes: 9*1448 + 300, trip: 40 * time.Millisecond, connections: 1}
	took, _, _, err := p.send(testbed.MustTimers("linux"), a, func(wheel.Time) bool { return false })
	if err != nil || took < a.trip || took > a.trip+12*time.Millisecond {
		t.Errorf("an answer of ten segments took %v, %v, want a round trip of %v and at most ten times 1.2 ms", took,
			err, a.trip)
	}
}

// TestWeather checks the length and the frequency of bursts.
func TestWeather(t *testing.T) {
	const slots = 2_000_000
	w := answer{seed: 7, loss: 0.02}.weather(10 * time.Millisecond)
	bad, bursts := 0, 0
	was := false
	for i := range slots {
		is := w.lost(wheel.Time(i) * wheel.Time(time.Millisecond))
		if is {
			bad++
			if !was {
				bursts++
			}
		}
		was = is
	}
	if share, length := float64(bad)/slots, float64(bad)/float64(bursts); share < 0.018 || share > 0.022 ||
		length < 9.5 || length > 10.5 {
		t.Errorf("bad for a share of %v, in bursts of %v ms, want 0.02 and 10", share, length)
	}
}

// TestSubjectsMeetTheSameWeather sends answers with the engine alone, as a subject, and in a gVisor
// stack: their times agree to 10 ns. gVisor's own TCP meets the same losses until it sends other
// segments.
func TestSubjectsMeetTheSameWeather(t *testing.T) {
	p := studytest.Own[Plan](t, Study)
	const burst = 40 * time.Millisecond
	lossy := 0
	for i := range 60 {
		a := p.draw(asDrawn, 1, i)
		tm := testbed.MustTimers("linux")
		took, lost, counters, err := p.send(tm, a, a.weather(burst).lost)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range testbed.Kinds() {
			r, err := p.sendStacks(t.Context(), kind, tm, a, a.weather(burst).lost)
			if err != nil {
				t.Fatal(err)
			}
			if kind == testbed.GVisor {
				if (r.Lost > 0) != (lost > 0) {
					t.Errorf("answer %d: gVisor lost %d segments, the engine %d", i, r.Lost, lost)
				}
				continue
			}
			if d := (r.Times[0] - took).Abs(); d > 10 || r.Lost != lost || r.Timeouts != counters.TCPTimeouts ||
				r.Probes != counters.TCPLossProbes {
				t.Errorf("answer %d: %s took %v, %d lost, want %v, %d", i, kind, r.Times[0], r.Lost, took, lost)
			}
		}
		if lost > 0 {
			lossy++
		}
	}
	if lossy < 2 {
		t.Errorf("%d answers with losses, want some", lossy)
	}
}

func TestBetween(t *testing.T) {
	shares, values := []float64{0, 0.5, 1}, []int{10, 20, 100}
	for u, want := range map[float64]float64{0: 10, 0.25: 15, 0.5: 20, 0.75: 60} {
		if got := between(shares, values, u); got != want {
			t.Errorf("between at %v: %v, want %v", u, got, want)
		}
	}
}

// TestFalsifier checks that short losses leave little to timeouts, and that removing probes gains
// nothing.
func TestFalsifier(t *testing.T) {
	out := studytest.Run(t, Study, "study: web\nbursts: [1ms]\nseeds: 2\nflows: 150\n"+
		"without_probes: linux\nwith_probes: linux -tlp\ntimers: []\ngvisor_bursts: []\n")
	studytest.Want(t, out, experiments.NotReproduced, "timeout-share", "probes-timeouts", "probes-mean")
}

func TestPlanIsChecked(t *testing.T) {
	studytest.WantRefused(t, Study, map[string]string{
		"sizes: [1, 2]":           "shares: ",
		"loss_to: 0.005":          "loss_to: 0.005, want at least loss_from, 0.01",
		"round_trips: [1ms, 2ms]": "round_trip_shares: ",
	})
}
