package wheelbench

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// WriteTable writes the report as text, 80 columns wide: quantiles in microseconds, and a
// histogram per interval.
func (r LatenessReport) WriteTable(w io.Writer) error {
	var b strings.Builder
	b.WriteString(r.answer())
	fmt.Fprintf(&b, "%s, tick %v, %d timers per row, one at a time", r.Scheme, r.Tick, r.Samples)
	if r.NoSpin {
		b.WriteString(", no spinning")
	}
	b.WriteByte('\n')
	fmt.Fprintf(&b, "%s, %s, %d CPUs\n\n", r.System, r.Go, r.CPUs)
	fmt.Fprintf(&b, "lateness in µs   %31s%31s\n", "after the tick", "after the deadline")
	fmt.Fprintf(&b, "timer            ")
	for range 2 {
		fmt.Fprintf(&b, " %7s%7s%7s%9s", "p50", "p90", "p99", "max")
	}
	b.WriteByte('\n')
	for i, s := range r.Series {
		if i == 0 || s.Interval != r.Series[i-1].Interval {
			fmt.Fprintf(&b, "interval %v\n", s.Interval)
		}
		fmt.Fprintf(&b, "  %-15s", s.Source)
		writeQuantiles(&b, s.AtTick)
		writeQuantiles(&b, &s.Deadline)
		b.WriteByte('\n')
	}
	for i := 0; i < len(r.Series); {
		n := i
		for n < len(r.Series) && r.Series[n].Interval == r.Series[i].Interval {
			n++
		}
		writeHistogram(&b, r.Series[i:n])
		i = n
	}
	if slices.ContainsFunc(r.Series, func(s LatenessSeries) bool { return s.AtTick == nil }) {
		b.WriteString("\nAfter the tick, in percent; * has no ticks: after the deadline.\n")
	} else {
		b.WriteString("\nAfter the tick, in percent.\n")
	}
	for line := range strings.Lines(b.String()) {
		if _, err := io.WriteString(w, strings.TrimRight(line, " \n")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// answer returns a line for each source: how late its timers were, in the worst interval.
func (r LatenessReport) answer() string {
	var b strings.Builder
	var said []string
	for _, s := range r.Series {
		if slices.Contains(said, s.Source) {
			continue
		}
		said = append(said, s.Source)
		var median, p99 time.Duration
		after := "tick"
		for _, o := range r.Series {
			if o.Source != s.Source {
				continue
			}
			d := o.AtTick
			if d == nil {
				d, after = &o.Deadline, "deadline"
			}
			median, p99 = max(median, d.P50), max(p99, d.P99)
		}
		fmt.Fprintf(&b, "%s: %s µs late at the median, %s µs at p99, after the %s\n", s.Source, micros(median), micros(p99), after)
	}
	b.WriteByte('\n')
	return b.String()
}

func writeQuantiles(b *strings.Builder, d *Distribution) {
	if d == nil {
		fmt.Fprintf(b, " %7s%7s%7s%9s", "-", "-", "-", "-")
		return
	}
	fmt.Fprintf(b, " %7s%7s%7s%9s", micros(d.P50), micros(d.P90), micros(d.P99), micros(d.Max))
}

// micros writes d in microseconds, or in seconds above 0.1 s, in at most 6 columns.
func micros(d time.Duration) string {
	us := float64(d) / float64(time.Microsecond)
	switch {
	case us < 999.95:
		return fmt.Sprintf("%.1f", us)
	case us < 99_999.5:
		return fmt.Sprintf("%.0f", us)
	}
	return fmt.Sprintf("%.2gs", d.Seconds())
}

// writeHistogram writes the series of one interval next to each other: lateness after the tick,
// or after the deadline for a source without ticks. It omits empty buckets at both ends.
func writeHistogram(b *strings.Builder, series []LatenessSeries) {
	const label = 16
	width := min((80-label)/len(series), 30)
	buckets := make([][]Bucket, len(series))
	first, last := len(latenessBounds), 0
	fmt.Fprintf(b, "\n%-*s", label, "interval "+series[0].Interval.String())
	for i, s := range series {
		name := s.Source
		if buckets[i] = s.Deadline.Histogram; s.AtTick != nil {
			buckets[i] = s.AtTick.Histogram
		} else {
			name += "*"
		}
		used := func(k Bucket) bool { return k.Count > 0 }
		first = min(first, slices.IndexFunc(buckets[i], used))
		for j, k := range buckets[i] {
			if used(k) {
				last = max(last, j)
			}
		}
		fmt.Fprintf(b, "%-*s", width, fmt.Sprintf("%.*s", width-1, name))
	}
	b.WriteByte('\n')
	for j := first; j <= last; j++ {
		fmt.Fprintf(b, "%-*s", label, bucketName(j))
		for i := range series {
			fmt.Fprintf(b, "%-*s", width, bar(buckets[i][j].Count, series[i].Deadline.Samples, width-7))
		}
		b.WriteByte('\n')
	}
}

func bucketName(j int) string {
	switch {
	case j == 0:
		return fmt.Sprintf("       < %v", latenessBounds[0])
	case j == len(latenessBounds):
		return fmt.Sprintf("       ≥ %v", latenessBounds[j-1])
	}
	return fmt.Sprintf("%6v .. %v", latenessBounds[j-1], latenessBounds[j])
}

// bar draws n of total as a percentage and a bar of at most width columns.
func bar(n, total, width int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%5.1f %s", 100*float64(n)/float64(total), strings.Repeat("#", max((n*width+total-1)/total, 1)))
}
