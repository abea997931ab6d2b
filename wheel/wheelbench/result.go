package wheelbench

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tcpwheel/wheel"
)

// Result is the result of one cell: a scheme under a workload with n timers. It is one line of
// JSON.
type Result struct {
	Scheme   string `json:"scheme"`
	Workload string `json:"workload"`
	N        int    `json:"n"`

	// Figures is nil if the cell was skipped.
	*Figures

	Skipped string `json:"skipped,omitempty" help:"why there are no figures"`
}

// Figures are the measurements of a cell.
type Figures struct {
	NsPerOp     float64 `json:"ns_per_op" head:"ns/op" cell:"digits" help:"median of the rounds"`
	NsLow       float64 `json:"ns_low" help:"the fastest round"`
	NsHigh      float64 `json:"ns_high" help:"the slowest round"`
	Ops         int     `json:"ops" help:"timed operations of all rounds"`
	AllocsPerOp float64 `json:"allocs_per_op" head:"allocs" cell:"digits"`

	BytesPerTimer float64 `json:"bytes_per_timer" head:"B/timer" cell:"digits" help:"heap, slots included, divided by n"`
	GC            float64 `json:"gc_s" head:"GC" help:"by which n timers prolong a garbage collection"`
	RuntimeRatio  float64 `json:"runtime_ratio,omitempty" head:"speed-up" cell:"digits 0=-" help:"the time of the Go runtime's timers divided by ns_per_op"`

	// Counts is nil for the Go runtime, and where the budget was too small.
	CountedOps int           `json:"counted_ops,omitempty" help:"operations of the workload whose elementary operations are in counts"`
	Counts     *wheel.Counts `json:"counts,omitempty"`

	// In tables: half of NsHigh less NsLow as a part of NsPerOp, and VisitsPerOp.
	Spread float64  `json:"-" head:"± %" cell:"%"`
	Visits *float64 `json:"-" head:"visits" cell:"digits"`
}

// VisitsPerOp returns how many records each operation looked at, and whether that was counted.
func (f *Figures) VisitsPerOp() (float64, bool) {
	if f.Counts == nil {
		return 0, false
	}
	return float64(f.Counts.Visits()) / float64(f.CountedOps), true
}

// sample is one timed round.
type sample struct {
	ops    int
	took   time.Duration
	allocs uint64
}

func (s sample) nsPerOp() float64 { return float64(s.took) / float64(s.ops) }

// figures summarises the rounds of a cell, at least one.
func figures(samples []sample) *Figures {
	byTime := slices.SortedFunc(slices.Values(samples), func(a, b sample) int {
		return cmp.Compare(a.nsPerOp(), b.nsPerOp())
	})
	var f Figures
	var allocs uint64
	for _, s := range samples {
		f.Ops += s.ops
		allocs += s.allocs
	}
	mid := len(byTime) / 2
	f.NsPerOp = byTime[mid].nsPerOp()
	if len(byTime)%2 == 0 {
		f.NsPerOp = (f.NsPerOp + byTime[mid-1].nsPerOp()) / 2
	}
	f.NsPerOp = round(f.NsPerOp)
	f.NsLow = round(byTime[0].nsPerOp())
	f.NsHigh = round(byTime[len(byTime)-1].nsPerOp())
	f.AllocsPerOp = round(float64(allocs) / float64(f.Ops))
	return &f
}

// round drops the digits that a clock and a heap on a busy machine cannot give.
func round(x float64) float64 { return math.Round(x*1000) / 1000 }
