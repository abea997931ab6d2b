package experiments

import (
	"fmt"
	"math"
)

// Band is the result that a claim expects, set before the run. It decides the verdict and prints
// itself, so the two cannot differ. The zero Band expects nothing, and Check refuses it.
type Band struct {
	text  string
	judge func(x float64) Verdict
}

// String returns the expected result, as "1250 ± 25 ms".
func (b Band) String() string { return b.text }

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
func accept(text, unit string, ok func(x float64) bool) Band {
	if unit != "" {
		text += " " + unit
	}
	return Band{text, func(x float64) Verdict { return verdict(ok(x), false) }}
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
	return accept("exactly "+Number(x), unit, func(y float64) bool { return y == x })
}

// Within expects x, or at most tolerance more or less.
func Within(x, tolerance float64, unit string) Band {
	if tolerance == 0 {
		return Exactly(x, unit)
	}
	return accept(Number(x)+" ± "+Number(tolerance), unit, func(y float64) bool {
		return y >= x-tolerance && y <= x+tolerance
	})
}

// WithinPercent expects x, or at most that share of x more or less.
func WithinPercent(x, percent float64, unit string) Band {
	tolerance := math.Abs(x) * (percent / 100)
	return accept(Measured(x, unit).String()+" ± "+Number(percent)+" %", "", func(y float64) bool {
		return math.Abs(y-x) <= tolerance
	})
}

// Between expects lo to hi, both included.
func Between(lo, hi float64, unit string) Band {
	return accept(Number(lo)+" to "+Number(hi), unit, func(y float64) bool { return y >= lo && y <= hi })
}

// AtLeast expects x or more.
func AtLeast(x float64, unit string) Band {
	return accept("at least "+Number(x), unit, func(y float64) bool { return y >= x })
}

// AtMost expects x or less.
func AtMost(x float64, unit string) Band {
	return accept("at most "+Number(x), unit, func(y float64) bool { return y <= x })
}

// Above expects more than x.
func Above(x float64, unit string) Band {
	return accept("above "+Number(x), unit, func(y float64) bool { return y > x })
}

// Below expects less than x.
func Below(x float64, unit string) Band {
	return accept("below "+Number(x), unit, func(y float64) bool { return y < x })
}

// None expects a Tally of at least one case and no exception.
func None() Band { return accept("none", "", func(y float64) bool { return y == 0 }) }

// Whether expects a condition, which the text describes. Its verdict does not depend on the
// Measure.
func Whether(ok bool, format string, args ...any) Band {
	return accept(fmt.Sprintf(format, args...), "", func(float64) bool { return ok })
}

// OrDiffers returns b with middle ground: a number outside b and within wide differs.
func (b Band) OrDiffers(wide Band) Band {
	return Band{b.text + "; " + wide.text + " differs", func(x float64) Verdict {
		return verdict(b.Has(x), wide.Has(x))
	}}
}

// OrDiffersIf returns b with middle ground: what is outside b differs if the condition holds, which
// the text describes.
func (b Band) OrDiffersIf(ok bool, format string, args ...any) Band {
	return b.OrDiffers(Whether(ok, format, args...))
}

// Saying returns b with another text, for a band that numbers alone do not explain.
func (b Band) Saying(format string, args ...any) Band {
	return Band{fmt.Sprintf(format, args...), b.judge}
}

// Tally counts the exceptions to a rule among the cases that were looked at. Its Band is None.
type Tally struct{ Exceptions, Cases int }

// Add counts a case, and an exception unless the rule holds.
func (t *Tally) Add(holds bool) {
	t.Cases++
	if !holds {
		t.Exceptions++
	}
}

// Measure returns the tally as text, as "2 of 30 runs early". Without cases it is not reproduced.
func (t Tally) Measure(format string, args ...any) Measure {
	m := MeasuredText("%d of %d "+format, append([]any{t.Exceptions, t.Cases}, args...)...)
	if t.Cases == 0 {
		return m
	}
	return m.Judging(float64(t.Exceptions))
}
