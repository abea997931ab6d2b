// Package comb is study E19, whether coarse ticks retransmit all at once after an outage.
package comb

import (
	"embed"
	"fmt"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/tcptimers"
)

//go:embed *.md *.yaml
var files embed.FS

// Plan is the plan of the study.
type Plan struct {
	Connections int              `plan:"connections" min:"10" max:"28000"`
	RTT         time.Duration    `plan:"rtt" min:"1ms" max:"1s"`
	Outage      time.Duration    `plan:"outage" min:"10ms" max:"500ms"`
	Rate        int              `plan:"rate" unit:"rate" min:"1000000" max:"1000000000000"` // bit/s
	Queue       int              `plan:"queue" min:"1" max:"1000000"`                        // packets
	Watch       time.Duration    `plan:"watch" min:"5s" max:"10m"`
	BSD         testbed.Timers   `plan:"bsd"`
	Timers      []testbed.Timers `plan:"timers"`
	Shipped     testbed.Timers   `plan:"shipped"`
	FirstSeed   int              `plan:"first_seed" min:"1" max:"1000000"`
	Seeds       int              `plan:"seeds" min:"1" max:"1000"`
	GVisorSeeds int              `plan:"gvisor_seeds" min:"1" max:"1000"`
}

// Cell is the retransmissions under some timers and one seed.
type Cell struct {
	Timers    string `json:"timers"`              // of the client
	Straddles bool   `json:"straddles,omitempty"` // whether the outage straddles a sweep
	Mixed     bool   `json:"mixed,omitempty"`     // whether timeouts are of 3, 4 and 5 ticks
	Seed      int    `json:"seed"`

	Late   int `json:"late,omitempty"` // segments left out: the one before was lost in the queue, and not yet repaired
	RTOs   int `json:"rtos"`           // different timeouts of the connections when the outage began
	Second int `json:"second"`         // first retransmissions

	Peak   int           `json:"peak"`       // the most retransmissions in a millisecond
	PeakAt time.Duration `json:"peak_at_ns"` // that millisecond, from the begin of the outage
	Bins   int           `json:"bins"`       // milliseconds with first retransmissions
	First  time.Duration `json:"first_ns"`   // of these
	Last   time.Duration `json:"last_ns"`    // of these

	Dropped       int           `json:"dropped"`        // first retransmissions that the queue dropped
	DroppedEver   int           `json:"dropped_ever"`   // all retransmissions that the queue dropped
	Unrepaired    int           `json:"unrepaired"`     // connections whose segment never arrived
	Repaired99    time.Duration `json:"repaired_99_ns"` // 99 % of them, from the start of the outage; 0s if fewer
	Retransmitted int           `json:"retransmitted"`  // segments
	Comb          [][2]int      `json:"comb,omitempty"` // seed 1: millisecond, retransmissions
}

// row is a run.
type row struct {
	Cell
	Kind  string // of the timers: sweep, shared tick, own phase, shipped or gvisor
	Label string // their short name
	Tick  time.Duration
}

// rows returns the runs.
func rows(p *Plan, cells []Cell) (all []row) {
	named := map[string]testbed.Timers{}
	for _, tm := range append([]testbed.Timers{p.Shipped, p.BSD}, p.Timers...) {
		named[tm.Text] = tm
	}
	for _, c := range cells {
		r := row{Cell: c, Kind: "gvisor", Label: c.Timers}
		if tm, ok := named[c.Timers]; ok {
			r.Kind, r.Label, r.Tick = kindOf(p, tm), label(tm), tm.Policy.Tick
		}
		switch {
		case c.Straddles:
			r.Label += ", straddled"
		case r.Kind == "shipped":
			r.Label = "the default as it ships"
		}
		all = append(all, r)
	}
	return all
}

func kindOf(p *Plan, tm testbed.Timers) string {
	switch {
	case tm.Text == p.Shipped.Text:
		return "shipped"
	case tm.Policy.Phase == tcptimers.PhaseCountdown:
		return "sweep"
	case tm.Policy.Phase == tcptimers.PhaseOwn:
		return "own phase"
	}
	return "shared tick"
}

// label returns a short name of timers.
func label(tm testbed.Timers) string {
	p := &tm.Policy
	switch {
	case p.Phase == tcptimers.PhaseCountdown:
		return "4.4BSD, swept each " + p.Tick.String()
	case p.Rexmit != tcptimers.RexmitPerSegment:
		return "one timer, tick of " + p.Tick.String()
	case p.Phase == tcptimers.PhaseOwn:
		return "tick of " + p.Tick.String() + ", own phase"
	}
	return "tick of " + p.Tick.String()
}

// Study is the study.
var Study = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "E19", Name: "comb", Bed: "pair", Class: experiments.Exact, Files: files,
	Check: func(p *Plan) error {
		if p.BSD.Policy.Phase != tcptimers.PhaseCountdown {
			return fmt.Errorf("bsd: %q, want timers with phase=countdown, such as bsd", p.BSD.Text)
		}
		for i, tm := range p.Timers {
			for _, other := range append([]testbed.Timers{p.BSD}, p.Timers[:i]...) {
				if tm.Text == other.Text {
					return fmt.Errorf("timers: %q occurs twice", tm.Text)
				}
			}
		}
		return nil
	},
	Words:   func() experiments.Words { return words },
	Applies: applies,
	Cells:   cells,
	Judge:   outcome,
})

// applies returns why a plan leaves all claims without meaning, or nil.
func applies(p *Plan) error {
	// schedule puts an exchange and the next one into neighbouring ticks.
	if most := tcptimers.SlowTick / 4; p.RTT > most {
		return fmt.Errorf("a round trip of %v is longer than a quarter of 4.4BSD's tick, %v: its connections "+
			"cannot measure it within a tick", p.RTT, most)
	}
	return nil
}
