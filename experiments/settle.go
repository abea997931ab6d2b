package experiments

import (
	"cmp"
	"fmt"
	"slices"
)

// falseDiscoveryRate bounds the expected share of wrong verdicts among the settled ones.
const falseDiscoveryRate = 0.05

// SettleVerdicts marks the verdicts that chance may have decided. Its family is all claims of the
// outcomes whose verdict comes from a number with an interval. It controls the false discovery
// rate at 5 % by the procedure of Y. Benjamini and D. Yekutieli (Annals of Statistics 29(4), 2001),
// which allows any dependence: claims of one study share their seeds.
func SettleVerdicts(outcomes ...*Outcome) {
	var family []*Claim
	for _, o := range outcomes {
		for i := range o.Claims {
			if c := &o.Claims[i]; c.P != nil {
				family = append(family, c)
			}
		}
	}
	slices.SortStableFunc(family, func(a, b *Claim) int { return cmp.Compare(*a.P, *b.P) })
	n, harmonic := float64(len(family)), 0.0
	for i := range family {
		harmonic += 1 / float64(i+1)
	}
	settled := 0
	for i, c := range family {
		if *c.P <= float64(i+1)/n*falseDiscoveryRate/harmonic {
			settled = i + 1
		}
	}
	for i, c := range family {
		c.Unsettled = i >= settled
	}
}

// DoubtQuick gives claims of a quick run the verdict TooFew, where the interval reaches a border of
// the verdict: the seeds of the whole run may decide otherwise.
func (o *Outcome) DoubtQuick() {
	for i := range o.Claims {
		c := &o.Claims[i]
		if c.P == nil {
			continue
		}
		if edge, reached := c.Expected.reached(c.Measured); c.Unsettled || reached {
			c.Verdict, c.Unsettled = TooFew, false
			c.Why = fmt.Sprintf("other seeds may put the number beyond %s, where the verdict changes: run without "+
				"--quick", Number(edge))
		}
	}
}
