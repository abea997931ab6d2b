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

// named is a value of a plan that a README names.
var named = regexp.MustCompile("`--set '?([a-z0-9_]+)=([^`']+)'?`")

// TestNamedSettings runs each study with each value that its README names, under one seed and less
// work than its quick form. A claim that the value leaves without meaning says so, and why. Short
// runs leave out what costs much.
func TestNamedSettings(t *testing.T) {
	if raceDetector {
		t.Skip("results are the same under the race detector, which takes ten times as long")
	}
	most := 0.2 // seconds of one processor
	if long {
		most = 60
	}
	runs := 0
	for _, s := range Studies() {
		text := strings.Join(strings.Fields(s.Readme()), " ")
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			t.Run(s.Name+" "+m[1]+"="+m[2], func(t *testing.T) {
				set := fmt.Sprintf("study: %s\n%s: %s\n", s.Name, m[1], m[2])
				for key, few := range map[string]int{"seeds": 1, "gvisor_seeds": 1, "varied_seeds": 1, "losses": 30,
					"queries": 5, "fewer": 3} {
					value, _ := planLine(s.Plan(), key) // losses of pacing are probabilities
					if many, err := strconv.Atoi(value); err == nil && many >= few && key != m[1] {
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
		t.Errorf("the READMEs name %d settings, want more", runs)
	}
}

// unitTwice finds a duration with a second unit, such as 150ms ms.
var unitTwice = regexp.MustCompile(`[0-9](?:ns|us|µs|ms|s) (?:ns|us|µs|ms|s)\b`)
