package wheels

import (
	"testing"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
)

const locksSmall = "study: locks\ntimers: [0, 100]\nprocessors: [1, 8]\noperations: 200\nseeds: 2\n"

func TestLocks(t *testing.T) {
	out := studytest.Run(t, Locks, locksSmall)
	studytest.Want(t, out, experiments.Reproduced)
}

func TestLocksAScheduleIsExact(t *testing.T) {
	// One processor never waits: each operation takes a step, and up to 10 steps of other work follow.
	p := &locksPlan{Running: 100, Operations: 10, Work: 5, Longest: 1000}
	s, err := p.schedule("scheme6", 1, 1, 1)
	if err != nil || s.Waited != 0 || s.Held != 10 || s.Steps <= 10 || s.Steps > 110 {
		t.Errorf("%+v, %v, want 10 operations of a step each, without a wait", s, err)
	}
	// Two processors without other work take turns.
	p.Work = 0
	if s, err = p.schedule("scheme6", 1, 2, 1); err != nil || s.Held != 20 || s.Steps != 20 {
		t.Errorf("%+v, %v, want 20 steps one after another", s, err)
	}
}

// The study notices a searched list in the place of Scheme 6.
func TestLocksFalsifier(t *testing.T) {
	const plan = "study: locks\ntimers: [0, 100]\nschemes: [scheme2, scheme6]\nprocessors: [1, 8]\n" +
		"operations: 100\nlongest: 1000\nseeds: 1\n"
	_, out := studytest.RunAltered(t, Locks, plan, func(r *locksCell) {
		r.Scheme = map[string]string{"scheme2": "scheme6", "scheme6": "scheme2"}[r.Scheme]
	})
	studytest.Want(t, out, experiments.NotReproduced, "scheme2-hold", "scheme2-speedup", "constant-hold")
}

func TestLocksPlanIsChecked(t *testing.T) {
	studytest.WantRefused(t, Locks, map[string]string{
		"schemes: [scheme9]": `schemes: "scheme9", want one of scheme1`,
		"processors: [2, 4]": "want 1 first",
		"timers: [0]":        "want more than 0 last",
	})
}
