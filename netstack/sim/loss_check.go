package sim

import (
	"fmt"
	"strconv"
	"strings"
)

func checkProbability(field string, p float64) error {
	if !(p >= 0 && p <= 1) { // false for NaN
		return fmt.Errorf("%s %v, want 0 to 1", field, p)
	}
	return nil
}

func formatFloat(p float64) string { return strconv.FormatFloat(p, 'g', -1, 64) }

// String implements Loss.
func (l Bernoulli) String() string { return "bernoulli:" + formatFloat(l.P) }

// Check implements Loss.
func (l Bernoulli) Check() error { return checkProbability("bernoulli probability", l.P) }

// String implements Loss.
func (l GilbertElliott) String() string {
	return "gilbert-elliott:p=" + formatFloat(l.P) + ",r=" + formatFloat(l.R) + ",good=" + formatFloat(l.Good) +
		",bad=" + formatFloat(l.Bad)
}

// Check implements Loss.
func (l GilbertElliott) Check() error {
	for _, f := range []struct {
		name  string
		value float64
	}{{"p", l.P}, {"r", l.R}, {"good", l.Good}, {"bad", l.Bad}} {
		if err := checkProbability("gilbert-elliott "+f.name, f.value); err != nil {
			return err
		}
	}
	return nil
}

// String implements Loss. Runs of numbers are written first-last.
func (l PacketNumbers) String() string {
	var b strings.Builder
	b.WriteString("packets:")
	for i := 0; i < len(l); i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		first := i
		for i+1 < len(l) && l[i+1] == l[i]+1 {
			i++
		}
		b.WriteString(strconv.FormatUint(l[first], 10))
		if i > first {
			b.WriteByte('-')
			b.WriteString(strconv.FormatUint(l[i], 10))
		}
	}
	return b.String()
}

// Check implements Loss.
func (l PacketNumbers) Check() error {
	if len(l) == 0 || len(l) > maxNumbers {
		return fmt.Errorf("%d packet numbers, want 1 to %d", len(l), maxNumbers)
	}
	for i, n := range l {
		if n == 0 || i > 0 && n <= l[i-1] {
			return fmt.Errorf("packet number %d, want numbers from 1, in rising order", n)
		}
	}
	return nil
}

// String implements Loss.
func (l Outages) String() string {
	texts := make([]string, len(l))
	for i, w := range l {
		texts[i] = w.From.String() + "-" + w.To.String()
	}
	return "outages:" + strings.Join(texts, ",")
}

// Check implements Loss.
func (l Outages) Check() error {
	if len(l) == 0 {
		return fmt.Errorf("0 outages, want 1 at least")
	}
	for i, w := range l {
		if w.From < 0 || w.To <= w.From || i > 0 && w.From < l[i-1].To {
			return fmt.Errorf("outage %v-%v, want windows that are not empty, in order and without overlap", w.From, w.To)
		}
	}
	return nil
}

// String implements Loss.
func (l Trace) String() string {
	if l.Repeat {
		return "trace:" + l.Bits + "*"
	}
	return "trace:" + l.Bits
}

// Check implements Loss.
func (l Trace) Check() error {
	if l.Bits == "" {
		return fmt.Errorf("trace of 0 bits, want 1 at least")
	}
	for i := range len(l.Bits) {
		if c := l.Bits[i]; c != '0' && c != '1' {
			return fmt.Errorf("trace bit %d is %q, want 0 or 1", i, c)
		}
	}
	return nil
}

// String implements Loss.
func (l LostRanges) String() string {
	texts := make([]string, len(l))
	for i, r := range l {
		texts[i] = fmt.Sprintf("%d-%d@%d", r.From, r.To, r.Attempt)
	}
	return "ranges:" + strings.Join(texts, ",")
}

// Check implements Loss.
func (l LostRanges) Check() error {
	if len(l) == 0 {
		return fmt.Errorf("0 ranges, want 1 at least")
	}
	for _, r := range l {
		if r.To <= r.From {
			return fmt.Errorf("range end %d, want above its start %d", r.To, r.From)
		}
		if r.Attempt == 0 {
			return fmt.Errorf("range attempt 0, want 1 at least")
		}
	}
	return nil
}
