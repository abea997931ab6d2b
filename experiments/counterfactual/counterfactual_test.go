package counterfactual

import (
	"strings"
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
	"tcpwheel/experiments/plan"
	"tcpwheel/pcaps/replay"
)

// open opens a plan that overrides keys of the study's own.
func open(text string) (*Plan, error) {
	own, err := plan.Parse("plan.yaml", []byte(Study.Plan()))
	if err != nil {
		return nil, err
	}
	f, err := plan.Parse("my.yaml", []byte(text))
	if err != nil {
		return nil, err
	}
	p := new(Plan)
	if err := own.Decode(p, false); err != nil {
		return nil, err
	}
	if err := f.Decode(p, false); err != nil {
		return nil, err
	}
	return p, check(p)
}

func mustOpen(t *testing.T, text string) *Plan {
	t.Helper()
	p, err := open(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestALostTailUnderThreeTimers replays the loss of the last segment of a response over 20 ms,
// which the kernel's probe repaired. Without a probe a timer with a floor of 1 s takes more than a
// second, and so does 4.4BSD's. The kernel's own timers take the captured time.
func TestALostTailUnderThreeTimers(t *testing.T) {
	p := mustOpen(t, "samples: tail-one\npoints: sender\npolicies: [linux, rfc6298, bsd, per-segment@1ms]")
	c, err := capturedAt(p, "tail-one", "sender")
	if err != nil {
		t.Fatal(err)
	}
	counted := 0
	for _, l := range c.Losses {
		if !l.Count {
			continue
		}
		counted++
		linux, rfc, bsd, segment := l.By[0][replay.ByRange], l.By[1][replay.ByRange], l.By[2][replay.ByRange],
			l.By[3][replay.ByRange]
		if off := (linux - l.Took).Abs(); off > l.Took/10 {
			t.Errorf("the kernel took %v, but a replay with its timers %v", l.Took, linux)
		}
		if segment <= 0 || segment > l.Took {
			t.Errorf("a timer per segment takes %v, the kernel %v", segment, l.Took)
		}
		for _, slow := range []time.Duration{rfc, bsd} {
			if slow >= 0 && slow < time.Second { // -1 means no verdict
				t.Errorf("with a floor of a second recovery takes %v", slow)
			}
		}
	}
	if counted != 2 || c.Conns == 0 || len(c.Refuse) != 0 {
		t.Errorf("%d losses count of %d connections, %q refused; want 2", counted, c.Conns, c.Refuse)
	}
}

// TestJudge checks that the claims notice timers that take twice the captured time.
func TestJudge(t *testing.T) {
	_, out := studytest.RunAltered(t, Study,
		"study: counterfactual\nsamples: [tail-one, incast, lost-rexmit-tail, outage]\npoints: sender\n", func(c *Cell) {
			for _, l := range c.Losses {
				for k := range l.By {
					for key := range l.By[k] {
						l.By[k][key] = 2 * l.Took
					}
				}
			}
		})
	studytest.Want(t, out, experiments.NotReproduced, "per-segment-saves")
	studytest.Want(t, out, experiments.Reproduced, "bsd-costs")
}

func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		"samples: [tail-one, web]":  `samples: "web", want one of tail-one, `,
		"samples: [incast, incast]": `samples: incast is listed twice`,
		"points: receiver":          `points: no sender, want it: verdicts use it`,
		"policies: [linux, linux]":  `policies: linux is listed twice`,
		"policies: reno":            `my.yaml:1: policies: "reno", `,
		"control: bbr":              `my.yaml:1: control: "bbr", want one of newreno, cubic, vegas`,
		"points: [sender, sky]":     `my.yaml:1: points: "sky", want one of sender, middle, receiver`,
	} {
		if _, err := open(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("plan %q: got %v, want %s", text, err, want)
		}
	}
}
