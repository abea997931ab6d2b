package wheelbench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "rewrite testdata")

// TestMeasureLateness checks what holds on any machine, however busy: every timer is counted and
// none is early.
func TestMeasureLateness(t *testing.T) {
	const samples = 20
	intervals := []time.Duration{0, 300 * time.Microsecond}
	calls := 0
	report, err := MeasureLateness(t.Context(), LatenessOptions{
		Tick:      200 * time.Microsecond,
		Intervals: intervals,
		Samples:   samples,
		Sources:   LatenessSources(),
		Progress: func(done, total int) {
			if calls++; done != calls || total != samples*len(intervals)*len(LatenessSources()) {
				t.Errorf("progress(%d, %d) at call %d", done, total, calls)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := samples * len(intervals) * len(LatenessSources()); calls != want {
		t.Errorf("%d calls of Progress, want %d", calls, want)
	}
	if len(report.Series) != len(intervals)*len(LatenessSources()) {
		t.Fatalf("%d series, want one for each interval and source", len(report.Series))
	}
	for i, s := range report.Series {
		if s.Source != LatenessSources()[i%len(LatenessSources())] || s.Interval != intervals[i/len(LatenessSources())] {
			t.Errorf("series %d is of %s and %v", i, s.Source, s.Interval)
		}
		if hasTicks := s.Source == Realtime || s.Source == Inline; (s.AtTick != nil) != hasTicks {
			t.Errorf("%s: lateness after the tick: %v, want some: %t", s.Source, s.AtTick, hasTicks)
		}
		for _, d := range []*Distribution{&s.Deadline, s.AtTick} {
			if d == nil {
				continue
			}
			n := 0
			for _, b := range d.Histogram {
				n += b.Count
			}
			if n != samples || d.Samples != samples || len(d.Sorted) != samples || !slices.IsSorted(d.Sorted) {
				t.Errorf("%s: %d samples in the histogram and %d sorted, want %d", s.Source, n, len(d.Sorted), samples)
			}
			if d.Sorted[0] < 0 {
				t.Errorf("%s: a timer was %v early", s.Source, -d.Sorted[0])
			}
			if d.P50 > d.P90 || d.P90 > d.P99 || d.P99 > d.Max {
				t.Errorf("%s: quantiles %v, %v, %v, %v", s.Source, d.P50, d.P90, d.P99, d.Max)
			}
		}
		if s.AtTick != nil && s.AtTick.P50 > s.Deadline.P50 {
			t.Errorf("%s: later after the tick, %v, than after the deadline, %v", s.Source, s.AtTick.P50, s.Deadline.P50)
		}
	}
}

func TestMeasureLatenessIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := MeasureLateness(ctx, LatenessOptions{
		Intervals: []time.Duration{time.Microsecond},
		Samples:   1_000_000,
		Progress: func(done, total int) {
			if done == 10 {
				cancel()
			}
		},
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("MeasureLateness() = %v, want %v", err, context.Canceled)
	}
}

func TestLatenessOptions(t *testing.T) {
	for _, test := range []struct {
		o    LatenessOptions
		want string
	}{
		{LatenessOptions{Samples: -1}, "samples -1, want 1 to 10000000"},
		{LatenessOptions{Intervals: []time.Duration{}}, "no interval"},
		{LatenessOptions{Intervals: []time.Duration{-1}}, "interval -1ns, want 0s to 1h0m0s"},
		{LatenessOptions{Sources: []string{}}, "no source, want some of realtime"},
		{LatenessOptions{Sources: []string{"sundial"}}, `unknown source "sundial", want some of realtime`},
		{LatenessOptions{Tick: -1}, "tick -1ns"},
		{LatenessOptions{Scheme: "scheme0"}, `unknown scheme "scheme0"`},
	} {
		if _, err := MeasureLateness(t.Context(), test.o); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("MeasureLateness(%+v) = %v, want an error with %q", test.o, err, test.want)
		}
	}
}

func TestDistribution(t *testing.T) {
	const us = time.Microsecond
	d := newDistribution([]time.Duration{5 * us, 0, us - 1, us, 2 * us, 2*us - 1, 10000 * us, 9999 * us, 30 * us, 49 * us})
	want := map[time.Duration]int{us: 2, 2 * us: 2, 5 * us: 1, 10 * us: 1, 50 * us: 2, 10000 * us: 1, 0: 1}
	for _, b := range d.Histogram {
		if b.Count != want[b.Below] {
			t.Errorf("%d samples below %v, want %d", b.Count, b.Below, want[b.Below])
		}
	}
	sorted := make([]time.Duration, 1000)
	for i := range sorted {
		sorted[i] = time.Duration(i + 1)
	}
	for _, test := range []struct {
		n    int
		q    float64
		want time.Duration
	}{{1000, .5, 500}, {1000, .99, 990}, {1000, 1, 1000}, {1, .5, 1}, {1, .99, 1}, {2, .5, 1}, {3, .5, 2}, {10, .99, 10}} {
		if got := quantile(sorted[:test.n], test.q); got != test.want {
			t.Errorf("quantile(1..%d, %v) = %d, want %d", test.n, test.q, got, test.want)
		}
	}
}

// madeUp returns a report on invented samples.
func madeUp(sources []string) LatenessReport {
	o := LatenessOptions{Scheme: "scheme6", Tick: 100 * time.Microsecond, Samples: 100, Seed: 1}
	r := newLatenessReport(o)
	r.System, r.Go, r.CPUs = "linux/amd64", "go1.26", 2
	for _, interval := range []time.Duration{100 * time.Microsecond, 10 * time.Millisecond} {
		for _, source := range sources {
			var afterDeadline, afterTick []time.Duration
			for i := range o.Samples {
				late := time.Duration(4000 + i*i*3)
				switch {
				case source == Runtime || source == Alarm:
					afterDeadline = append(afterDeadline, 100*late)
				default:
					afterTick = append(afterTick, late)
					afterDeadline = append(afterDeadline, late+time.Duration(i)*time.Microsecond)
				}
			}
			r.add(o, source, interval, afterDeadline, afterTick)
		}
	}
	return r
}

func TestLatenessTable(t *testing.T) {
	const name = "testdata/lateness.txt"
	var got bytes.Buffer
	if err := madeUp([]string{Realtime, Inline, Runtime}).WriteTable(&got); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(name, got.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("table is\n%s\nwant that of %s; -update rewrites it", got.String(), name)
	}
}

func TestLatenessTableFitsTerminal(t *testing.T) {
	for n := range LatenessSources() {
		r := madeUp(LatenessSources()[:n+1])
		r.Series[0].Deadline.Max = 3 * time.Hour
		var b bytes.Buffer
		if err := r.WriteTable(&b); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSuffix(line, "\n")
			if utf8.RuneCountInString(line) > 80 || strings.TrimRight(line, " ") != line {
				t.Errorf("%d sources: line does not fit 80 columns, or ends in blanks: %q", n+1, line)
			}
		}
	}
}

func TestLatenessJSON(t *testing.T) {
	b, err := json.Marshal(madeUp([]string{Realtime}).Series[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"source":"realtime","interval_ns":100000,"tick_ns":100000,"after_deadline":{"samples":100,"p50_ns":`,
		`"after_tick":{"samples":100,"p50_ns":11203,`, `"histogram":[{"below_ns":1000,"count":0},`,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s is not in %s", want, b)
		}
	}
}
