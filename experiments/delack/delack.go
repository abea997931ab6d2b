// Package delack is study E13: what delayed ACKs do to timers.
package delack

import (
	"embed"
	"fmt"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
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
	Kind   kind          `json:"kind"`              // arrivals, quantile, wait, grid, remedy, policy or odd
	Delay  time.Duration `json:"delay_s,omitempty"` // of the peer's timer; 0s is the heartbeat
	Seed   int           `json:"seed"`
	RTT    time.Duration `json:"rtt_s"`
	Burst  int           `json:"burst,omitempty"`  // segments
	Policy string        `json:"policy,omitempty"` // of policy and odd
	Second bool          `json:"second,omitempty"` // whether the floor is on the timeout, not on the variation

	Mean     time.Duration `json:"mean_s,omitempty"` // of the delays of last ACKs
	P99      time.Duration `json:"p99_s,omitempty"`
	Least    time.Duration `json:"least_s,omitempty"`
	Greatest time.Duration `json:"greatest_s,omitempty"`
	KS       float64       `json:"ks,omitempty"` // p-value of delays that are even over a beat

	Period time.Duration `json:"period_s,omitempty"` // of a sender that waits

	Grid []Point       `json:"grid,omitempty"`
	Wait time.Duration `json:"wait_s,omitempty"` // for the lost last segment, of odd
}

// Point is the tails of one floor and delay.
type Point struct {
	Floor    time.Duration `json:"floor_s"`  // of grid and remedy
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

// rule is the timers of a sender of odd bursts and even ones.
type rule struct {
	name   string
	timers testbed.Timers
}

// The names of the rules that run.
const (
	ruleNone   = "no floor"
	ruleLonger = "longer timeout"
	ruleFloor  = "floor"
)

// clockRule names a sender without a floor on a coarse clock.
func clockRule(clock time.Duration) string { return fmt.Sprintf("no floor, clock of %v", clock) }

// rules returns the senders towards a peer with a delay.
func (p *Plan) rules(delay time.Duration) []rule {
	all := []rule{
		{ruleNone, floored(1, true, false)},
		{ruleLonger, floored(delay+p.Tick, false, false)},
		{ruleFloor, floored(p.OddFloor, true, false)},
	}
	for _, clock := range p.OddClocks {
		tm := floored(1, true, false)
		tm.Policy.RTTTick = clock
		all = append(all, rule{clockRule(clock), tm})
	}
	return all
}

// odd counts spurious bursts of a size, and then loses the last segment of one.
func odd(p *Plan, c *Cell) error {
	for _, r := range p.rules(c.Delay) {
		if r.name != c.Policy {
			continue
		}
		pt := Point{}
		if err := tails(p, c, r.timers, c.Delay, &pt); err != nil {
			return err
		}
		c.Grid = []Point{pt}
		b, err := newBed(p, c, r.timers, c.Delay, nil)
		if err != nil {
			return err
		}
		b.evens(p, 0)
		begin := b.now()
		b.lose = b.session.Wrote() + uint64(c.Burst*mss)
		b.burst(c.Burst)
		b.run(time.Minute)
		c.Wait = b.again.Sub(begin)
		if b.session.Unacked() > 0 || c.Wait <= 0 {
			return fmt.Errorf("burst of %d: the lost segment was not repaired", c.Burst)
		}
		return b.faults()
	}
	return fmt.Errorf("no rule %q", c.Policy)
}

// Row is a tail of bursts of one sender at a peer.
type Row struct {
	Cell
	Point
	Clock   time.Duration // of the round trips, of odd; 0s is exact
	Without time.Duration // the wait without a floor
}

func (c *Cell) odd() bool { return c.Burst%2 == 1 }

// peer names the receiver's delay of ACKs.
func (p *Plan) peer(c *Cell) string {
	if c.Delay == 0 {
		return fmt.Sprintf("heartbeat of %v", p.Heartbeat)
	}
	return fmt.Sprintf("timer of %v", c.Delay)
}

// law returns what the period of a sender that waits for each ACK should be.
func (p *Plan) law(c *Cell) time.Duration {
	if c.Delay == 0 {
		return p.Heartbeat * ((c.RTT + p.Heartbeat - 1) / p.Heartbeat)
	}
	return c.RTT + c.Delay
}

// ruleOdd has no run of its own: it is ruleLonger for odd bursts and ruleNone for even ones. Even
// bursts come before each burst, so both begin with the same estimate.
const ruleOdd = "longer after odd bursts"

// rows returns the tails of all cells.
func rows(p *Plan, cells []Cell) (all []Row) {
	for _, c := range cells {
		row := Row{Cell: c}
		if c.Kind == kindOdd {
			all = append(all, p.oddRows(row, &c, cells)...)
			continue
		}
		for _, row.Point = range c.Grid {
			all = append(all, row)
		}
	}
	return all
}

// oddRows returns the row of a cell, and behind one without a floor that of ruleOdd.
func (p *Plan) oddRows(row Row, c *Cell, cells []Cell) []Row {
	for _, clock := range p.OddClocks {
		if c.Policy == clockRule(clock) {
			row.Clock = clock
		}
	}
	row.Point = c.Grid[0]
	if c.Policy != ruleNone {
		return []Row{row}
	}
	run := c
	if c.odd() {
		for i := range cells {
			x := &cells[i]
			if x.Kind == kindOdd && x.Delay == c.Delay && x.Burst == c.Burst && x.Policy == ruleLonger {
				run = x
			}
		}
	}
	composed := row
	composed.Point = run.Grid[0]
	composed.Policy, composed.Wait, composed.Without = ruleOdd, run.Wait, c.Wait
	return []Row{row, composed}
}
