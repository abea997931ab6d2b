package all

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
	"tcpwheel/experiments/plan"
)

// settings are values of plans that turn a study to another case, by study.
var settings = map[string][]string{
	"comb": {"rtt=100ms", "queue=200"}, "datacentre": {"timers=rfc6298", "buffer=200", "service=1ms"},
	"frontier": {"rtt=20ms"}, "incast": {"fragment=256KB", "service=1ms", "buffer=200"},
	"pacing": {"buffer=1", "transfer=2", "rto=1s", "packets_per_second=100000"},
	"shrew":  {"buffer=30000", "round_trip=50ms", "subjects=[gvisor floor=500ms -rack, binding bsd control=newreno]"},
	"vegas": {"cv=0.1", "between=64",
		"subjects=[binding per-segment delack=off -tlp -rack -frto -sack -timestamps]"},
	"roundtrips": {"most=100", "least=200", "strata=5g", "floors=[0s, 50ms, 1s]"},
	"cmu":        {"bytes=1024000", "buffer=100", "initial_window=1460"},
	"oneonone":   {"delay=20ms", "buffers=[10]"}, "tableiv": {"delay=20ms", "traffic=lognormal"},
}

// TestSettings runs studies with each of their settings, under one seed and less work than their
// quick form. A claim that the value leaves without meaning says so, and why. Short
// runs leave out what costs much.
func TestSettings(t *testing.T) {
	if raceDetector {
		t.Skip("results are the same under the race detector, which takes ten times as long")
	}
	most := 0.2 // seconds of one processor
	if long {
		most = 60
	}
	runs := 0
	for _, s := range Studies() {
		for _, setting := range settings[s.Name] {
			t.Run(s.Name+" "+setting, func(t *testing.T) {
				name, value, _ := strings.Cut(setting, "=")
				set := fmt.Sprintf("study: %s\n%s: %s\n", s.Name, name, value)
				for key, few := range map[string]int{"seeds": 1, "gvisor_seeds": 1, "varied_seeds": 1, "losses": 30,
					"queries": 5, "fewer": 3} {
					value, _ := planLine(s.Plan(), key) // losses of pacing are probabilities
					if many, err := strconv.Atoi(value); err == nil && many >= few && key != name {
						set += fmt.Sprintf("%s: %d\n", key, few)
					}
				}
				source, err := plan.Parse("--set", []byte(set))
				if err != nil {
					t.Fatal(err)
				}
				j, err := s.OpenPlan(source, true)
				if err != nil {
					t.Fatal(err)
				}
				runs++
				if j.Cost() > most {
					t.Skipf("about %.0f s", j.Cost())
				}
				out := studytest.RunJob(t, j)
				for _, c := range out.Claims {
					for _, words := range []string{c.Text, c.Measured.String(), c.Expected.String(), c.Why} {
						if unit := unitTwice.FindString(words); unit != "" {
							t.Errorf("%s: %q has a unit twice", c.Name, words)
						}
					}
				}
				judged := func(c experiments.Claim) bool { return c.Verdict != experiments.NotApplicable }
				if len(j.Cells) == 0 && slices.ContainsFunc(out.Claims, judged) {
					t.Error("a claim has a verdict without a run")
				}
			})
		}
	}
	if runs < 12 {
		t.Errorf("%d settings, want more", runs)
	}
}

// unitTwice finds a duration with a second unit, such as 150ms ms.
var unitTwice = regexp.MustCompile(`[0-9](?:ns|us|µs|ms|s) (?:ns|us|µs|ms|s)\b`)
