package track

import (
	"strconv"
	"time"
)

// SpanText returns a span with three digits and its unit, as "631 ms". No time is "0".
func SpanText(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}} {
		if d >= u.unit {
			return sign + threeDigits(float64(d)/float64(u.unit)) + " " + u.name
		}
	}
	return sign + strconv.FormatInt(int64(d), 10) + " ns"
}

// threeDigits writes a number of at least 1.
func threeDigits(x float64) string {
	digits := 0
	if x < 99.95 {
		digits = 1
	}
	if x < 9.995 {
		digits = 2
	}
	return strconv.FormatFloat(x, 'f', digits, 64)
}
