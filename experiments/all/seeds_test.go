package all

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tcpwheel/experiments"
	"tcpwheel/experiments/plan"
)

var seedOf = regexp.MustCompile(`"seed":\d+,?`)

// TestFirstSeed checks that each plan with seeds has first_seed, and that another one gives other
// results: of cheap cells with a seed at least one differs in more than the seed.
func TestFirstSeed(t *testing.T) {
	const cells, most = 24, 0.2 // of a processor's seconds
	seeds := regexp.MustCompile(`(?m)^seeds:`)
	for _, s := range Studies() {
		if !seeds.MatchString(s.Plan()) {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			results := func(first string) (all []string) {
				text := "study: " + s.Name + "\nfirst_seed: " + first + "\n"
				f, err := plan.Parse("test", []byte(text))
				if err != nil {
					t.Fatal(err)
				}
				j, err := s.OpenPlan(f, true)
				if err != nil {
					t.Fatal(err)
				}
				j.Cells = slices.DeleteFunc(j.Cells, func(w experiments.Work) bool { return !strings.Contains(w.Name, "seed") })
				slices.SortStableFunc(j.Cells, func(a, b experiments.Work) int { return cmp.Compare(a.Cost, b.Cost) })
				var some []experiments.Work // spread over the cheaper half
				cost := 0.0
				for i := 0; i < len(j.Cells)/2+1 && cost < most; i += len(j.Cells)/cells + 1 {
					some, cost = append(some, j.Cells[i]), cost+j.Cells[i].Cost
				}
				j.Cells = some
				r, err := experiments.Run(context.Background(), []*experiments.Job{j}, nil, 2, nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, text := range r[s.Name] {
					all = append(all, seedOf.ReplaceAllString(string(text), ""))
				}
				return all
			}
			if one, other := results("1"), results("1001"); len(one) == 0 || slices.Equal(one, other) {
				t.Errorf("%d cells have the same results under seeds from 1 and from 1001", len(one))
			}
		})
	}
}
