// Package vegas is the studies after the paper on TCP Vegas: E8, how long a loss waits for coarse
// and fine timers, E9, what fine timers do for a transfer, and E26, transfers of Reno and Vegas
// next to each other.
package vegas

import (
	"embed"
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/tcptimers"
)

//go:embed README.md plan.yaml tableiv/README.md tableiv/plan.yaml oneonone/README.md oneonone/plan.yaml tcplib.csv
var files embed.FS

// Plan is the plan of the study.
type Plan struct {
	Coarse testbed.Timers   `plan:"coarse"`
	Fine   testbed.Timers   `plan:"fine"`
	Tahoe  testbed.Timers   `plan:"tahoe"`
	Others []testbed.Timers `plan:"others" optional:"true"`

	RTTs    []time.Duration `plan:"rtts" min:"1ms" max:"1s"`
	CV      float64         `plan:"cv" min:"0" max:"1"`
	Losses  int             `plan:"losses" min:"1" max:"1000"`
	Between int             `plan:"between" min:"2" max:"1000"`

	AnchorRTTs   []time.Duration `plan:"anchor_rtts" min:"1ms" max:"1s" order:"rising" optional:"true"`
	AnchorLosses int             `plan:"anchor_losses" min:"1" max:"100000"`

	StillRTTs    []time.Duration `plan:"still_rtts" min:"1ms" max:"100ms"`
	StillLosses  int             `plan:"still_losses" min:"1" max:"10000"`
	StillBetween int             `plan:"still_between" min:"2" max:"1000"`
	StillOffset  time.Duration   `plan:"still_offset" min:"1us" max:"100ms"`

	GVisorSeeds int `plan:"gvisor_seeds" min:"0" max:"1000"`
	Seeds       int `plan:"seeds" min:"1" max:"1000"`
}

// timers returns all timers: the coarse ones, the fine ones, Tahoe's, and the others.
func (p *Plan) timers() []testbed.Timers {
	return append([]testbed.Timers{p.Coarse, p.Fine, p.Tahoe}, p.Others...)
}

// subjects returns the texts of all timers, and gVisor's name if the plan has it.
func (p *Plan) subjects() (all []string) {
	for _, t := range p.timers() {
		all = append(all, t.Text)
	}
	if p.GVisorSeeds > 0 {
		all = append(all, gvisor)
	}
	return all
}

// Cell is one flow of each kind of loss under one seed.
type Cell struct {
	Timers string        `json:"timers"` // their text, or gVisor's name
	RTT    time.Duration `json:"rtt_ns"`
	Seed   int           `json:"seed"`
	Still  bool          `json:"still,omitempty"`  // no sample crosses a tick
	Anchor bool          `json:"anchor,omitempty"` // for the recurrence only
	Flows  []Flow        `json:"flows"`            // by kind: those of kinds, or alone only
}

// Flow is the waits of losses of one kind.
type Flow struct {
	Waits []float64 `json:"waits_ms"` // ms, from each lost transmission to the next
	// BackedOff is the waits of lost timeout retransmissions, which wait for a backed-off timer. Other
	// counts losses that a retransmission timer did not repair.
	BackedOff []float64 `json:"backed_off,omitempty"`
	Other     int       `json:"other,omitempty"`
}

// Study is the study.
var Study = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "E8", Name: "vegas", Class: experiments.Published, Files: files,
	Question: "How long does a loss wait for timers of 500 ms, and for fine timers?",
	Found: "A loss that only a timer can repair waits {coarse-mean} under 4.4BSD's 500 ms clocks (published: 1100 " +
		"ms) and at most {fine-mean} under a timer per segment, " +
		"at round trips up to 150 ms. 4.4BSD's estimator rests at 3 ticks, so such a loss waits {mean-at-rest} " +
		"however short the round trip is. The published mean lies between " +
		"the rules of 4.3BSD-Tahoe and of 4.4BSD: {between}.",
	Check: check,
	Cells: cells,
	Judge: judge,
})

func check(p *Plan) error {
	var texts []string
	for _, t := range p.timers() {
		if slices.Contains(texts, t.Text) {
			return fmt.Errorf("others: %q occurs twice", t.Text)
		}
		texts = append(texts, t.Text)
	}
	for _, rtt := range p.StillRTTs {
		if end := p.StillOffset + rtt; end >= tcptimers.SlowTick {
			return fmt.Errorf("still_rtts: %v after still_offset %v ends after %v, want less than a tick of %v", rtt,
				p.StillOffset, end, tcptimers.SlowTick)
		}
	}
	if !slices.ContainsFunc(p.RTTs, short) {
		return fmt.Errorf("rtts: %v, want one of %v or less, which have a band", p.RTTs, atMost)
	}
	return nil
}
