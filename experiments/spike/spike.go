// Package spike is study E23: whether coarse timers ride out a delay spike, and at what price.
package spike

import (
	"embed"
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
)

//go:embed *.md *.yaml
var files embed.FS

// Plan is the plan of the study.
type Plan struct {
	RTT    time.Duration   `plan:"rtt" min:"2ms" max:"1s"`
	Rate   int             `plan:"rate" unit:"rate" min:"1000000" max:"1000000000"` // bit/s
	Window int             `plan:"window" min:"4" max:"1000"`                       // segments
	Peaks  []time.Duration `plan:"peaks" min:"2ms" max:"10s" order:"rising"`
	Lasts  time.Duration   `plan:"lasts" min:"100ms" max:"30s"`
	Tried  []time.Duration `plan:"tried" min:"2ms" max:"10s"`
	Warm   time.Duration   `plan:"warm" min:"1s" max:"1m"`
	Watch  time.Duration   `plan:"watch" min:"1s" max:"1m"`

	Ticks    []time.Duration `plan:"ticks" min:"1ms" max:"500ms"`
	Floors   []time.Duration `plan:"floors" min:"1ms" max:"1m"`
	Policies []string        `plan:"policies" oneof:"per-segment linux rfc6298 rfc7765 bsd datacenter"`

	Losses    int `plan:"losses" min:"1" max:"1000"`
	Exchanges int `plan:"exchanges" min:"10" max:"1000"`
	FirstSeed int `plan:"first_seed" min:"1" max:"1000000"`
	Seeds     int `plan:"seeds" min:"1" max:"1000"`

	GVisorSeeds int `plan:"gvisor_seeds" min:"0" max:"1000"`

	Subjects []testbed.Subject `plan:"subjects" optional:"true"`
}

// Cell is the spikes under some timers and one seed.
type Cell struct {
	Timers string  `json:"timers"` // the name of Plan.all
	Seed   int     `json:"seed"`
	Spikes []Spike `json:"spikes"`
	Waits  []int64 `json:"waits,omitempty"` // of lost lone segments, µs
}

// Spike is one spike and what followed. gVisor's TCP does not report its window.
type Spike struct {
	Peak            time.Duration `json:"peak_ns"`         // round trip in the spike; the plan's rtt is no spike
	Response        string        `json:"response"`        // to a spurious timeout
	Retransmissions int           `json:"retransmissions"` // segments, all spurious
	Timeouts        int           `json:"timeouts"`        // spurious
	Undone          int           `json:"undone"`          // reductions of the window that were undone
	Before          uint32        `json:"before"`          // bytes, the window before the spike
	Least           uint32        `json:"least"`           // bytes, the same, least while watched
	After           uint32        `json:"after"`           // bytes, the same, a round trip after the end of the spike
	Ssthresh        uint32        `json:"ssthresh"`        // bytes, then
	Bytes           uint64        `json:"bytes"`           // bytes, acknowledged while watched
}

// Study is the study.
var Study = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "E23", Name: "spike", Bed: "path", Class: experiments.Shape, Files: files,
	Check: func(p *Plan) error {
		if least := p.Peaks[0]; least <= p.RTT {
			return fmt.Errorf("peaks: %v, want more than the rtt of %v", least, p.RTT)
		}
		for _, peak := range p.Tried {
			if !slices.Contains(p.Peaks, peak) {
				return fmt.Errorf("tried: %v is none of the peaks", peak)
			}
		}
		if last := p.Peaks[len(p.Peaks)-1]; !slices.Contains(p.Tried, last) {
			return fmt.Errorf("tried: %v, want the greatest of the peaks, %v, too", p.Tried, last)
		}
		if last := p.Peaks[len(p.Peaks)-1]; p.Watch < p.Lasts+2*last {
			return fmt.Errorf("watch: %v, want at least %v, for all ACKs to arrive", p.Watch, p.Lasts+2*last)
		}
		return testbed.CheckStacks(p.Subjects)
	},
	Words: func() experiments.Words { return words },
	Cells: cells,
	Judge: outcome,
})
