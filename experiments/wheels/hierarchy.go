package wheels

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"

	"tcpwheel/experiments"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

// hierarchyPlan is the plan of the study.
type hierarchyPlan struct {
	Intervals []int `plan:"intervals" min:"2" max:"1000000000" order:"rising"`
	Slots     []int `plan:"slots" min:"8" max:"16777216" power:"two" order:"rising"`
	Levels    []int `plan:"levels" min:"2" max:"8" order:"rising"`
	Timers    int   `plan:"timers" min:"20" max:"1000000"`
	Looks     int   `plan:"looks" min:"1000" max:"1000000000"`
	Seeds     int   `plan:"seeds" min:"1" max:"1000"`
}

// hierarchyCell is the counts for one mean interval under one seed.
type hierarchyCell struct {
	T     int            `json:"t"`
	Seed  int            `json:"seed"`
	Six   []hierarchyRun `json:"six"`   // by number of slots
	Seven []hierarchyRun `json:"seven"` // by slots in all and levels
	// Just are the smallest hierarchies that reach 2T, by levels.
	Just []hierarchyRun `json:"just"`
	// Example has exponential intervals in Scheme 6, with the slots of the examples.
	Example []hierarchyRun `json:"example,omitempty"`
}

// hierarchyRun is the work of timers that run one after another.
type hierarchyRun struct {
	M          int    `json:"m"`                // in all
	Levels     int    `json:"levels,omitempty"` // 0 is Scheme 6
	Timers     int    `json:"timers"`           // 0 if the hierarchy does not reach far enough
	Ticks      uint64 `json:"ticks"`            // of all intervals
	Looks      uint64 `json:"looks"`            // visits to timers
	Moves      uint64 `json:"moves"`            // of timers
	Most       uint64 `json:"most"`             // of one timer
	Miscounted int    `json:"miscounted"`       // whose visits break the law of Scheme 6
}

// Hierarchy is the study.
var Hierarchy = experiments.Define(experiments.Spec[hierarchyPlan, hierarchyCell]{
	ID: "E3", Name: "hierarchy", Bed: "wheel", Class: experiments.Exact, Folder: "wheels/hierarchy", Files: files,
	Words: func() experiments.Words { return hierarchyWords },
	Cells: hierarchyCells, Judge: hierarchyJudge,
})

func hierarchyCells(p *hierarchyPlan) (all []experiments.Cell[hierarchyCell]) {
	for _, t := range p.Intervals {
		for seed := 1; seed <= p.Seeds; seed++ {
			cost := 1e-3
			for _, m := range p.Slots {
				cost += float64(1e-7*float64(p.timers(t, m))*float64(2+t/m)) + float64(1e-8*float64(m*len(p.Levels)))
			}
			all = append(all, experiments.Cell[hierarchyCell]{
				Name: fmt.Sprintf("T=%d seed=%d", t, seed), Cost: cost,
				Run: func(context.Context) (hierarchyCell, error) { return runHierarchy(p, t, seed) },
			})
		}
	}
	return all
}

// timers returns how many timers of mean interval t run in Scheme 6 with m slots.
func (p *hierarchyPlan) timers(t, m int) int {
	return max(20, min(p.Timers, int(float64(p.Looks)*float64(m)/float64(t))))
}

// hierarchyExamples are the examples of the README: slots and mean visits, by mean interval.
var hierarchyExamples = map[int]struct {
	slots int
	looks float64
}{1000: {256, 4.43}, 100: {1024, 1.00}}

// hierarchyExampleTimers is the timers of an example, enough for a mean within 1 %.
const hierarchyExampleTimers = 400_000

func runHierarchy(p *hierarchyPlan, t, seed int) (hierarchyCell, error) {
	c := hierarchyCell{T: t, Seed: seed}
	for _, m := range p.Slots {
		r, err := hierarchySix(m, p.timers(t, m), seed, hierarchyEvenly(t))
		if err != nil {
			return c, err
		}
		c.Six = append(c.Six, r)
		for _, levels := range p.Levels {
			if r, err = hierarchySeven(m, hierarchyShare(m, levels), levels, p.Timers, seed, t); err != nil {
				return c, err
			}
			c.Seven = append(c.Seven, r)
		}
	}
	for _, levels := range p.Levels {
		per := 2
		for hierarchyReach(per, levels) < float64(2*t) {
			per *= 2
		}
		timers := p.Timers
		if hierarchyReach(per, levels-1) >= float64(2*t) {
			timers = 0 // fewer levels reach 2T
		}
		r, err := hierarchySeven(per*levels, per, levels, timers, seed, t)
		if err != nil {
			return c, err
		}
		c.Just = append(c.Just, r)
	}
	if e, ok := hierarchyExamples[t]; ok {
		r, err := hierarchySix(e.slots, hierarchyExampleTimers/p.Seeds, seed, func(r *rand.Rand) uint64 {
			return 1 + uint64(stat.Exponential(r)*float64(t))
		})
		if err != nil {
			return c, err
		}
		c.Example = append(c.Example, r)
	}
	return c, nil
}

