package judge

import (
	"fmt"

	"tcpwheel/experiments"
)

// Rule is a claim next to the function that measures it in the rows of type R of a plan P.
type Rule[P, R any] struct {
	experiments.Claim // without a measure, band or verdict

	// Applies returns why a plan leaves the claim without meaning, or ""; nil always applies.
	Applies func(p *P, rows []R) (why string)
	// Measure returns the measure, and the band that was fixed before: it depends on the plan alone.
	Measure func(p *P, rows []R) (experiments.Measure, experiments.Band)
}

// Claims judges the rows by all rules. seeds is how many independent values an interval rests on:
// with fewer than Seeds no published claim with an interval has a verdict.
func Claims[P, R any](rules []Rule[P, R], p *P, rows []R, seeds int) []experiments.Claim {
	out := &experiments.Outcome{}
	for _, r := range rules {
		c := r.Claim
		if r.Applies != nil {
			if why := r.Applies(p, rows); why != "" {
				out.NotApplicable(c, why)
				continue
			}
		}
		c.Measured, c.Expected = r.Measure(p, rows)
		if c.Class == experiments.OfOthers && c.Measured.Lo != nil && seeds < Seeds {
			c.Needs = fmt.Sprintf("an interval over %d seeds is too narrow: run at least %d", seeds, Seeds)
		}
		out.Claim(c)
	}
	return out.Claims
}
