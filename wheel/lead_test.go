package wheel

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// wakeUps makes l learn from n wake-ups. Of the second half it returns how many were early, and
// per wake-up the average time that the processor was busy and the average lateness.
func (l *leads) wakeUps(n int, sleep time.Duration, takes func() time.Duration) (early int, busy, late time.Duration) {
	class := leadClass(sleep)
	for i := range n {
		took, lead := takes(), l.lead(class, sleep)
		l.learn(class, took)
		switch {
		case i < n/2:
		case took < lead:
			early++
			busy += lead - took
		default:
			late += took - lead
		}
	}
	return early, busy / time.Duration(n/2), late / time.Duration(n/2)
}

func TestLeadsLearn(t *testing.T) {
	const us = time.Microsecond
	rng := rand.New(rand.NewPCG(1, 2))
	spread := func() time.Duration { return 20*us + time.Duration(rng.IntN(int(20*us))) }
	for _, test := range []struct {
		name      string
		takes     func() time.Duration
		busy      time.Duration // at most
		late      time.Duration // at most
		leastLate time.Duration
	}{
		{"always 20 µs", func() time.Duration { return 20 * us }, 0, us / 10, 0},
		{"20 to 40 µs", spread, 4 * us, 3 * us, us},
		{"one in 50 is 3 ms", func() time.Duration {
			if rng.IntN(50) == 0 {
				return 3 * time.Millisecond
			}
			return spread()
		}, 6 * us, 65 * us, 55 * us},
		{"nothing", func() time.Duration { return 0 }, 0, 0, 0},
		{"beyond all leads", func() time.Duration { return 500 * us }, 0, 400 * us, 400 * us},
	} {
		var l leads
		early, busy, late := l.wakeUps(2000, time.Millisecond, test.takes)
		if busy > test.busy || late > test.late || late < test.leastLate || early > 700 {
			t.Errorf("%s: %d of 1000 early, busy for %v and late by %v each; want busy at most %v, late %v to %v",
				test.name, early, busy, late, test.busy, test.leastLate, test.late)
		}
	}
}

// TestLeadsShrink: a lead that has become too long shrinks within some wake-ups.
func TestLeadsShrink(t *testing.T) {
	const us = time.Microsecond
	var l leads
	l.wakeUps(1000, time.Millisecond, func() time.Duration { return 80 * us })
	if lead := l.lead(leadClass(time.Millisecond), time.Millisecond); lead < 75*us || lead > 80*us {
		t.Errorf("lead %v after 80µs, want about that", lead)
	}
	l.wakeUps(30, time.Millisecond, func() time.Duration { return 10 * us })
	if lead := l.lead(leadClass(time.Millisecond), time.Millisecond); lead > 15*us {
		t.Errorf("lead %v after 30 wake-ups of 10µs, want about that", lead)
	}
}

// TestLeadsAreShort: a processor is never busy for more than a quarter of the time.
func TestLeadsAreShort(t *testing.T) {
	const us = time.Microsecond
	var l leads
	for _, sleep := range []time.Duration{0, 1, us, 20 * us, 100 * us, 400 * us, time.Second, math.MaxInt64} {
		l.wakeUps(1000, sleep, func() time.Duration { return time.Second })
		if lead, want := l.lead(leadClass(sleep), sleep), min(sleep/4, maxLead); lead != want {
			t.Errorf("the lead of a sleep of %v is %v, want %v", sleep, lead, want)
		}
	}
}

func TestLeadClass(t *testing.T) {
	last := -1
	for sleep := time.Duration(1); sleep > 0; sleep *= 2 {
		class := leadClass(sleep)
		if class != leadClass(2*sleep-1) || class < last || class > last+1 || class >= len(leads{}) {
			t.Errorf("a sleep of %v is of class %d, that of half of it %d", sleep, class, last)
		}
		last = class
	}
	if first := leadClass(0); first != 0 || last != len(leads{})-1 {
		t.Errorf("classes %d to %d, want 0 to %d", first, last, len(leads{})-1)
	}
}
