package truth

import (
	"context"
	"io/fs"
	"os"
	"strconv"
	"testing"
	"time"

	"tcpwheel/pcaps/samples"
	"tcpwheel/tcptimers"
)

// trials returns a part of the plan, or all of it with TCPWHEEL_LONG. TCPWHEEL_SEED sets the first
// seed, and TCPWHEEL_SCENARIOS how many times the whole plan runs.
func trials() Trials {
	plan := Trials{Seeds: 1, First: 1000, every: 5}
	if os.Getenv("TCPWHEEL_LONG") != "" {
		plan.Seeds, plan.every = 4, 1
	}
	if n, err := strconv.ParseUint(os.Getenv("TCPWHEEL_SEED"), 10, 64); err == nil {
		plan.First, plan.every = n, 1
	}
	if n, err := strconv.Atoi(os.Getenv("TCPWHEEL_SCENARIOS")); err == nil {
		plan.Seeds, plan.every = n, 1
	}
	return plan
}

// TestTrials: at most 1 % of the verdicts of replays are false, or only one; and most needed losses
// pass the gate.
func TestTrials(t *testing.T) {
	plan := trials()
	r, n, err := plan.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for side, want := range [Sides]float64{90, 80, 65} {
		s := &r.Sides[side]
		t.Logf("%v: %d of %d through the gate, %.1f, others %v", Side(side), s.Passed, s.Needed, s.Share(), s.Gates)
		if s.Needed < 50 || s.Share().Percent < want {
			t.Errorf("%v: %d of %d through the gate, want %v %%", Side(side), s.Passed, s.Needed, want)
		}
	}
	wrong, known, share := r.Wrong()
	t.Logf("%d trials: %d of %d verdicts are false, %.2f", n, wrong, known, share)
	if known < 10 || wrong > 1 && share.Percent > 1 {
		t.Errorf("%d of %d verdicts are false, want 1 %% at most", wrong, known)
	}
	for _, j := range r.Verdicts {
		if j.False() {
			t.Logf("false: %+v", j)
		}
	}
}

// TestFewestLosses shows how many verdicts there are, and how many are false, by the least number
// of losses that a verdict may rest on.
func TestFewestLosses(t *testing.T) {
	plan := trials()
	if plan.every > 1 {
		t.Skip("set TCPWHEEL_LONG, or TCPWHEEL_SCENARIOS for how many times the plan runs")
	}
	plan.Fewest = 2
	r, _, err := plan.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, least := range []int{2, 3, 4, 5, 6, 8, 10, 15, 20} {
		some := Replays{}
		verdicts := 0
		for _, j := range r.Verdicts {
			if j.Losses >= least {
				some.Verdicts = append(some.Verdicts, j)
				if j.decided() {
					verdicts++
				}
			}
		}
		wrong, known, share := some.Wrong()
		t.Logf("%2d losses: %5d verdicts, %.1f %% of all tried; %3d of %4d false, %.2f", least, verdicts, 100*float64(verdicts)/float64(len(r.Verdicts)),
			wrong, known, share)
	}
}

// sampleDirs returns the directories of samples.
func sampleDirs(t *testing.T, names ...string) (dirs []fs.FS) {
	t.Helper()
	for _, name := range names {
		dir, err := samples.Dir(name)
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// judgeSamples judges runs under settings that change nothing.
func judgeSamples(t *testing.T, dirs, again []fs.FS) *Replays {
	t.Helper()
	r, err := JudgeKernels("samples", []KernelRuns{
		{"linux", tcptimers.MustPolicy("linux"), dirs, again}, {"per-segment", tcptimers.MustPolicy("per-segment"), dirs, again},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestJudgeKernels: under settings that change nothing no policy really saves, and captures that
// are the same give the same verdicts.
func TestJudgeKernels(t *testing.T) {
	dirs := sampleDirs(t, "lost-rexmit-tail", "tail-one", "tail-three")
	r := judgeSamples(t, dirs, dirs)
	for _, j := range r.Verdicts {
		if j.Compared == 0 || j.Really != 0 || j.Noise != 0 || j.False() {
			t.Errorf("%+v, want losses that are compared, and take as long", j)
		}
	}
	if len(r.Verdicts) != 6 || r.Sides[SenderSide].Needed == 0 {
		t.Errorf("%d verdicts, %d needed losses, want 6 and some", len(r.Verdicts), r.Sides[SenderSide].Needed)
	}
}

// TestNoise: a second run under the same timers, with other losses, is noise as large
// as the recovery times of both the captured timers and the policy's.
func TestNoise(t *testing.T) {
	r := judgeSamples(t, sampleDirs(t, "tail-three"), sampleDirs(t, "reorder"))
	for _, j := range r.Verdicts {
		if j.Compared == 0 || j.Noise < 2*time.Duration(j.Compared)*time.Millisecond {
			t.Errorf("%+v, want the noise of losses that the second run lacks", j)
		}
	}
}

// TestTooNoisy: a verdict whose truth has more noise than effect is neither false nor right.
func TestTooNoisy(t *testing.T) {
	for _, test := range []struct {
		really, noise          time.Duration
		known, tooNoisy, wrong bool
	}{
		{-time.Second, 0, true, false, true},
		{-time.Second, time.Second, true, false, true},
		{-time.Second, 2 * time.Second, false, true, false},
		{time.Second, 2 * time.Second, false, true, false},
		{time.Second, time.Second / 2, true, false, false},
	} {
		j := Judged{Verdict: "saves", Losses: 5, Compared: 5, Saved: time.Second, Really: test.really, Noise: test.noise}
		if j.Known() != test.known || j.TooNoisy() != test.tooNoisy || j.False() != test.wrong {
			t.Errorf("really %v, noise %v: known %v, too noisy %v, false %v; want %v, %v, %v", test.really, test.noise,
				j.Known(), j.TooNoisy(), j.False(), test.known, test.tooNoisy, test.wrong)
		}
		if j.Verdict = "cannot tell"; j.Known() || j.TooNoisy() {
			t.Errorf("%+v, want no judgement of no verdict", j)
		}
	}
}
