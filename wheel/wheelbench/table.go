package wheelbench

import (
	"bufio"
	"fmt"
	"io"
	"unicode/utf8"

	"tcpwheel/internal/record"
)

var layout = record.NewLayout[Result]("%-20scheme %9ns_per_op %5.0Spread %6allocs_per_op %7bytes_per_timer %7gc_s %7Visits %8runtime_ratio")

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
			fmt.Fprintf(b, "%s\n%s%s", cut(fmt.Sprintf("%s, n = %d%s", r.Workload, r.N, about), 80), answer(results[i:]), layout.Head())
		}
		if r.Figures == nil {
			fmt.Fprintf(b, "%-20s %s\n", cut(r.Scheme, 20), cut("skipped: "+r.Skipped, 59))
			continue
		}
		shown := *r.Figures
		if r.NsPerOp > 0 {
			shown.Spread = (r.NsHigh - r.NsLow) / 2 / r.NsPerOp
		}
		if v, ok := r.VisitsPerOp(); ok {
			shown.Visits = &v
		}
		r.Figures = &shown
		b.WriteString(layout.Row(&r))
	}
	return b.Flush()
}

// answer returns a line with the fastest scheme of the first table of results, compared with Go's
// timers or with the slowest. It returns "" for fewer than two schemes.
func answer(results []Result) string {
	var fastest, slowest *Result
	for i := range results {
		r := &results[i]
		if r.Workload != results[0].Workload || r.N != results[0].N {
			break
		}
		if r.Figures == nil {
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
	text := fmt.Sprintf("%s is the fastest, %s ns", fastest.Scheme, record.Digits(fastest.NsPerOp))
	if fastest.RuntimeRatio > 0 && fastest.Scheme != Runtime {
		text += fmt.Sprintf("; Go's timers take %s times that", record.Digits(fastest.RuntimeRatio))
	} else if fastest.NsPerOp > 0 {
		text += fmt.Sprintf("; %s takes %s times that", slowest.Scheme, record.Digits(slowest.NsPerOp/fastest.NsPerOp))
	}
	return cut(text+".", 80) + "\n"
}

// cut shortens s to n characters.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
