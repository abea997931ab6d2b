package spike

import (
	"testing"
	"time"

	"tcpwheel/experiments"
)

const millisecond = time.Millisecond

func small() *Plan {
	return &Plan{
		RTT: 100 * millisecond, Rate: 10_000_000, Window: 40, Peaks: []time.Duration{150 * millisecond, 300 * millisecond, time.Second}, Lasts: 2 * time.Second,
		Tried: []time.Duration{300 * millisecond, time.Second}, Warm: 3 * time.Second, Watch: 6 * time.Second,
		Ticks: []time.Duration{millisecond, 100 * millisecond, 500 * millisecond}, Floors: []time.Duration{200 * millisecond}, Policies: []string{"per-segment"},
		Losses: 3, Exchanges: 30, Seeds: 2,
	}
}

func run(t *testing.T, p *Plan) (all []Cell) {
	t.Helper()
	for _, c := range cells(p) {
		got, err := c.Run(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		all = append(all, got)
	}
	return all
}

func verdicts(t *testing.T, p *Plan, cells []Cell) map[string]experiments.Verdict {
	t.Helper()
	out, err := judge(p, cells)
	if err == nil {
		err = out.Check()
	}
	if err != nil {
		t.Fatal(err)
	}
	v := map[string]experiments.Verdict{}
	for _, c := range out.Claims {
		v[c.Name] = c.Verdict
	}
	return v
}

func TestSpikes(t *testing.T) {
	p := small()
	all := run(t, p)
	v := verdicts(t, p, all)
	for _, name := range []string{"hidden", "fewer", "price", "trade-off", "harm", "undo-eifel"} {
		if v[name] != experiments.Reproduced {
			t.Errorf("%s: %s", name, v[name])
		}
	}
	for _, name := range []string{"undo-frto", "undo-dsack"} {
		if v[name] != experiments.Differs {
			t.Errorf("%s: %s, want it to differ: it does not serve a spike of several timeouts", name, v[name])
		}
	}

	// The falsifier: coarse and fine timers change places.
	for i := range all {
		switch all[i].Timers {
		case "G=1ms":
			all[i].Timers = "G=500ms"
		case "G=500ms":
			all[i].Timers = "G=1ms"
		}
	}
	v = verdicts(t, p, all)
	for _, name := range []string{"hidden", "fewer", "price"} {
		if v[name] != experiments.NotReproduced {
			t.Errorf("%s: %s with the timers swapped", name, v[name])
		}
	}
}

// TestOneSpike tells the story of a round trip that rises from 100 to 300 ms. The timer of a granularity of 100 ms expires once, and all of
// the window is sent again in vain. With F-RTO, or timestamps, one segment is, and the window is what it was.
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
			if response == none && (s.Again < 20 || back(&s)) || (response == frto || response == eifel) && (s.Again != 1 || !back(&s)) || s.Timeouts < 1 {
				t.Errorf("%s: %+v", response, s)
			}
		}
	}
}

func TestRanks(t *testing.T) {
	if r := ranks([]float64{1, 2, 3, 4}, []float64{9, 7, 5, 1}); r != -1 {
		t.Errorf("rank correlation %v, want -1", r)
	}
	if r := ranks([]float64{1, 2, 3}, []float64{5, 5, 5}); r != 0 {
		t.Errorf("rank correlation %v of a constant, want 0", r)
	}
}
