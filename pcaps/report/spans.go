package report

import (
	"slices"
	"time"
)

// Spans are spans of time, for quantiles: all up to 4096, then each second one of twice as many, and so on. The zero value has none.
type Spans struct {
	all    []time.Duration
	step   int
	seen   int
	sorted bool
}

const maxSpans = 1 << 12

// Add takes a span in.
func (s *Spans) Add(d time.Duration) {
	s.step = max(s.step, 1)
	s.seen++
	if (s.seen-1)%s.step != 0 {
		return
	}
	if len(s.all) == maxSpans {
		// In whatever order they are, each second one is as good as the other.
		for i := range maxSpans / 2 {
			s.all[i] = s.all[2*i]
		}
		s.all, s.step = s.all[:maxSpans/2], 2*s.step
		if (s.seen-1)%s.step != 0 {
			return
		}
	}
	s.all, s.sorted = append(s.all, d), false
}

// Len returns how many were added.
func (s *Spans) Len() int { return s.seen }

// Quantile returns the span that a share q of those kept are not longer than, 0 if there are none.
func (s *Spans) Quantile(q float64) time.Duration {
	if len(s.all) == 0 {
		return 0
	}
	return s.inOrder()[int(q*float64(len(s.all)-1)+0.5)]
}

// inOrder returns those kept, the shortest first.
func (s *Spans) inOrder() []time.Duration {
	if !s.sorted {
		slices.Sort(s.all)
		s.sorted = true
	}
	return s.all
}
