package all

import (
	"strings"
	"testing"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
)

// TestQuickAgrees runs the quick form of cheap studies. A claim has the verdict of the full run, in
// README, or says that it does not apply or that there are too few seeds. Claims whose text shows
// values of the quick plan have no row there.
func TestQuickAgrees(t *testing.T) {
	if raceDetector {
		t.Skip("results are the same under the race detector, which takes ten times as long")
	}
	most := 0.2 // seconds of one processor for each study
	if long {
		most = 1.5
	}
	compared := 0
	for _, s := range Studies() {
		t.Run(s.Name, func(t *testing.T) {
			j, err := s.Open(true)
			if err != nil {
				t.Fatal(err)
			}
			if j.Cost() > most {
				t.Skipf("about %.1f s", j.Cost())
			}
			out := studytest.RunJob(t, j)
			experiments.SettleVerdicts(out)
			out.DoubtQuick()
			full := verdicts(s.Readme())
			for _, c := range out.Claims {
				want, ok := full[c.Text]
				if !ok || c.Verdict == experiments.NotApplicable || c.Verdict == experiments.TooFew {
					continue
				}
				compared++
				if got := c.VerdictText(); got != want {
					t.Errorf("%s: the quick run says %q, the full one %q: measured %s", c.Name, got, want, c.Measured)
				}
			}
		})
	}
	if compared < 20 {
		t.Errorf("%d verdicts compared, want more", compared)
	}
}

// verdicts returns the verdicts in the tables of claims of a README, by the text of the claim.
func verdicts(readme string) map[string]string {
	all := map[string]string{}
	plain := strings.NewReplacer(`\|`, "|", "&lt;", "<")
	for line := range strings.Lines(readme) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ") // the class, the claim, …, the verdict
		last, _, _ := strings.Cut(cells[len(cells)-1], ",")
		if len(cells) < 6 {
			continue // a line of prose
		}
		switch last {
		case "reproduced", "differs", "not reproduced", "holds", "does not hold":
			all[plain.Replace(cells[1])] = last
		}
	}
	return all
}
