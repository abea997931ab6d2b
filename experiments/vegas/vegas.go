// Package vegas is the studies after the paper on TCP Vegas: E8, how long a loss waits for coarse
// and fine timers, E9, what fine timers do for a transfer, and E26, transfers of Reno and Vegas
// next to each other.
package vegas

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/experiments/judge"
	"tcpwheel/tcptimers"
)

//go:embed *.md *.yaml tableiv/*.md tableiv/*.yaml oneonone/*.md oneonone/*.yaml tcplib.csv
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

	StillRTTs    []time.Duration `plan:"still_rtts" min:"1ms" max:"100ms"`
	StillLosses  int             `plan:"still_losses" min:"1" max:"10000"`
	StillBetween int             `plan:"still_between" min:"2" max:"1000"`
	StillOffset  time.Duration   `plan:"still_offset" min:"1us" max:"100ms"`

	GVisorSeeds int `plan:"gvisor_seeds" min:"0" max:"1000"`

	Subjects  []testbed.Subject `plan:"subjects" optional:"true"`
	FirstSeed int               `plan:"first_seed" min:"1" max:"1000000"`

	Seeds int `plan:"seeds" min:"1" max:"1000"`
}

// timers returns all timers: the coarse ones, the fine ones, Tahoe's, and the others.
func (p *Plan) timers() []testbed.Timers {
	return append([]testbed.Timers{p.Coarse, p.Fine, p.Tahoe}, p.Others...)
}

// Cell is one flow of each kind of loss under one seed.
type Cell struct {
	Timers string        `json:"timers"` // their text, or gVisor's name
	RTT    time.Duration `json:"rtt_s"`
	Seed   int           `json:"seed"`
	Still  bool          `json:"still,omitempty"` // no sample crosses a tick
	Flows  []Waits       `json:"flows"`           // by kind: those of kinds, or alone only
}

// Waits is the waits of losses of one kind.
type Waits struct {
	Waits []time.Duration `json:"waits_s"` // from each lost transmission to the next
	// BackedOff is the waits of lost timeout retransmissions, which wait for a backed-off timer. Other
	// counts losses that a retransmission timer did not repair.
	BackedOff []time.Duration `json:"backed_off_s,omitempty"`
	Other     int             `json:"other,omitempty"`
}

// Row is a loss.
type Row struct {
	Kind   string        // loss, at the plan's round trips; still, where no sample crosses a tick
	Text   string        // the timers
	Role   string        // of the timers in the plan: coarse, fine, tahoe, other or gvisor
	RTT    time.Duration // the mean round trip
	Seed   int
	Lost   string  // segment: alone, of three, or again: its fast retransmission is lost too
	Repair string  // by the timer, the timer backed off, or other means
	Wait   float64 // from the lost transmission to the next, ms
}

// Study is the study.
var Study = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "E8", Name: "vegas", Bed: "pair", Class: experiments.Published, Files: files,
	Words: func() experiments.Words { return words },
	Check: check,
	Cells: cells,
	Judge: func(p *Plan, cells []Cell) (*experiments.Outcome, error) { return judgeLosses(p, rows(p, cells)), nil },
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
	return testbed.CheckStacks(p.Subjects)
}

// rows returns the losses of the cells.
func rows(p *Plan, cells []Cell) (all []Row) {
	roles := map[string]string{p.Coarse.Text: "coarse", p.Fine.Text: "fine", p.Tahoe.Text: "tahoe", gvisor: "gvisor"}
	for _, c := range cells {
		row := Row{Kind: "loss", Text: c.Timers, Role: cmp.Or(roles[c.Timers], "other"), RTT: c.RTT, Seed: c.Seed}
		if c.Still {
			row.Kind = "still"
		}
		for k, f := range c.Flows {
			row.Lost = kinds[k].name
			all = append(all, f.rows(row)...)
		}
	}
	return all
}

// rows returns the losses of a flow.
func (f *Waits) rows(row Row) (all []Row) {
	add := func(repair string, waits ...time.Duration) {
		for _, wait := range waits {
			row.Repair, row.Wait = repair, judge.Ms(wait)
			all = append(all, row)
		}
	}
	add("timer", f.Waits...)
	add("backed off", f.BackedOff...)
	add("other", make([]time.Duration, f.Other)...)
	return all
}

// name returns the text of timers without the words that all timers share.
func name(t string) string {
	words := slices.DeleteFunc(strings.Fields(t), func(w string) bool {
		return w[0] == '-' || w[0] == '+' || strings.HasPrefix(w, "control=") || strings.HasPrefix(w, "delack=")
	})
	return strings.Join(words, " ")
}
