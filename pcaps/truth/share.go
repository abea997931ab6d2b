package truth

import "math"

// Part is how many of some are what they should be.
type Part struct{ Right, All int }

// FlowShares are the parts of one flow: what intervals are made from, as the losses of one flow are not independent.
type FlowShares struct {
	Kinds     Part // episodes of the right kind
	Precision Part // retransmissions that are spurious, of those that were called so
	Recall    Part // those that were called spurious, of those that are
}

// shares returns those of a tally of one flow.
func (s *Tally) shares() (f FlowShares) {
	f.Kinds.Right, f.Kinds.All = s.Episodes.Right()
	f.Precision, f.Recall = s.Verdicts.parts()
	return f
}

// Share is a part in percent, and where it lies with a probability of 95 %.
type Share struct{ Percent, Low, High float64 }

// Share returns the part that the flows have together. Its interval is Wilson's (1927), of as many as would tell as
// much if they were independent: their variance is that between flows, if it is larger (the design effect of samples by
// clusters, Kish 1965). 100 % of nothing lies between 0 and 100.
func (s *Tally) Share(of func(*FlowShares) Part) Share {
	var sum Part
	flows := 0
	for i := range s.Flows {
		p := of(&s.Flows[i])
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
	effect := n / float64(flows) // of flows of which each is all right or all wrong
	if flows > 1 && p*(1-p) > 0 {
		squares := 0.0
		for i := range s.Flows {
			f := of(&s.Flows[i])
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

// wilson returns the interval of 95 % for a part p of n.
func wilson(p, n float64) (low, high float64) {
	const z = 1.959964
	mid := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(mid-half, 0), min(mid+half, 1)
}
