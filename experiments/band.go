package experiments

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tcpwheel/wheel/stat"
)

// Band is the result that a claim expects, set before the run. It decides the verdict and prints
// itself, so the two cannot differ. The zero Band expects nothing, and Check refuses it.
type Band struct {
	text  string
	judge func(x float64) Verdict
	edges []float64 // where the verdict may change
	basis string    // where the numbers come from, "" if the claim must say
}

// String returns the expected result, as "1250 ± 25 ms".
func (b Band) String() string { return b.text }

// Basis returns where the band's numbers come from, "" if its claim must say.
func (b Band) Basis() string { return b.basis }

// MarshalText returns String.
func (b Band) MarshalText() ([]byte, error) { return []byte(b.text), nil }

// UnmarshalText reads the text of a Band that another program has judged by. Judge panics on it.
func (b *Band) UnmarshalText(text []byte) error {
	*b = Band{text: string(text)}
	return nil
}

// Judge returns the verdict on a measured number.
func (b Band) Judge(m Measure) Verdict {
	if b.judge == nil {
		panic("BUG: a band without a rule")
	}
	return b.judge(m.judged)
}

// Has reports whether a number is reproduced.
func (b Band) Has(x float64) bool { return b.judge(x) == Reproduced }

// accept returns a Band without middle ground.
func accept(text, unit string, ok func(x float64) bool, edges ...float64) Band {
	if unit != "" {
		text += " " + unit
	}
	return Band{text: text, judge: func(x float64) Verdict { return verdict(ok(x), false) }, edges: edges}
}

func verdict(reproduced, differs bool) Verdict {
	switch {
	case reproduced:
		return Reproduced
	case differs:
		return Differs
	}
	return NotReproduced
}

// Exactly expects x.
func Exactly(x float64, unit string) Band {
	b := accept("exactly "+Number(x), unit, func(y float64) bool { return y == x })
	b.basis = asStated
	return b
}

// Within expects x, or at most tolerance more or less.
func Within(x, tolerance float64, unit string) Band {
	if tolerance == 0 {
		return Exactly(x, unit)
	}
	return accept(Number(x)+" ± "+Number(tolerance), unit, func(y float64) bool {
		return y >= x-tolerance && y <= x+tolerance
	}, x-tolerance, x+tolerance)
}

// WithinPercent expects x, or at most that share of x more or less.
func WithinPercent(x, percent float64, unit string) Band {
	tolerance := float64(math.Abs(x) * (percent / 100))
	return accept(Measured(x, unit).String()+" ± "+Number(percent)+" %", "", func(y float64) bool {
		return math.Abs(y-x) <= tolerance
	}, x-tolerance, x+tolerance)
}

// printedTolerance is the share of a printed number by which a reproduction may miss it. Papers
// rarely print an interval, so one rule holds for all studies.
const printedTolerance = 10.0 // %

const (
	asStated     = "as stated"
	printedBasis = "the printed number ± 10 %, the rule of all studies for a number without an interval"
)

// Printed expects a printed number, ± 10 %: the rule of all studies for a number that is printed
// without an interval.
func Printed(x float64, unit string) Band {
	b := WithinPercent(x, printedTolerance, unit)
	b.basis = printedBasis
	return b
}

// PrintedRange is Printed for several numbers from lo to hi.
func PrintedRange(lo, hi float64, unit string) Band {
	const share = printedTolerance / 100
	b := Between(lo-float64(math.Abs(lo)*share), hi+float64(math.Abs(hi)*share), unit)
	b.basis = printedBasis
	return b
}

// PrintedBound returns a one-sided band for an inequality that is printed.
func PrintedBound(b Band) Band {
	b.basis = "the inequality as printed"
	return b
}

// Between expects lo to hi, both included.
func Between(lo, hi float64, unit string) Band {
	return accept(Number(lo)+" to "+Number(hi), unit, func(y float64) bool { return y >= lo && y <= hi }, lo, hi)
}

// AtLeast expects x or more.
func AtLeast(x float64, unit string) Band {
	return accept("at least "+Number(x), unit, func(y float64) bool { return y >= x }, x)
}

// AtMost expects x or less.
func AtMost(x float64, unit string) Band {
	return accept("at most "+Number(x), unit, func(y float64) bool { return y <= x }, x)
}

// Above expects more than x.
func Above(x float64, unit string) Band {
	return accept("above "+Number(x), unit, func(y float64) bool { return y > x }, x)
}

// Below expects less than x.
func Below(x float64, unit string) Band {
	return accept("below "+Number(x), unit, func(y float64) bool { return y < x }, x)
}

// Whether expects a condition, which the text describes. Its verdict does not depend on the
// Measure.
func Whether(ok bool, format string, args ...any) Band {
	return accept(fmt.Sprintf(format, args...), "", func(float64) bool { return ok })
}

// OrDiffers returns b with middle ground: a number outside b and within wide differs.
func (b Band) OrDiffers(wide Band) Band {
	return Band{b.text + "; " + wide.text + " differs", func(x float64) Verdict {
		return verdict(b.Has(x), wide.Has(x))
	}, append(slices.Clone(b.edges), wide.edges...), b.basis}
}

// Saying returns b with another text, for a band that numbers alone do not explain.
func (b Band) Saying(format string, args ...any) Band {
	b.text = fmt.Sprintf(format, args...)
	return b
}

// Also returns b with a second condition, which the text describes. Without it nothing is
// reproduced.
func (b Band) Also(ok bool, format string, args ...any) Band {
	judge := b.judge
	b.text += ", " + fmt.Sprintf(format, args...)
	b.judge = func(x float64) Verdict {
		if !ok {
			return NotReproduced
		}
		return judge(x)
	}
	return b
}

// chance returns the probability that chance alone puts a measure with an interval so far from the
// nearest edge of its verdict, if the truth were on that edge. It takes the measure as normally
// distributed, with the standard error that the 95 % interval implies. It returns nil without
// an interval or edge.
func (b Band) chance(m Measure) *float64 {
	if m.Lo == nil || m.judged != m.judged {
		return nil
	}
	edge, ok := b.nearest(m)
	if !ok {
		return nil
	}
	nearest := math.Abs(m.judged - edge)
	p := 1.0
	if se := (*m.Hi - *m.Lo) / (2 * 1.96); se > 0 {
		p = stat.NormalTail(nearest / se)
	} else if nearest > 0 {
		p = 0
	}
	return &p
}

// nearest returns the edge nearest to a measure where the verdict changes.
func (b Band) nearest(m Measure) (at float64, ok bool) {
	own, nearest := b.judge(m.judged), math.Inf(1)
	for _, edge := range b.edges {
		d := math.Abs(m.judged - edge)
		if b.judge(edge-float64(d*1e-6)-1e-12) == own && b.judge(edge+float64(d*1e-6)+1e-12) == own {
			continue
		}
		if d < nearest {
			at, nearest, ok = edge, d, true
		}
	}
	return at, ok
}

// reached returns the nearest edge, and whether the interval of a measure reaches it.
func (b Band) reached(m Measure) (edge float64, reached bool) {
	edge, ok := b.nearest(m)
	return edge, ok && *m.Lo < *m.Hi && *m.Lo <= edge && edge <= *m.Hi
}

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
