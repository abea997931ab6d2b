package wheelbench

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"
)

// WriteTable writes results as text, a table for each workload and n, at most 80 columns wide.
// Time, allocations and visits are per operation. speed-up is the time of the Go runtime's timers
// divided by that of the scheme.
func WriteTable(w io.Writer, results []Result) error {
	b := bufio.NewWriter(w)
	for i, r := range results {
		if i == 0 || r.Workload != results[i-1].Workload || r.N != results[i-1].N {
			if i > 0 {
				fmt.Fprintln(b)
			}
			about := ""
			if w := findWorkload(r.Workload); w != nil {
				about = ": " + w.About
			}
			fmt.Fprintf(b, "%s\n%s%-20s %9s %5s %6s %7s %6s %7s %8s\n", cut(fmt.Sprintf("%s, n = %d%s", r.Workload, r.N, about), 80), answer(results[i:]),
				"scheme", "ns/op", "±", "allocs", "B/timer", "GC ms", "visits", "speed-up")
		}
		if r.Figures == nil {
			fmt.Fprintf(b, "%-20s %s\n", cut(r.Scheme, 20), cut("skipped: "+r.Skipped, 59))
			continue
		}
		visits, ratio := "-", "-"
		if v, ok := r.VisitsPerOp(); ok {
			visits = digits(v)
		}
		if r.RuntimeRatio > 0 {
			ratio = digits(r.RuntimeRatio)
		}
		spread := 0.0
		if r.NsPerOp > 0 {
			spread = (r.NsHigh - r.NsLow) / 2 / r.NsPerOp * 100
		}
		fmt.Fprintf(b, "%-20s %9s %4.0f%% %6s %7s %6s %7s %8s\n", cut(r.Scheme, 20), digits(r.NsPerOp), min(spread, 999),
			digits(r.AllocsPerOp), digits(r.BytesPerTimer), digits(r.GCMillis), visits, ratio)
	}
	return b.Flush()
}

// answer returns a line with the fastest scheme of the first table of results, compared with Go's
// timers or with the slowest, and one with the limit. It returns "" for fewer than two schemes.
func answer(results []Result) string {
	var fastest, slowest *Result
	limit := ""
	for i := range results {
		r := &results[i]
		if r.Workload != results[0].Workload || r.N != results[0].N {
			break
		}
		if r.Figures == nil {
			continue
		}
		if r.Scheme == Limit {
			limit = fmt.Sprintf("The same work without a wheel takes %s ns.\n", digits(r.NsPerOp))
			continue
		}
		if fastest == nil || r.NsPerOp < fastest.NsPerOp {
			fastest = r
		}
		if slowest == nil || r.NsPerOp > slowest.NsPerOp {
			slowest = r
		}
	}
	if fastest == nil || fastest == slowest {
		return ""
	}
	text := fmt.Sprintf("%s is the fastest, %s ns", fastest.Scheme, digits(fastest.NsPerOp))
	if fastest.RuntimeRatio > 0 && fastest.Scheme != Runtime {
		text += fmt.Sprintf("; Go's timers take %s times that", digits(fastest.RuntimeRatio))
	} else if fastest.NsPerOp > 0 {
		text += fmt.Sprintf("; %s takes %s times that", slowest.Scheme, digits(slowest.NsPerOp/fastest.NsPerOp))
	}
	return cut(text+".", 80) + "\n" + limit
}

// digits writes x with three significant digits, or with all digits before the point if there are
// more.
func digits(x float64) string {
	switch {
	case x == 0:
		return "0"
	case math.Abs(x) < 9.995:
		return strconv.FormatFloat(x, 'f', 2, 64)
	case math.Abs(x) < 99.95:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 0, 64)
}

// cut shortens s to n characters.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
