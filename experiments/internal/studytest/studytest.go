// Package studytest runs studies in tests.
//
//	out := studytest.Run(t, Study, "study: expiry\ntimers: 1000\n")
//	studytest.Want(t, out, experiments.Reproduced, "never-early", "mean")
//
// A test changes results between the cells and the judge to check that a claim can fail:
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

// workers is the number of cells that run at a time.
const workers = 2

// Run runs the quick form of a study. text is a plan that overrides keys of the study's own plan;
// it may be empty.
func Run(t *testing.T, s *experiments.Study, text string) *experiments.Outcome {
	t.Helper()
	return RunJob(t, open(t, s, text))
}

// RunJob runs an opened study.
func RunJob(t *testing.T, j *experiments.Job) *experiments.Outcome {
	t.Helper()
	return verdict(t, j, results(t, j))
}

// RunAltered is Run with a change to the result of each cell before the judge. It also returns the
// changed results. alter may be nil.
func RunAltered[R any](t *testing.T, s *experiments.Study, text string, alter func(r *R)) ([]R, *experiments.Outcome) {
	t.Helper()
	j := open(t, s, text)
	raw := results(t, j)
	all := make([]R, len(raw))
	for i := range raw {
		err := experiments.UnmarshalCell(raw[i], &all[i])
		if err == nil && alter != nil {
			alter(&all[i])
			raw[i], err = experiments.MarshalCell(all[i])
		}
		if err != nil {
			t.Fatalf("%s: %v", j.Cells[i].Name, err)
		}
	}
	return all, verdict(t, j, raw)
}

func results(t *testing.T, j *experiments.Job) []json.RawMessage {
	t.Helper()
	r, err := experiments.Run(t.Context(), []*experiments.Job{j}, nil, workers, nil)
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

// Own returns the plan of a study for a quick run.
func Own[P any](t *testing.T, s *experiments.Study) *P {
	t.Helper()
	p := new(P)
	if err := parse(t, s.Plan()).Decode(p, true); err != nil {
		t.Fatal(err)
	}
	return p
}

// Cells runs cells one after another and returns their results in order.
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

// Judge returns the outcome of results. It does not check the outcome: changed results may give
// figures that cannot be drawn.
func Judge[P, R any](t *testing.T, judge func(*P, []R) (*experiments.Outcome, error), p *P,
	results []R) *experiments.Outcome {
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

// Live runs the live part of that name like Run, and checks the outcome. It skips the test if the
// part cannot run here.
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

// WantRefused checks that a study refuses plans. Each key is the text of a plan after its first
// line, and its value is part of the error.
func WantRefused(t *testing.T, s *experiments.Study, plans map[string]string) {
	t.Helper()
	for text, want := range plans {
		if _, err := s.OpenPlan(parse(t, "study: "+s.Name+"\n"+text), false); err == nil || !strings.Contains(err.Error(),
			want) {
			t.Errorf("plan %q: %v, want %s", text, err, want)
		}
	}
}

// Want checks the verdicts on the named claims, or on all claims without names.
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
		t.Errorf("the outcome has %d of the claims %q", seen, names)
	}
}

// WantOthers checks the verdicts on all claims except the named ones.
func WantOthers(t *testing.T, out *experiments.Outcome, want experiments.Verdict, but ...string) {
	t.Helper()
	var others []string
	for _, c := range out.Claims {
		if !slices.Contains(but, c.Name) {
			others = append(others, c.Name)
		}
	}
	if len(others) == 0 || len(out.Claims)-len(others) < len(but) {
		t.Fatalf("%d of %d claims are not among %q", len(others), len(out.Claims), but)
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
