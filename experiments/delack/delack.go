// Package delack is study E13: what delayed ACKs do to timers.
package delack

import (
	"embed"
	"time"

	"tcpwheel/experiments"
)

//go:embed *.md *.yaml
var files embed.FS

// Plan is the plan of the study.
type Plan struct {
	Heartbeat time.Duration   `plan:"heartbeat" min:"1ms" max:"500ms"`
	Delays    []time.Duration `plan:"delays" min:"1ms" max:"500ms"`

	Bursts     []int         `plan:"bursts" min:"1" max:"10"`
	Arrivals   int           `plan:"arrivals" min:"10" max:"100000"`
	ArrivalRTT time.Duration `plan:"arrival_rtt" min:"100us" max:"1s"`

	WaitRTTs     []time.Duration `plan:"wait_rtts" min:"100us" max:"2s"`
	WaitSegments int             `plan:"wait_segments" min:"1" max:"100000"`

	GridRTT    time.Duration   `plan:"grid_rtt" min:"100us" max:"1s"`
	Floors     []time.Duration `plan:"floors" min:"1ms" max:"10s"`
	GridDelays []time.Duration `plan:"grid_delays" min:"1ms" max:"500ms"`
	GridTails  []int           `plan:"grid_tails" min:"1" max:"9"`
	Tails      int             `plan:"tails" min:"1" max:"1000"`
	Evens      int             `plan:"evens" min:"10" max:"1000"`
	Tick       time.Duration   `plan:"tick" min:"1us" max:"10ms"`
	Policies   []string        `plan:"policies" oneof:"per-segment linux rfc6298 rfc7765 bsd datacenter"`

	OddBursts []int           `plan:"odd_bursts" min:"1" max:"16" optional:"true"`
	OddFloor  time.Duration   `plan:"odd_floor" min:"100ms" max:"10s"`
	OddClocks []time.Duration `plan:"odd_clocks" min:"1ms" max:"500ms" optional:"true"`
	FirstSeed int             `plan:"first_seed" min:"1" max:"1000000"`

	Seeds int `plan:"seeds" min:"1" max:"1000"`
}

type kind string

const (
	kindArrivals kind = "arrivals" // bursts at random instants
	kindWait     kind = "wait"     // a sender that waits for each ACK
	kindGrid     kind = "grid"     // each floor with each delay
	kindRemedy   kind = "remedy"   // a delay a tick under the floor
	kindPolicy   kind = "policy"   // whole policies
	kindOdd      kind = "odd"      // odd bursts and even ones
)

// Cell is the result of one set-up.
type Cell struct {
	Kind   kind          `json:"kind"`               // arrivals, quantile, wait, grid, remedy, policy or odd
	Delay  time.Duration `json:"delay_ns,omitempty"` // of the peer's timer; 0s is the heartbeat
	Seed   int           `json:"seed"`
	RTT    time.Duration `json:"rtt_ns"`
	Burst  int           `json:"burst,omitempty"`  // segments
	Policy string        `json:"policy,omitempty"` // of policy and odd
	Second bool          `json:"second,omitempty"` // whether the floor is on the timeout, not on the variation

	Mean      float64   `json:"mean,omitempty"`      // ms; of last ACKs; of a quantile its value
	P99       float64   `json:"p99,omitempty"`       // ms; the 99th percentile
	Least     float64   `json:"least,omitempty"`     // ms
	Greatest  float64   `json:"greatest,omitempty"`  // ms
	KS        float64   `json:"ks,omitempty"`        // p-value of delays that are even over a beat
	Quantiles []float64 `json:"quantiles,omitempty"` // of the first seed: 0, 2 %, …, 100 %

	Period time.Duration `json:"period_ns,omitempty"` // of a sender that waits

	Grid []Point       `json:"grid,omitempty"`
	Wait time.Duration `json:"wait_ns,omitempty"` // for the lost last segment, of odd
}

// Point is the tails of one floor and delay.
type Point struct {
	Floor    time.Duration `json:"floor_ns"` // of grid and remedy
	Each     bool          `json:"each"`     // a timer per segment, or one timer
	Tails    int           `json:"tails"`    // or bursts
	Spurious int           `json:"spurious"` // tails; with a spurious retransmission
	Against  int           `json:"against"`  // tails; that break the rule
}

// Study is the study.
var Study = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "E13", Name: "delack", Bed: "pair", Class: experiments.Exact, Files: files,
	Words: func() experiments.Words { return words },
	Cells: cells,
	Judge: func(p *Plan, cells []Cell) (*experiments.Outcome, error) { return outcome(p, cells), nil },
})
