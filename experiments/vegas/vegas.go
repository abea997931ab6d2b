// Package vegas is the studies after the paper on TCP Vegas: E8, how long a loss waits for coarse
// and fine timers, E9, what fine timers do for a transfer, and E26, transfers of Reno and Vegas
// next to each other.
package vegas

import (
	"cmp"
	"embed"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel/stat"
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

	AnchorRTTs   []time.Duration `plan:"anchor_rtts" min:"1ms" max:"1s" order:"rising" optional:"true"`
	AnchorLosses int             `plan:"anchor_losses" min:"1" max:"100000"`

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
	RTT    time.Duration `json:"rtt_ns"`
	Seed   int           `json:"seed"`
	Still  bool          `json:"still,omitempty"`  // no sample crosses a tick
	Anchor bool          `json:"anchor,omitempty"` // for the recurrence only
	Flows  []Waits       `json:"flows"`            // by kind: those of kinds, or alone only
}

// Waits is the waits of losses of one kind.
type Waits struct {
	Waits []float64 `json:"waits_ms"` // ms, from each lost transmission to the next
	// BackedOff is the waits of lost timeout retransmissions, which wait for a backed-off timer. Other
	// counts losses that a retransmission timer did not repair.
	BackedOff []float64 `json:"backed_off,omitempty"`
	Other     int       `json:"other,omitempty"`
}

// Row is a loss.
type Row struct {
	Kind   string        // loss, at the plan's round trips; alone, a lone segment; still, where no sample crosses a tick
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
		switch {
		case c.Still:
			row.Kind = "still"
		case c.Anchor:
			row.Kind = "alone"
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
	add := func(repair string, waits ...float64) {
		for _, row.Wait = range waits {
			row.Repair = repair
			all = append(all, row)
		}
	}
	add("timer", f.Waits...)
	add("backed off", f.BackedOff...)
	add("other", make([]float64, f.Other)...)
	return all
}

// name returns the text of timers without the words that all timers share.
func name(t string) string {
	words := slices.DeleteFunc(strings.Fields(t), func(w string) bool {
		return w[0] == '-' || w[0] == '+' || strings.HasPrefix(w, "control=") || strings.HasPrefix(w, "delack=")
	})
	return strings.Join(words, " ")
}

// state is 4.4BSD's estimate of the round trip, in its units: ticks, scaled by 8 and by 4.
type state struct {
	srtt, rttvar int64 // t_srtt, t_rttvar
	rto          int64 // ticks
}

// recurrence runs the estimator of 4.4BSD over samples, and returns its state after each. A sample
// is the number of ticks that a round trip crosses.
func recurrence(samples []int) []state {
	const tick = tcptimers.SlowTick
	e := tcptimers.NewBSD(tick, tcptimers.Bounds{})
	var all []state
	for _, crossed := range samples {
		e.Sample(tcptimers.Sample{RTT: time.Duration(crossed) * tick})
		all = append(all, state{int64(8 * e.SRTT() / tick), int64(4 * e.RTTVar() / tick), int64(e.RTO() / tick)})
	}
	return all
}

// rests reports whether the recurrence comes to rest from any state: after long round trips, one
// that crosses a tick, and none that does, and from the second of a thousand samples on.
func rests(at state) bool {
	const n = 40
	once, long := make([]int, n), make([]int, n)
	once[15] = 1
	for i := range 5 {
		long[i] = 4
	}
	for _, samples := range [][]int{make([]int, n), once, long} {
		if recurrence(samples)[n-1] != at {
			return false
		}
	}
	return !slices.ContainsFunc(recurrence(make([]int, 1000))[1:], func(s state) bool { return s != at })
}

// lone is a model of a sender of lone segments under 4.4BSD's clocks of 500 ms: its estimator and
// the instants at which exchanges begin. It uses none of the engine.
type lone struct {
	apart bool // exchanges begin at random phases of the tick, and not when the last one ends
}

var inARow, atRandomPhases = lone{}, lone{apart: true}

// modelLosses is the losses of a model's mean. Its standard error is below 3 ms.
const modelLosses = 20_000

// mean returns the mean wait of a lost segment, in ms, where so many exchanges without loss come
// before each.
func (l lone) mean(rtt time.Duration, cv float64, between int) float64 {
	const tick = float64(tcptimers.SlowTick)
	r := rand.New(rand.NewPCG(uint64(rtt), 0xa5))
	e := tcptimers.NewBSD(tcptimers.SlowTick, tcptimers.Bounds{})
	trip := func() float64 {
		return max(float64(rtt)/10, float64(rtt)+float64(float64(cv*float64(rtt))*stat.Normal(r)))
	}
	now, sum := 0.0, 0.0
	for range modelLosses {
		now += float64(r.Float64() * tick) // the last timeout has aligned the sender with the tick
		for range between {
			if l.apart {
				now += float64(r.Float64() * tick)
			}
			x := trip()
			crossed := math.Floor((now+x)/tick) - math.Floor(now/tick)
			e.Sample(tcptimers.Sample{RTT: time.Duration(crossed) * tcptimers.SlowTick})
			now += x
		}
		if l.apart {
			now += float64(r.Float64() * tick)
		}
		rto := float64(e.RTO() / tcptimers.SlowTick)
		at := float64((math.Floor(now/tick) + rto) * tick)
		sum += at - now
		now = at + trip()
	}
	return sum / modelLosses / 1e6
}
