package truth

import "math"

// Part is a number of right ones out of all.
type Part struct{ Right, All int }

// FlowShares are the parts of one flow, the unit of resampling: losses of one flow are not
// independent.
type FlowShares struct {
	Kinds     Part // episodes of the right kind
	Precision Part // truly spurious, of those called spurious
	Recall    Part // called spurious, of those truly spurious
}

// shares returns the parts of a tally of one flow.
func (s *Tally) shares() (f FlowShares) {
	f.Kinds.Right, f.Kinds.All = s.Episodes.Right()
	f.Precision, f.Recall = s.Verdicts.parts()
	return f
}

// Share is a percentage with its interval of 95 % confidence.
type Share struct{ Percent, Low, High float64 }

// Share returns the part over all flows.
func (s *Tally) Share(of func(*FlowShares) Part) Share {
	parts := make([]Part, len(s.Flows))
	for i := range s.Flows {
		parts[i] = of(&s.Flows[i])
	}
	return shareOf(parts)
}

// shareOf returns the sum of parts of one flow, or one trial, each. The interval is Wilson's (1927)
// for the effective sample size: the sample divided by the design effect of clusters (Kish 1965),
// if above 1. Nothing counts as 100 % with the interval 0 to 100.
func shareOf(parts []Part) Share {
	var sum Part
	flows := 0
	for _, p := range parts {
		sum.Right, sum.All = sum.Right+p.Right, sum.All+p.All
		if p.All > 0 {
			flows++
		}
	}
	if sum.All == 0 {
		return Share{100, 0, 100}
	}
	n := float64(sum.All)
	p := float64(sum.Right) / n
	effect := n / float64(flows) // if each flow is all right or all wrong
	if flows > 1 && p*(1-p) > 0 {
		squares := 0.0
		for _, f := range parts {
			d := float64(f.Right) - p*float64(f.All)
			squares += d * d
		}
		effect = squares * float64(flows) / float64(flows-1) / (n * p * (1 - p))
	} else if flows > 1 {
		effect = 1
	}
	n /= max(effect, 1)
	low, high := wilson(p, n)
	return Share{100 * p, 100 * low, 100 * high}
}

// wilson returns the 95 % interval for a part p of n.
func wilson(p, n float64) (low, high float64) {
	const z = 1.959964
	mid := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	low, high = max(mid-half, 0), min(mid+half, 1)
	if p == 0 {
		low = 0 // not 1e-18
	}
	return low, high
}
