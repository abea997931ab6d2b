package wheel

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestWalkSeesEachTimer compares Walk with the timers that a random program has started.
func TestWalkSeesEachTimer(t *testing.T) {
	for _, scheme := range []string{"scheme6", "scheme6-eager"} {
		w, err := New(scheme, Config{Tick: time.Millisecond, Slots: 64})
		if err != nil {
			t.Fatal(err)
		}
		f := w.(*Scheme6)
		rng := rand.New(rand.NewPCG(1, 2))
		timers := make([]Timer, 200)
		for i := range timers {
			timers[i] = f.New(uint64(i))
		}
		for range 2000 {
			x := timers[rng.IntN(len(timers))]
			switch rng.IntN(4) {
			case 0:
				f.Stop(x)
			case 1:
				f.Advance(f.Now().Add(time.Duration(rng.IntN(3))*time.Millisecond), 0, func(Timer) {})
			default:
				f.Schedule(x, f.Now().Add(time.Duration(rng.IntN(200))*time.Millisecond))
			}
			running := 0
			f.Walk(func(p Place) {
				at, ok := f.Deadline(p.Timer)
				if ok != p.Running || at != p.Deadline {
					t.Fatalf("%s: Walk has timer %d running %v at %v, Deadline %v, %v", scheme, p.Timer, p.Running, p.Deadline, ok, at)
				}
				if p.Running {
					running++
				} else if scheme == "scheme6-eager" {
					t.Fatalf("%s: the stopped timer %d is in slot %d", scheme, p.Timer, p.Slot)
				}
				if want := int(p.Deadline/Time(time.Millisecond)) % f.Slots(); scheme == "scheme6-eager" && p.Deadline > f.Now() && p.Slot != want {
					t.Fatalf("%s: timer %d at %v is in slot %d, want %d", scheme, p.Timer, p.Deadline, p.Slot, want)
				}
			})
			if running != f.Len() {
				t.Fatalf("%s: Walk has %d running timers, Len %d", scheme, running, f.Len())
			}
		}
		if f.Hand() != int(f.Now()/Time(time.Millisecond))%f.Slots() {
			t.Errorf("%s: hand at slot %d at %v", scheme, f.Hand(), f.Now())
		}
	}
}
