// Package granularity measures what the granularity of TCP's timers does to TCP: what each of six
// factors buys, whatever the order in which an implementer changes them, and where a timer per
// segment pays.
package granularity

import (
	"embed"
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
)

//go:embed README.md plan.yaml
var files embed.FS

// Plan is the plan of the study. Levels of factors are in order, from the old end to the new one.
type Plan struct {
	Ticks     []time.Duration `plan:"ticks" min:"1us" max:"500ms" help:"ticks of both clocks, old end first"`
	Floors    []time.Duration `plan:"floors" min:"0s" max:"10s" help:"floors on the RTO; they leave var_mins alone; 0s is none"`
	VarMins   []time.Duration `plan:"var_mins" min:"0s" max:"1s" help:"floors on the variation in the RTO"`
	DelAcks   []string        `plan:"delacks" help:"delayed ACKs of the receiver, as in the text of timers"`
	Finest    time.Duration   `plan:"finest" min:"1us" max:"500ms" help:"a tick beyond the new end, tried alone"`
	RTT       []time.Duration `plan:"rtt" min:"10us" max:"10s" help:"round trips"`
	Loss      float64         `plan:"loss" unit:"probability" help:"of a transmission"`
	Burst     int             `plan:"burst" min:"1" max:"100" help:"neighbouring segments that share a fate on the path burst"`
	Tails     float64         `plan:"tails" unit:"probability" help:"share of responses that lose their last segment on the path tails"`
	Jitter    time.Duration   `plan:"jitter" min:"0s" max:"1s" help:"variation of the delay up and down, at most a quarter of the round trip"`
	Bytes     uint64          `plan:"bytes" unit:"size" min:"1" max:"1000000" help:"of a response"`
	Responses int             `plan:"responses" min:"1" max:"5000" help:"that count, after 4 to warm up"`
	Writes    int             `plan:"writes" min:"1" max:"5000" help:"of a stream that count, after 4 to warm up"`
	Transfer  uint64          `plan:"transfer" unit:"size" min:"1" max:"100000000" help:"of a transfer"`
	Transfers int             `plan:"transfers" min:"1" max:"100" help:"one after the other"`
	Crossed   time.Duration   `plan:"crossed" min:"0s" max:"10s" help:"round trip at which all levels are crossed; 0s is none"`
	MapRTT    []time.Duration `plan:"map_rtt" min:"10us" max:"10s" help:"round trips of the map"`
	Gaps      []float64       `plan:"gaps" min:"0.01" max:"10" order:"rising" help:"between writes of the map, in round trips"`
	Losses    []int           `plan:"losses" min:"1" max:"100" help:"neighbouring segments lost together in the map"`
	Times     []int           `plan:"times" min:"1" max:"10" help:"transmissions of each that are lost in the map"`
	MapFloors []time.Duration `plan:"map_floors" min:"0s" max:"10s" help:"floors of the map; 0s is none"`
	Stacks    []string        `plan:"stacks" help:"timers of whole stacks, compared over random loss"`
	FirstSeed int             `plan:"first_seed" min:"1" max:"1000000" help:"of the run"`
	Seeds     int             `plan:"seeds" min:"2" max:"1000" help:"runs of one seed meet the same losses"`
}

// timers are what the retransmission timer counts from: see tcptimers.RexmitMode. All timers and
// recoveries are in order, from the old end to the new one.
var timers = []string{"restart", "rto-restart", "per-segment"}

// recovery is how losses are found, and the switches of an engine for it.
var recoveries = []string{old, "SACK", today}

const (
	old   = "duplicate ACKs"
	today = "RACK and TLP"
)

var switches = map[string]string{
	old:    "-sack -rack -tlp -frto",
	"SACK": "+sack -rack -tlp -frto",
	today:  "+sack +rack +tlp +frto",
}

// Setting is a level of each factor.
type Setting struct {
	Tick     time.Duration `json:"tick_s"`
	Floor    time.Duration `json:"floor_s"`
	VarMin   time.Duration `json:"var_min_s"`
	Timers   string        `json:"timers"`
	DelAck   string        `json:"delack"`
	Recovery string        `json:"recovery"`
	Stack    string        `json:"stack,omitempty"` // timers of a whole stack, in place of the above
}

// sender returns the text of the sender's timers. Timestamps are off, so that all settings cut the
// stream into the same segments and the same losses meet them.
func (s *Setting) sender() string {
	if s.Stack != "" {
		return s.Stack + " -timestamps"
	}
	return fmt.Sprintf("rfc6298@%v rtt-tick=%v floor=%v var-min=%v rexmit=%s control=newreno -timestamps %s", s.Tick,
		s.Tick, max(s.Floor, time.Microsecond), s.VarMin, s.Timers, switches[s.Recovery])
}

func (s *Setting) receiver() string { return "linux delack=" + s.DelAck + " -timestamps" }

// Place is where settings are compared.
type Place struct {
	Part   string        `json:"part"` // ends, crossed, map or stacks
	Work   string        `json:"work"` // responses, stream or transfers
	Path   string        `json:"path"` // random, burst, tails, steady or spike
	RTT    time.Duration `json:"rtt_s"`
	Gap    float64       `json:"gap,omitempty"` // between the writes of a stream, in round trips
	Losses int           `json:"losses,omitempty"`
	Times  int           `json:"times,omitempty"`
}

