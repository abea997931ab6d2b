package vegas

import (
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
	"tcpwheel/experiments/internal/testbed"
)

const tableivOld = " control=newreno +reno -tlp -rack -frto -sack -timestamps"

// TestTableivAlone runs a transfer without other traffic. Its slow start overflows the queue once,
// and the recovery depends on the timers.
func TestTableivAlone(t *testing.T) {
	p := &tableivPlan{
		Rate: 1_600_000, Delay: 50 * time.Millisecond, Access: 10_000_000, Bytes: 1 << 20, SendBuffer: 50 << 10,
		InitialWindow: 1,
		Short:         testbed.MustTimers("bsd" + tableivOld),
	}
	run := func(timers string) tableivCell {
		t.Helper()
		c, err := p.transfer(testbed.MustTimers(timers+tableivOld), setting{Traffic: "lognormal", Bytes: p.Bytes}, 10,
			1)
		if err != nil {
			t.Fatal(err)
		}
		if least := float64(p.Bytes) * 8 / float64(p.Rate); c.Took.Seconds() < least {
			t.Errorf("%s: %v s, want at least the %v s of the bottleneck", timers, c.Took.Seconds(), least)
		}
		return c
	}
	coarse, fine, check := run("bsd"), run("per-segment"), run("bsd +vegas-check")
	if coarse.Timeouts == 0 || coarse.Silence.Seconds()/float64(coarse.Timeouts) < 0.9 {
		t.Errorf("4.4BSD's clocks: %d timeouts after %v of silence, want some, each after a second or more",
			coarse.Timeouts, coarse.Silence)
	}
	if fine.Timeouts == 0 || fine.Silence.Seconds()/float64(fine.Timeouts) > 0.7 || fine.Took >= coarse.Took {
		t.Errorf("a timer per segment: %d timeouts after %v of silence, %v in all, want some, and less than "+
			"the %v s of coarse timers",
			fine.Timeouts, fine.Silence, fine.Took, coarse.Took)
	}
	if check.Timeouts >= coarse.Timeouts || check.Took >= coarse.Took {
		t.Errorf("Vegas's check leaves %d of %d timeouts", check.Timeouts, coarse.Timeouts)
	}
}

// TestTableivFalsifier runs the same timers under both names: there is no gain, and not a timeout
// less.
func TestTableivFalsifier(t *testing.T) {
	out := studytest.Run(t, TableIV, "study: tableiv\nseeds: 3\nbuffers: [15]\nothers: []\nbytes: 200000\nsizes: "+
		"[]\nother_seeds: 3\nother_loads: [0.3]\nfine: bsd delack=off"+tableivOld+
		"\ncheck: bsd delack=40ms"+tableivOld+"\n")
	studytest.Want(t, out, experiments.NotReproduced, "timers-gain", "any-load", "check-timeouts")
}
