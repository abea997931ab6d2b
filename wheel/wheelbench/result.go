package wheelbench

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tcpwheel/wheel"
)

// Result is what was found for one cell: a scheme under a workload of n timers. It is one line of JSON.
type Result struct {
	Scheme   string `json:"scheme"`
	Workload string `json:"workload"`
	N        int    `json:"n"`

	// Figures is nil if the cell was skipped.
	*Figures

	// Skipped says why there are no figures.
	Skipped string `json:"skipped,omitempty"`
}

// Figures are the figures of a cell.
type Figures struct {
	NsPerOp     float64 `json:"ns_per_op"` // median of the rounds
	NsLow       float64 `json:"ns_low"`    // the fastest round
	NsHigh      float64 `json:"ns_high"`   // the slowest round
	Ops         int     `json:"ops"`       // timed operations of all rounds
	AllocsPerOp float64 `json:"allocs_per_op"`

	BytesPerTimer float64 `json:"bytes_per_timer"` // heap, slots included, divided by n
	GCMillis      float64 `json:"gc_ms"`           // what n timers add to a garbage collection

	// RuntimeRatio is how many times as long the Go runtime's timers took; 0 if they were not measured.
	RuntimeRatio float64 `json:"runtime_ratio,omitempty"`

	// Counts are the operations of CountedOps operations of the workload, nil where they were not counted: in the Go
	// runtime, and where the budget was too small.
	CountedOps int           `json:"counted_ops,omitempty"`
	Counts     *wheel.Counts `json:"counts,omitempty"`
}

// VisitsPerOp returns how many records were looked at for each operation, and whether that was counted.
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

// figures sums up the rounds of a cell, of which there is one at least.
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

// round drops the digits that a clock and a heap on a busy machine do not give.
func round(x float64) float64 { return math.Round(x*1000) / 1000 }
