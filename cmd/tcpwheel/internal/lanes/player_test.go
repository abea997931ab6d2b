package lanes

import (
	"encoding/json"
	"slices"
	"testing"
	"time"
)

func newPlayer(t *testing.T, lanes ...string) *Player {
	t.Helper()
	run, err := NewRun(1, lanes, DefaultConditions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := NewPlayer(run)
	t.Cleanup(p.Close)
	return p
}

func play(t *testing.T, p *Player, span time.Duration) {
	t.Helper()
	for end := p.Frame().Time + seconds(span); p.Frame().Time < end; {
		if err := p.Tick(FrameEvery); err != nil {
			t.Fatal(err)
		}
	}
}

func control(t *testing.T, p *Player, name, text string) {
	t.Helper()
	if err := p.Control(name, text); err != nil {
		t.Fatal(err)
	}
}

func results(t *testing.T, p *Player) string {
	t.Helper()
	return encoded(t, p.Results())
}

func encoded(t *testing.T, all []Result) string {
	t.Helper()
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestComparisonsShareTheirHistory chooses another comparison after 12 s: it is shown up to 10 s, with
// the actions until then, and its first lane did what the same lane did before. Each step begins with
// the lane that ended the one before.
func TestComparisonsShareTheirHistory(t *testing.T) {
	p := newPlayer(t)
	control(t, p, "tail", "1")
	play(t, p, 12*time.Second)
	want, err := p.run.Again(head, []string{"floor"})
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	advance(t, want, head)
	control(t, p, "lanes", "floor")
	f := p.Frame()
	if f.Time != seconds(head) || f.Restarts != 1 || f.Comparison.Key != "floor" || f.Lanes[0].Label != "floor of 1 s" || len(f.Losses) != 1 {
		t.Errorf("the frame is of %v: %+v, %d losses", f.Time, f.Comparison, len(f.Losses))
	}
	if got, want := results(t, p), encoded(t, want.Results()); got != want {
		t.Errorf("the results are\n%s\nwant\n%s", got, want)
	}
	for i, c := range Comparisons[1:4] {
		if before := Comparisons[i]; c.lanes[0] != before.lanes[1] {
			t.Errorf("step %s begins with %s, want %s", c.Key, c.lanes[0], before.lanes[1])
		}
	}
	for key, most := range map[string]int{"clock": 2, "floor": 1, "recovery": 3, "timer": 1} {
		if all := differences(lanesOf([]string{key})); len(all) == 0 || len(all) > most {
			t.Errorf("%s: the lanes differ in %q, want at most %d settings", key, all, most)
		}
	}
	if all := differences(lanesOf([]string{"4.4bsd"})); len(all) < 8 || !slices.Contains(all, "tick: 500ms, 1ms") {
		t.Errorf("4.4BSD differs in %q", all)
	}
}

// TestPausedPlayer steps a run that stands still, and begins it again.
func TestPausedPlayer(t *testing.T) {
	p := newPlayer(t)
	play(t, p, time.Second)
	control(t, p, "pause", "on")
	if err := p.Tick(FrameEvery); err != nil || p.Frame().Time != seconds(time.Second) || !p.Frame().Paused {
		t.Errorf("%v: a paused run is at %v", err, p.Frame().Time)
	}
	control(t, p, "step", "")
	if at := p.Frame().Time; at <= seconds(time.Second) || at > seconds(2*time.Second) {
		t.Errorf("a step leads to %v", at)
	}
	control(t, p, "restart", "actions=1s:drop%3D1&initial=loss%3D0%25")
	if f := p.Frame(); f.Time != 0 || f.Initial != "delay=20ms,rate=10Mbit,loss=0%" {
		t.Errorf("after a restart: %v, %s", f.Time, f.Initial)
	}
}
