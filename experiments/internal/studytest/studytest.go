// Package studytest runs studies in tests.
//
//	out := studytest.Run(t, Study, "study: expiry\ntimers: 1000\n")
//	studytest.Want(t, out, experiments.Reproduced, "never-early", "mean")
//
// What would falsify a study is put in between its cells and its judge:
//
//	all := studytest.Cells(t, cells(p))
//	all[0].Early++
//	out := studytest.Judge(t, judge, p, all)
//	studytest.Want(t, out, experiments.NotReproduced, "never-early")
package studytest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"tcpwheel/experiments"
	"tcpwheel/experiments/plan"
)

// workers is how many cells run at a time.
const workers = 2

// Run runs a study in quick form with a plan over its own; "" is its own. The test fails if the study does.
func Run(t *testing.T, s *experiments.Study, text string) *experiments.Outcome {
	t.Helper()
	j := open(t, s, text)
	return verdict(t, j, results(t, j))
}

// RunAltered is Run with a change made to the result of each cell before they are judged. It returns what was judged, too.
// alter may be nil.
func RunAltered[R any](t *testing.T, s *experiments.Study, text string, alter func(r *R)) ([]R, *experiments.Outcome) {
	t.Helper()
	j := open(t, s, text)
	raw := results(t, j)
	all := make([]R, len(raw))
	for i := range raw {
		err := json.Unmarshal(raw[i], &all[i])
		if err == nil && alter != nil {
			alter(&all[i])
			raw[i], err = json.Marshal(all[i])
		}
		if err != nil {
			t.Fatalf("%s: %v", j.Cells[i].Name, err)
		}
	}
	return all, verdict(t, j, raw)
}

func results(t *testing.T, j *experiments.Job) []json.RawMessage {
	t.Helper()
	r, err := experiments.Run(t.Context(), []*experiments.Job{j}, experiments.Shard{}, workers, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r[j.Study.Name]
}

func verdict(t *testing.T, j *experiments.Job, raw []json.RawMessage) *experiments.Outcome {
	t.Helper()
	out, err := j.Judge(raw)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Own returns the plan of a study as a quick run has it.
func Own[P any](t *testing.T, s *experiments.Study) *P {
	t.Helper()
	p := new(P)
	if err := parse(t, s.Plan).Decode(p, true); err != nil {
		t.Fatal(err)
	}
	return p
}

// Cells runs cells one after another, and returns their results in order.
func Cells[R any](t *testing.T, cells []experiments.Cell[R]) []R {
	t.Helper()
	var all []R
	for _, c := range cells {
		r, err := c.Run(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		all = append(all, r)
	}
	return all
}

// Judge returns what a study's judge makes of results. The outcome is not checked: results that no run would give may have no
// figure that can be drawn.
func Judge[P, R any](t *testing.T, judge func(*P, []R) (*experiments.Outcome, error), p *P, results []R) *experiments.Outcome {
	t.Helper()
	out, err := judge(p, results)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Check checks that an outcome is complete.
func Check(t *testing.T, out *experiments.Outcome) {
	t.Helper()
	if err := out.Check(); err != nil {
		t.Error(err)
	}
}

// Live runs the live part of that name as Run does the cells. The test is skipped if it cannot run here.
func Live(t *testing.T, s *experiments.Study, name, text string) *experiments.Outcome {
	t.Helper()
	for _, l := range open(t, s, text).Live {
		if l.Name != name {
			continue
		}
		if l.Needs != nil {
			if err := l.Needs(); err != nil {
				t.Skip(err)
			}
		}
		out, err := l.Run(t.Context())
		if err == nil {
			err = out.Check()
		}
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	t.Fatalf("study %s has no live part %q", s.Name, name)
	return nil
}

func open(t *testing.T, s *experiments.Study, text string) *experiments.Job {
	t.Helper()
	var source *plan.File
	if text != "" {
		source = parse(t, text)
	}
	j, err := s.OpenPlan(source, true)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func parse(t *testing.T, text string) *plan.File {
	t.Helper()
	f, err := plan.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// WantRefused checks that a study refuses plans: each key is what a plan says after the name of the study, and its value stands
// in the error.
func WantRefused(t *testing.T, s *experiments.Study, plans map[string]string) {
	t.Helper()
	for text, want := range plans {
		if _, err := s.OpenPlan(parse(t, "study: "+s.Name+"\n"+text), false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("plan %q: %v, want %s", text, err, want)
		}
	}
}

// Want checks the verdicts on the claims of those names, and on all if none is named.
func Want(t *testing.T, out *experiments.Outcome, want experiments.Verdict, names ...string) {
	t.Helper()
	seen := 0
	for _, c := range out.Claims {
		if len(names) > 0 && !slices.Contains(names, c.Name) {
			continue
		}
		seen++
		if c.Verdict != want {
			t.Errorf("claim %s is %s, want %s: measured %v, expected %s", c.Name, c.Verdict, want, c.Measured, c.Expected)
		}
	}
	if seen == 0 || seen < len(names) {
		t.Errorf("%d of the claims %q stand in the outcome", seen, names)
	}
}

// WantOthers checks the verdicts on all claims but those of those names.
func WantOthers(t *testing.T, out *experiments.Outcome, want experiments.Verdict, but ...string) {
	t.Helper()
	var others []string
	for _, c := range out.Claims {
		if !slices.Contains(but, c.Name) {
			others = append(others, c.Name)
		}
	}
	if len(others) == 0 || len(out.Claims)-len(others) < len(but) {
		t.Fatalf("%d of %d claims are others than %q", len(others), len(out.Claims), but)
	}
	Want(t, out, want, others...)
}

// Verdicts returns the verdicts by the names of the claims.
func Verdicts(out *experiments.Outcome) map[string]experiments.Verdict {
	all := map[string]experiments.Verdict{}
	for _, c := range out.Claims {
		all[c.Name] = c.Verdict
	}
	return all
}

// Claim returns the claim of that name.
func Claim(t *testing.T, out *experiments.Outcome, name string) experiments.Claim {
	t.Helper()
	for _, c := range out.Claims {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no claim %s", name)
	return experiments.Claim{}
}
