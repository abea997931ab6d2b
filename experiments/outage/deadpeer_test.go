package outage

import (
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/declared"
	"tcpwheel/experiments/internal/studytest"
)

func deadSmall() *deadPlan {
	return &deadPlan{
		RTT: 20 * time.Millisecond, FastIdle: 10 * time.Second, FastInterval: time.Second, FastCount: 3,
		Ticks:        []time.Duration{time.Millisecond, 500 * time.Millisecond},
		UserTimeouts: []time.Duration{7 * time.Second}, Phases: 20, Seeds: 1,
	}
}

func TestDeaths(t *testing.T) {
	p := deadSmall()
	out := deadJudged(t, p, studytest.Cells(t, deadCells(p)))
	studytest.Check(t, out)
	studytest.WantOthers(t, out, experiments.Reproduced, "gvisor-user-timeout")
	// gVisor's counts from the tail loss probe, 2·SRTT + 200 ms after the data.
	studytest.Want(t, out, experiments.Differs, "gvisor-user-timeout")
}

// TestDeadGVisor checks the end of gVisor's own TCP to the millisecond. Its user timeout waits for
// its probe.
func TestDeadGVisor(t *testing.T) {
	p := deadSmall()
	want := map[string]time.Duration{
		"gVisor, keepalive": 7875 * time.Second, "gVisor, keepalive, fast": 13 * time.Second,
		"gVisor, user timeout of 7s": 7240 * time.Millisecond, "gVisor, user timeout of 7s, no probes": 7 * time.Second,
		"gVisor, SYN": 127 * time.Second,
	}
	for _, d := range gvisorCases(p) {
		c, err := dieUnderGVisor(p, &d)
		if err != nil {
			t.Errorf("%s: %v", d.name, err)
		} else if w, ok := want[d.name]; ok && time.Duration(c.Took*1e3)*time.Millisecond != w {
			t.Errorf("%s: lives %v s, want %v", d.name, c.Took, w)
		}
	}
}

// TestFastOverACoarseTick follows one death: the last segment arrives at 0.1 of a tick of 500 ms,
// plus half a round trip. 10 s later the next tick is 440 ms away. The probes then leave at ticks.
func TestFastOverACoarseTick(t *testing.T) {
	p := deadSmall()
	for _, d := range deaths(p) {
		if d.name != "keepalive, fast, tick of 500ms" {
			continue
		}
		life, rule, exact, err := d.one(p, 0.1)
		if want := 13*time.Second + 440*time.Millisecond; err != nil || life != want || rule != 13*time.Second ||
			exact {
			t.Errorf("lives %v (rule %v, exact %v), %v; want %v", life, rule, exact, err, want)
		}
		return
	}
	t.Error("no such case")
}

// TestRuleOfR2 checks Linux's timeouts: 0.2 s, doubled up to 120 s, end at 924.6 s, as with
// tcp_retries2 of 15.
func TestRuleOfR2(t *testing.T) {
	for _, d := range deaths(deadSmall()) {
		if d.name == "R2, Linux" {
			if life, exact := d.rule(0, 200*time.Millisecond); !exact || life != 924600*time.Millisecond {
				t.Errorf("R2 after %v, want 924.6s", life)
			}
		}
	}
}

// TestDeadFalsifier ends each connection two ticks later.
func TestDeadFalsifier(t *testing.T) {
	p := deadSmall()
	all := studytest.Cells(t, deadCells(p))
	for i := range all {
		c := &all[i]
		c.Off, c.Least, c.Mean, c.Greatest, c.KS = p.Phases, c.Least+2, c.Mean+2, c.Greatest+2, 0
		c.Took++
	}
	out := deadJudged(t, p, all)
	studytest.WantOthers(t, out, experiments.NotReproduced, "rfc9293")
}

func deadJudged(t *testing.T, p *deadPlan, cells []deadCell) *experiments.Outcome {
	t.Helper()
	return studytest.Judge(t, declared.Judge[deadPlan, deadRow](files, "deadpeer"), p, deadRows(p, cells))
}
