package report

import (
	"slices"
	"time"

	"tcpwheel/wheel/stat"
)

// Spans keeps time spans for quantiles: all of the first 4096, then every second one, and so on.
// The zero value is empty.
type Spans struct {
	all    []time.Duration
	step   int
	seen   int
	sorted bool
}

const maxSpans = 1 << 12

// Add adds a span.
func (s *Spans) Add(d time.Duration) {
	s.step = max(s.step, 1)
	s.seen++
	if (s.seen-1)%s.step != 0 {
		return
	}
	if len(s.all) == maxSpans {
		// Every second one is as good a sample as the others, in any order.
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

// Len returns how many spans were added.
func (s *Spans) Len() int { return s.seen }

// Quantile returns the q-quantile of the kept spans, as in package stat; 0 if there are none.
func (s *Spans) Quantile(q float64) time.Duration {
	if len(s.all) == 0 {
		return 0
	}
	return s.inOrder()[stat.Rank(len(s.all), q)]
}

// inOrder returns the kept spans, shortest first.
func (s *Spans) inOrder() []time.Duration {
	if !s.sorted {
		slices.Sort(s.all)
		s.sorted = true
	}
	return s.all
}