// hierarchyEvenly draws intervals from 1 to 2t-1 ticks.
func hierarchyEvenly(t int) func(r *rand.Rand) uint64 {
	return func(r *rand.Rand) uint64 { return 1 + r.Uint64N(uint64(2*t-1)) }
}

func hierarchyIgnore(wheel.Timer) {}

// hierarchySix runs timers one after another in Scheme 6. Time passes in steps of half a rotation,
// because an Advance over a longer gap may skip rotations.
func hierarchySix(slots, timers, seed int, draw func(r *rand.Rand) uint64) (hierarchyRun, error) {
	c := hierarchyRun{M: slots, Timers: timers}
	f, err := wheel.New("scheme6-list", wheel.Config{Tick: 1, Slots: slots, Count: true})
	if err != nil {
		return c, err
	}
	r := rand.New(rand.NewPCG(uint64(seed), 6))
	t := f.New(0)
	for range timers {
		j := draw(r)
		c.Ticks += j
		before := f.Counts()
		deadline := f.Now() + wheel.Time(j)
		f.Schedule(t, deadline)
		for now := f.Now(); now < deadline; {
			now = min(now+wheel.Time(slots/2), deadline)
			f.Advance(now, 0, hierarchyIgnore)
		}
		got := f.Counts().Sub(before)
		if got.Expiries != 1 {
			return c, fmt.Errorf("a timer of %d ticks expired %d times", j, got.Expiries)
		}
		c.Looks += got.TickVisits
		c.Moves += got.Moves
		if got.TickVisits != (j-1)/uint64(slots)+1 {
			c.Miscounted++
		}
		// The next one starts at another phase.
		f.Advance(f.Now()+wheel.Time(r.IntN(slots)), 0, hierarchyIgnore)
	}
	return c, nil
}

// hierarchyShare returns the slots of each level of a hierarchy with so many slots in all: a power
// of two, at most 2^16.
func hierarchyShare(slots, levels int) int {
	return min(1<<(bits.Len(uint(slots/levels))-1), 1<<16)
}

// hierarchyReach returns how many ticks a hierarchy covers.
func hierarchyReach(per, levels int) float64 { return stat.Power(float64(per), levels) }

// hierarchySeven runs timers of mean interval t one after another in Scheme 7, if it reaches 2t.
func hierarchySeven(slots, per, levels, timers, seed, t int) (hierarchyRun, error) {
	c := hierarchyRun{M: slots, Levels: levels}
	if all := hierarchyReach(per, levels); per < 2 || all < float64(2*t) {
		return c, nil
	}
	f, err := wheel.New("scheme7", wheel.Config{Tick: 1, Slots: per, Levels: levels, Count: true})
	if err != nil {
		return c, err
	}
	c.Timers = timers
	phases := uint64(min(hierarchyReach(per, levels), 1<<40))
	r, draw := rand.New(rand.NewPCG(uint64(seed), 7)), hierarchyEvenly(t)
	timer := f.New(0)
	for range timers {
		j := draw(r)
		c.Ticks += j
		f.Advance(f.Now()+wheel.Time(r.Uint64N(phases)), 0, hierarchyIgnore)
		before := f.Counts()
		deadline := f.Now() + wheel.Time(j)
		f.Schedule(timer, deadline)
		f.Advance(deadline, 0, hierarchyIgnore)
		got := f.Counts().Sub(before)
		if got.Expiries != 1 {
			return c, fmt.Errorf("a timer of %d ticks expired %d times", j, got.Expiries)
		}
		c.Looks += got.TickVisits
		c.Moves += got.Moves
		c.Most = max(c.Most, got.Migrations)
	}
	return c, nil
}
