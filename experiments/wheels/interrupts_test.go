package wheels

import (
	"testing"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
)

const interruptsSmall = "study: interrupts\nintervals: [1, 256, 257, 10000]\nphases: 20\ntimers: [10, 1000]\n" +
	"turns: 16\nseeds: 3\n"

func TestInterrupts(t *testing.T) {
	out := studytest.Run(t, Interrupts, interruptsSmall)
	studytest.Want(t, out, experiments.Reproduced, "six", "seven", "beyond", "together", "busy", "counts")
}

func TestInterruptsATimerOfFourRotations(t *testing.T) {
	// 1000 ticks in 256 slots: three interrupts find the timers early, and the fourth finds them due.
	r, err := interruptsSingle(interruptsFind("Scheme 6, 256 slots"), 1, 1000, 1, 100)
	if err != nil || r.Interrupts != 4 || r.Expiries != 100 {
		t.Errorf("%+v, %v, want 4 interrupts for 100 timers", r, err)
	}
	// A heap wakes the host once, when they are due.
	r, err = interruptsSingle(interruptsFind("heap"), 1, 1000, 1, 100)
	if err != nil || r.Interrupts != 1 || r.Expiries != 100 {
		t.Errorf("%+v, %v, want an interrupt for 100 timers", r, err)
	}
}

// The study notices a wheel of half the slots, which wakes the host twice as often.
func TestInterruptsFalsifier(t *testing.T) {
	p := &interruptsPlan{Intervals: []int{1000}, Phases: 5, Timers: []int{100}, Mean: 1024, Turns: 4, Seeds: 1}
	small := interruptsFacility{"Scheme 6, 4096 slots", "scheme6-list", 64, 0}
	wrong, err := runInterrupts(p, &small, 1)
	if err != nil {
		t.Fatal(err)
	}
	const plan = "study: interrupts\nintervals: [1000]\nphases: 5\ntimers: [100]\nmean: 1024\nturns: 4\nseeds: 1\n"
	_, out := studytest.RunAltered(t, Interrupts, plan, func(r *interruptsCell) {
		if r.Facility == small.name {
			*r = wrong
		}
	})
	studytest.Want(t, out, experiments.NotReproduced, "six", "together", "busy")
}
