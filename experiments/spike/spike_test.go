package spike

import (
	"errors"
	"slices"
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
	"tcpwheel/experiments/internal/testbed"
)

const millisecond = time.Millisecond

func small() *Plan {
	return &Plan{
		RTT: 100 * millisecond, Rate: 10_000_000, Window: 40, Lasts: 2 * time.Second,
		Peaks: []time.Duration{150 * millisecond, 300 * millisecond, time.Second},
		Tried: []time.Duration{300 * millisecond, time.Second}, Warm: 3 * time.Second, Watch: 6 * time.Second,
		Ticks:  []time.Duration{millisecond, 100 * millisecond, 500 * millisecond},
		Floors: []time.Duration{200 * millisecond}, Policies: []string{"per-segment"},
		Losses: 3, Exchanges: 30, Seeds: 2, GVisorSeeds: 1,
	}
}

func TestSpikes(t *testing.T) {
	p := small()
	all := studytest.Cells(t, cells(p))
	out := studytest.Judge(t, outcome, p, all)
	studytest.Check(t, out)
	studytest.Want(t, out, experiments.Reproduced, "hidden", "fewer", "price", "trade-off", "harm", "undo-eifel")
	// Neither can handle a spike of several timeouts.
	studytest.Want(t, out, experiments.Differs, "undo-frto", "undo-dsack")

	// The falsifier: coarse and fine timers change places.
	for i := range all {
		switch all[i].Timers {
		case "G=1ms":
			all[i].Timers = "G=500ms"
		case "G=500ms":
			all[i].Timers = "G=1ms"
		}
	}
	out = studytest.Judge(t, outcome, p, all)
	studytest.Check(t, out)
	studytest.Want(t, out, experiments.NotReproduced, "hidden", "fewer", "price")
}

// TestOneSpike follows a round trip that rises from 100 to 300 ms. The timer with a granularity of
// 100 ms expires once, and the whole window is retransmitted. With F-RTO or timestamps only one
// segment is, and the window is restored.
func TestOneSpike(t *testing.T) {
	p := small()
	for _, tm := range p.all() {
		if tm.name != "G=100ms" {
			continue
		}
		for _, response := range responses {
			s := Spike{Peak: 300 * millisecond, Response: response}
			if err := spike(p, &tm, 1, &s); err != nil {
				t.Fatal(err)
			}
			bad := s.Timeouts < 1
			switch response {
			case none:
				bad = bad || s.Retransmissions < 20 || back(&s)
			case frto, eifel:
				bad = bad || s.Retransmissions != 1 || !back(&s)
			}
			if bad {
				t.Errorf("%s: %+v", response, s)
			}
		}
	}
}

// TestGVisor checks gVisor's timer, which has a floor of 200 ms and no granularity. A rise to 200
// ms is below its timeout, and a rise to a second above it: without SACK and timestamps more than
// the window is retransmitted, and with them less. A lone segment waits for the probe, 2·SRTT + 200
// ms.
func TestGVisor(t *testing.T) {
	p := small()
	for _, test := range []struct {
		peak        time.Duration
		response    string
		least, most int
	}{{200 * millisecond, none, 0, 0}, {time.Second, none, 60, 200}, {time.Second, every, 1, 50}} {
		s := Spike{Peak: test.peak, Response: test.response}
		err := stackSpike(p, newReno, 1, &s)
		if err != nil || s.Retransmissions < test.least || s.Retransmissions > test.most || s.Bytes < 2_000_000 {
			t.Errorf("%+v, %v, want %d to %d retransmissions", s, err, test.least, test.most)
		}
	}
	all, err := waits(p, &timers{family: ofStack, stack: newReno}, 1)
	if err != nil || len(all) != p.Losses || slices.Min(all) < 400_000 || slices.Max(all) > 410_000 {
		t.Errorf("lone segments wait %v µs, %v, want 2·SRTT + 200 ms", all, err)
	}
}

func TestPlanIsChecked(t *testing.T) {
	studytest.WantRefused(t, Study, map[string]string{
		"tried: [200ms]":         "tried: [200ms], want the greatest of the peaks, 1s, too",
		"tried: [250ms, 1s]":     "tried: 250ms is none of the peaks",
		"peaks: [50ms, 1s]":      "peaks: 50ms, want more than the rtt of 100ms",
		"lasts: 5s\nwatch: 6s":   "watch: 6s, want at least 7s",
		"peaks: [1s]\ntried: []": "want at least one value",
	})
}

// TestSubjects runs the engine in a gVisor stack: it rides a spike out as it does alone. A segment
// or two of the window may leave at another moment.
func TestSubjects(t *testing.T) {
	p := small()
	for _, tm := range p.all() {
		if tm.family != ofTick {
			continue
		}
		subject, err := testbed.ParseSubject("binding " + tm.lab.Text)
		if err != nil {
			t.Fatal(err)
		}
		for _, response := range []string{none, every} {
			alone := Spike{Peak: time.Second, Response: response}
			stacked := alone
			if err := errors.Join(spike(p, &tm, 1, &alone), stackSpike(p, subject, 1, &stacked)); err != nil {
				t.Fatal(err)
			}
			apart := alone.Retransmissions - stacked.Retransmissions
			if alone.Timeouts != stacked.Timeouts || max(apart, -apart) > 2 {
				t.Errorf("%s, %s: %d timeouts and %d retransmissions, in a gVisor stack %d and %d", tm.name, response,
					alone.Timeouts, alone.Retransmissions, stacked.Timeouts, stacked.Retransmissions)
			}
		}
	}
}
