// Package studytest runs studies in tests.
//
//	out := studytest.Run(t, Study, "study: expiry\ntimers: 1000\n")
//	studytest.Want(t, out, experiments.Reproduced, "never-early", "mean")
package studytest

import (
	"context"
	"slices"
	"testing"

	"tcpwheel/experiments"
	"tcpwheel/experiments/plan"
)

// Run runs a study in quick form with a plan over its own; "" is its own. The test fails if the study does.
func Run(t *testing.T, s *experiments.Study, text string) *experiments.Outcome {
	t.Helper()
	j := open(t, s, text)
	results, err := experiments.Run(context.Background(), []*experiments.Job{j}, experiments.Shard{}, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := j.Judge(results[s.Name])
	if err != nil {
		t.Fatal(err)
	}
	return out
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
		f, err := plan.Parse("test", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		source = f
	}
	j, err := s.OpenPlan(source, true)
	if err != nil {
		t.Fatal(err)
	}
	return j
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