// Run is what a setting does at a place under one seed.
type Run struct {
	Mean       time.Duration   `json:"mean_s"`           // time of an object
	Slowest    []time.Duration `json:"slow_s,omitempty"` // times of the slowest objects, in microseconds
	Objects    int             `json:"objects"`
	Unfinished int             `json:"unfinished,omitempty"`
	Sent       int             `json:"sent"`
	Lost       int             `json:"lost"`
	Spurious   int             `json:"spurious"` // retransmissions
	Repaired   int             `json:"repaired"`
	Waited     time.Duration   `json:"waited_s"` // from lost transmissions to the next of the same bytes, all together
	Timeouts   uint64          `json:"timeouts"`
	Probes     uint64          `json:"probes"`
	Operations uint64          `json:"operations"` // starts, stops and expiries of the sender's timers
}

// Cell is the result of all settings at places that share a seed.
type Cell struct {
	Runs [][]Run `json:"runs"` // by place and setting
}

// Row is a run with its place, setting and seed.
type Row struct {
	Seed int `json:"seed"`
	Place
	Setting
	Run
}

// Study is the study.
var Study = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "G1", Name: "granularity", Bed: "granularity", Class: experiments.Shape, Files: files,
	Words: func() experiments.Words { return words },
	Check: check,
	Cells: cells,
	Judge: func(p *Plan, cells []Cell) (*experiments.Outcome, error) { return outcome(p, rowsOf(p, cells)) },
	Live:  []experiments.LivePart[Plan]{{Name: "kernel", Needs: testbed.NeedsRoot, Run: kernel}},
})

// check finds faults beyond the tags.
func check(p *Plan) error {
	for _, d := range p.DelAcks {
		if _, err := testbed.ParseTimers((&Setting{DelAck: d}).receiver()); err != nil {
			return fmt.Errorf("delacks: %w", err)
		}
	}
	for _, name := range p.Stacks {
		if _, err := testbed.ParseTimers((&Setting{Stack: name}).sender()); err != nil {
			return fmt.Errorf("stacks: %w", err)
		}
	}
	for _, f := range []struct {
		key    string
		levels int
	}{{"ticks", len(p.Ticks)}, {"floors", len(p.Floors)}, {"var_mins", len(p.VarMins)}, {"delacks", len(p.DelAcks)}} {
		if f.levels < 2 {
			return fmt.Errorf("%s: %d level, want an old end and a new one", f.key, f.levels)
		}
	}
	return nil
}

// factors are the factors in the order of their bits in a set of changes. Recovery is the last.
var factors = []string{"tick", "floor", "variation floor", "timer per segment", "delayed ACKs", "recovery"}

// set returns the setting with the new end of the factors in a set, and the old end of the others.
func (p *Plan) set(changes uint) Setting {
	return Setting{end(p.Ticks, changes, 0), end(p.Floors, changes, 1), end(p.VarMins, changes, 2),
		end(timers, changes, 3), end(p.DelAcks, changes, 4), end(recoveries, changes, 5), ""}
}

func end[T any](levels []T, changes uint, bit int) T {
	if changes>>bit&1 == 1 {
		return levels[len(levels)-1]
	}
	return levels[0]
}

// under returns set with a recovery.
func (p *Plan) under(changes uint, recovery string) Setting {
	s := p.set(changes)
	s.Recovery = recovery
	return s
}

// ends returns both ends of all factors crossed, with all recoveries.
func (p *Plan) ends() (all []Setting) {
	for _, r := range recoveries {
		for changes := range uint(1) << 5 {
			all = append(all, p.under(changes, r))
		}
	}
	return all
}

// levels returns the levels in between, each alone, from the old ends and from the new ones.
func (p *Plan) levels() (all []Setting) {
	for _, from := range []Setting{p.set(0), p.set(63)} {
		add := func(change func(s *Setting)) {
			s := from
			change(&s)
			all = append(all, s)
		}
		for _, t := range append(slices.Clone(p.Ticks[1:len(p.Ticks)-1]), p.Finest) {
			add(func(s *Setting) { s.Tick = t })
		}
		for _, f := range p.Floors[1 : len(p.Floors)-1] {
			add(func(s *Setting) { s.Floor = f })
		}
		for _, v := range p.VarMins[1 : len(p.VarMins)-1] {
			add(func(s *Setting) { s.VarMin = v })
		}
		for _, t := range timers[1 : len(timers)-1] {
			add(func(s *Setting) { s.Timers = t })
		}
		for _, d := range p.DelAcks[1 : len(p.DelAcks)-1] {
			add(func(s *Setting) { s.DelAck = d })
		}
	}
	return all
}

// all returns all levels crossed.
func (p *Plan) all() (all []Setting) {
	for _, t := range append(slices.Clone(p.Ticks), p.Finest) {
		for _, f := range p.Floors {
			for _, v := range p.VarMins {
				for _, m := range timers {
					for _, d := range p.DelAcks {
						for _, r := range recoveries {
							all = append(all, Setting{t, f, v, m, d, r, ""})
						}
					}
				}
			}
		}
	}
	return all
}

// streams returns the settings of the map: fine ticks, no floor on the variation, no delayed ACKs.
func (p *Plan) streams() (all []Setting) {
	for _, r := range recoveries {
		for _, f := range p.MapFloors {
			for _, m := range timers {
				s := p.under(63, r)
				s.Floor, s.Timers = f, m
				all = append(all, s)
			}
		}
	}
	return all
}

// stacks returns whole stacks, with the receiver of the new ends.
func (p *Plan) stacks() (all []Setting) {
	for _, name := range p.Stacks {
		all = append(all, p.stack(name))
	}
	return all
}

func (p *Plan) stack(name string) Setting {
	return Setting{DelAck: p.DelAcks[len(p.DelAcks)-1], Stack: name}
}

// seeds returns the seeds of a plan.
func (p *Plan) seeds() (all []int) {
	for i := range p.Seeds {
		all = append(all, p.FirstSeed+i)
	}
	return all
}
