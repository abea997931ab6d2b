package vegas

import (
	"slices"
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
	"tcpwheel/experiments/internal/testbed"
)

const plain = " delack=off control=newreno -tlp -rack -frto -sack -timestamps"

// TestOneLoss checks the waits of single losses at a constant round trip of 100 ms.
func TestOneLoss(t *testing.T) {
	p := &Plan{Losses: 5, Between: 16, StillLosses: 5, StillBetween: 4, StillOffset: time.Millisecond}
	waits := func(timers string, kind int, still bool) []time.Duration {
		t.Helper()
		out, err := flow{plan: p, timers: testbed.MustTimers(timers + plain), rtt: 100 * time.Millisecond, kind: kind,
			still: still, key: 1}.run()
		if err != nil {
			t.Fatal(err)
		}
		if out.Other != 0 || out.BackedOff != nil {
			t.Errorf("%s: %d losses were repaired without a timeout, want none", timers, out.Other)
		}
		return out.Waits
	}
	for _, w := range waits("bsd", 0, true) {
		if w <= time.Second || w > 1500*time.Millisecond {
			t.Errorf("4.4BSD at rest waits %v, want above 1s and up to 1.5s", w)
		}
	}
	for kind := range kinds {
		// SRTT is 100 ms and the variation nearly 0: its floor of 50 ms and a tick of 1 ms are added.
		for _, w := range waits("per-segment", kind, false) {
			if w < 150*time.Millisecond || w > 151*time.Millisecond {
				t.Errorf("%s: a timer per segment waits %v, want 150ms to 151ms", kinds[kind].name, w)
			}
		}
		for _, w := range waits("rfc6298", kind, false) {
			// ACKs of earlier segments restart the only timer.
			if more := kinds[kind].name == "of three"; w < time.Second || w > 1001*time.Millisecond &&
				(!more || w > 1101*time.Millisecond) {
				t.Errorf("%s: RFC 6298 waits %v, want its floor of 1s", kinds[kind].name, w)
			}
		}
	}
}

// TestGVisor checks that gVisor's own TCP waits for its floor of 200 ms, over the links of the
// engines.
func TestGVisor(t *testing.T) {
	p := &Plan{Losses: 3, Between: 4, CV: 0.3}
	for kind := range kinds {
		f := flow{plan: p, timers: testbed.MustTimers("per-segment" + plain), rtt: 20 * time.Millisecond, kind: kind,
			key: 1}
		a, err := f.onStacks()
		if err != nil {
			t.Fatal(err)
		}
		b, err := f.onStacks()
		if err != nil || !slices.Equal(a.Waits, b.Waits) {
			t.Errorf("%s: two runs differ: %v, %v, %v", kinds[kind].name, a, b, err)
		}
		if a.Other != 0 || len(a.Waits) != 3 || kind == 0 &&
			(slices.Min(a.Waits) < 200*time.Millisecond || slices.Max(a.Waits) > 201*time.Millisecond) {
			t.Errorf("%s: %+v, want three waits for a timeout, of 200 ms for a lone segment", kinds[kind].name, a)
		}
	}
}

func TestClaims(t *testing.T) {
	out := studytest.Run(t, Study, "study: vegas\nrtts: [20ms, 100ms]\nlosses: 20\nothers: []\n")
	studytest.Want(t, out, experiments.Reproduced, "mean-at-rest", "fine-mean", "gvisor")
	studytest.Want(t, out, experiments.Differs, "coarse-mean")
}

// The claims fail with a fine clock without a floor in the place of the coarse one.
func TestFalsifier(t *testing.T) {
	out := studytest.Run(t, Study, "study: vegas\nrtts: [100ms]\nlosses: 5\nothers: []\ncoarse: rfc6298@10ms "+
		"floor=1ns"+plain+"\n")
	studytest.Want(t, out, experiments.NotReproduced, "mean-at-rest", "coarse-mean")
}

func TestCheck(t *testing.T) {
	p := &Plan{Coarse: testbed.MustTimers("bsd"), Fine: testbed.MustTimers("bsd")}
	if err := check(p); err == nil || err.Error() != `others: "bsd" occurs twice` {
		t.Errorf("the same timers twice: %v", err)
	}
	p = &Plan{StillRTTs: []time.Duration{100 * time.Millisecond}, StillOffset: 400 * time.Millisecond,
		Fine: testbed.MustTimers("linux")}
	if err := check(p); err == nil {
		t.Error("an exchange that crosses a tick is accepted")
	}
}
