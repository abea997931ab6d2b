// Package frontier is the studies of estimators without feedback: E10, the effect of floor,
// granularity, gains and sampling on timeouts; E11, what a clock's tick does to one round trip; and
// E30, the estimators on measured round trips.
package frontier

import (
	"embed"
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
)

//go:embed */*.md *.md */*.yaml *.yaml roundtrips/*.gz
var files embed.FS

// Plan is the plan of the study.
type Plan struct {
	Processes   []string `plan:"processes" oneof:"lognormal spikes shifts bloat bursts delack"`
	Connections int      `plan:"connections" min:"1" max:"100000"`
	Rounds      int      `plan:"rounds" min:"10" max:"100000"`

	RTT      time.Duration `plan:"rtt" min:"1ms" max:"10s"`
	Spread   float64       `plan:"spread" min:"0" max:"3"`
	LeastRTT time.Duration `plan:"least_rtt" min:"1us" max:"10s"`
	MostRTT  time.Duration `plan:"most_rtt" min:"1us" max:"1m"`

	Flight int     `plan:"flight" min:"1" max:"64"`
	Loss   float64 `plan:"loss" unit:"probability" min:"0.0001" max:"0.4"`
	Again  float64 `plan:"again" min:"0" max:"0.9"`

	Floors []time.Duration `plan:"floors" min:"0s" max:"10s" order:"rising"`
	Ticks  []time.Duration `plan:"ticks" min:"0s" max:"500ms" order:"rising"`
	Later  []time.Duration `plan:"later_ticks" min:"1us" max:"500ms" optional:"true"`
	Alone  []time.Duration `plan:"alone" min:"1us" max:"500ms"`
	Alphas []int           `plan:"alphas" min:"1" max:"1024"`
	Betas  []int           `plan:"betas" min:"1" max:"1024"`

	Captures string `plan:"captures" optional:"true"` // a directory; "" is none
	Repeats  int    `plan:"repeats" min:"1" max:"10000"`

	OtherRTTs  []time.Duration `plan:"other_rtts" min:"1ms" max:"10s" order:"rising" optional:"true"`
	OtherSeeds int             `plan:"other_seeds" min:"1" max:"1000"`
	FirstSeed  int             `plan:"first_seed" min:"1" max:"1000000"`

	Seeds int `plan:"seeds" min:"1" max:"1000"`
}

// allTicks returns all granularities of both clocks, in rising order, each once.
func (p *Plan) allTicks() []time.Duration {
	all := slices.Concat(p.Ticks, p.Later)
	slices.Sort(all)
	return slices.Compact(all)
}

// otherRTTs returns the other medians of round trips.
func (p *Plan) otherRTTs() []time.Duration {
	return slices.DeleteFunc(slices.Clone(p.OtherRTTs), func(d time.Duration) bool { return d == p.RTT })
}

// Cell is the results of all estimators on the connections of a process under one seed.
type Cell struct {
	Process string        `json:"process"`
	RTT     time.Duration `json:"rtt_ns,omitempty"` // one of the plan's other medians
	Seed    int           `json:"seed"`
	Rounds  int           `json:"rounds"`
	Tallies []Tally       `json:"tallies"` // by configuration, in the order of Plan.configs
}

// Tally counts good and bad timeouts, and sums the waits of the good ones in seconds and in round
// trips.
type Tally [4]float64

// The fields of a Tally.
const (
	good = iota
	bad
	waited
	normalised
)

// Study is the study.
var Study = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "E10", Name: "frontier", Bed: "estimators", Class: experiments.Shape, Files: files,
	Check: func(p *Plan) error {
		if p.MostRTT < p.LeastRTT {
			return fmt.Errorf("most_rtt: %v, want at least least_rtt, %v", p.MostRTT, p.LeastRTT)
		}
		if p.Ticks[0] != 0 || p.Floors[0] != 0 || len(p.Floors) < 3 {
			return fmt.Errorf("ticks and floors: want 0 in both, and at least three floors")
		}
		if !slices.Contains(p.Alphas, standardAlpha) || !slices.Contains(p.Betas, standardBeta) {
			return fmt.Errorf("alphas and betas: want %d and %d among them", standardAlpha, standardBeta)
		}
		return nil
	},
	Words: func() experiments.Words { return words },
	Cells: cells,
	Judge: func(p *Plan, cells []Cell) (*experiments.Outcome, error) { return outcome(p, cells), nil },
})
