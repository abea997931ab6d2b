package wheels

import (
	"fmt"
	"math/rand/v2"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

// interruptsPlan is the plan of the study.
type interruptsPlan struct {
	Intervals []int `plan:"intervals" min:"1" max:"1000000000" order:"rising"`
	Phases    int   `plan:"phases" min:"1" max:"100000"`
	Timers    []int `plan:"timers" min:"1" max:"1000000" order:"rising"`
	Mean      int   `plan:"mean" min:"16" max:"1000000"`
	Turns     int   `plan:"turns" min:"1" max:"1000"`
	FirstSeed int   `plan:"first_seed" min:"1" max:"1000000"`
	Seeds     int   `plan:"seeds" min:"1" max:"1000"`
}

// interruptsCell is the counts of one facility under one seed.
type interruptsCell struct {
	Facility string          `json:"facility"`
	Seed     int             `json:"seed"`
	Alone    []interruptsRun `json:"alone"`    // by interval, for one timer at a time
	Together []interruptsRun `json:"together"` // by interval, for timers that start together
	Many     []interruptsRun `json:"many"`     // by number of timers
}

// interruptsRun counts how often timers wake the host.
type interruptsRun struct {
	Timers     int    `json:"timers"`   // that run at once
	Interval   int    `json:"interval"` // of a timer, in ticks; of many the mean
	Interrupts uint64 `json:"interrupts"`
	Most       uint64 `json:"most,omitempty"`   // interrupts for one interval
	Across     uint64 `json:"across,omitempty"` // the same, if it reaches across a hierarchy's end
	Expiries   uint64 `json:"expiries"`
	Ticks      uint64 `json:"ticks,omitempty"`     // watched, of many
	Uncounted  bool   `json:"uncounted,omitempty"` // the facility's own count differs
}

// Interrupts is the study.
var Interrupts = experiments.Define(experiments.Spec[interruptsPlan, interruptsCell]{
	ID: "E6", Name: "interrupts", Bed: "wheel", Class: experiments.Exact, Folder: "wheels/interrupts", Files: files,
	Words: func() experiments.Words { return interruptsWords },
	Cells: interruptsCells, Judge: interruptsJudge,
})

// interruptsFacility is a timer facility.
type interruptsFacility struct {
	name, scheme  string
	slots, levels int
}

var interruptsFacilities = []interruptsFacility{
	{"Scheme 6, 256 slots", "scheme6-list", 256, 0},
	{"Scheme 6, 4096 slots", "scheme6-list", 4096, 0},
	{"Scheme 7, 3 × 256", "scheme7", 256, 3},
	{"Scheme 7, 5 × 16", "scheme7", 16, 5},
	{"heap", "scheme3", 0, 0},
}

func (f *interruptsFacility) open() (wheel.Facility, error) {
	return wheel.New(f.scheme, wheel.Config{Tick: 1, Slots: f.slots, Levels: f.levels, Count: true})
}

// law returns the most interrupts for a timer of j ticks, and whether there are always as many.
func (f *interruptsFacility) law(j int) (most uint64, exact bool) {
	switch {
	case f.levels > 0:
		return uint64(f.levels), false
	case f.slots > 0:
		return uint64(j-1)/uint64(f.slots) + 1, true
	}
	return 1, true
}

// reach returns the ticks that a hierarchy covers, 0 for other schemes.
func (f *interruptsFacility) reach() wheel.Time {
	if f.levels == 0 {
		return 0
	}
	return wheel.Time(stat.Power(float64(f.slots), f.levels))
}

func interruptsFind(name string) *interruptsFacility {
	for i := range interruptsFacilities {
		if interruptsFacilities[i].name == name {
			return &interruptsFacilities[i]
		}
	}
	panic(fmt.Sprintf("BUG: no facility %q", name))
}

// interruptsCompany is the number of timers that start together.
const interruptsCompany = 100

func interruptsCells(p *interruptsPlan) (all []experiments.Cell[interruptsCell]) {
	for i := range interruptsFacilities {
		f := &interruptsFacilities[i]
		cost := 1e-3
		for _, j := range p.Intervals {
			n, _ := f.law(j)
			cost += float64(3e-8 * float64(n) * float64(p.Phases+interruptsCompany/4))
		}
		for _, n := range p.Timers {
			cost += float64(3e-8 * float64(p.Turns*n+p.Mean*p.Turns))
		}
		all = append(all, experiments.Seeded(p.FirstSeed, p.Seeds, "facility="+f.name, cost,
			func(seed int) (interruptsCell, error) { return runInterrupts(p, f, seed) })...)
	}
	return all
}

func runInterrupts(p *interruptsPlan, of *interruptsFacility, seed int) (interruptsCell, error) {
	c := interruptsCell{Facility: of.name, Seed: seed}
	for _, j := range p.Intervals {
		alone, err := interruptsSingle(of, seed, j, p.Phases, 1)
		if err != nil {
			return c, err
		}
		together, err := interruptsSingle(of, seed, j, 1, interruptsCompany)
		if err != nil {
			return c, err
		}
		c.Alone, c.Together = append(c.Alone, alone), append(c.Together, together)
	}
	for _, n := range p.Timers {
		many, err := p.many(of, seed, n)
		if err != nil {
			return c, err
		}
		c.Many = append(c.Many, many)
	}
	return c, nil
}

// interruptsWake advances to the next interrupt, and reports whether there is one.
func interruptsWake(f wheel.Facility, expire func(wheel.Timer)) bool {
	at, ok := f.NextWakeup()
	if ok {
		f.Advance(at, 0, expire)
	}
	return ok
}

// interruptsSingle runs timers of j ticks together, so many times, from random phases.
func interruptsSingle(of *interruptsFacility, seed, j, times, together int) (interruptsRun, error) {
	c := interruptsRun{Timers: together, Interval: j}
	f, err := of.open()
	if err != nil {
		return c, err
	}
	r := rand.New(rand.NewPCG(uint64(seed), uint64(j)))
	timers := make([]wheel.Timer, together)
	for i := range timers {
		timers[i] = f.New(0)
	}
	for range times {
		f.Advance(f.Now()+wheel.Time(r.IntN(1<<24)), 0, func(wheel.Timer) {})
		for _, t := range timers {
			f.Schedule(t, f.Now()+wheel.Time(j))
		}
		across := of.reach() > 0 && (f.Now()+wheel.Time(j))/of.reach() != f.Now()/of.reach()
		before, n := f.Counts(), uint64(0)
		for interruptsWake(f, func(wheel.Timer) { c.Expiries++ }) {
			n++
		}
		c.Interrupts += n
		if across {
			c.Across = max(c.Across, n)
		} else {
			c.Most = max(c.Most, n)
		}
		c.Uncounted = c.Uncounted || f.Counts().Sub(before).Wakeups != n
	}
	return c, nil
}

// many runs n timers that start again when they expire.
func (p *interruptsPlan) many(of *interruptsFacility, seed, n int) (interruptsRun, error) {
	c := interruptsRun{Timers: n, Interval: p.Mean}
	f, err := of.open()
	if err != nil {
		return c, err
	}
	r := rand.New(rand.NewPCG(uint64(seed), 0xe6))
	again := func(t wheel.Timer) {
		c.Expiries++
		f.Schedule(t, f.Now()+wheel.Time(1+r.IntN(2*p.Mean-1)))
	}
	for range n {
		again(f.New(0))
	}
	for f.Now() < wheel.Time(2*p.Mean) {
		interruptsWake(f, again)
	}
	c.Expiries = 0
	from, before := f.Now(), f.Counts()
	for f.Now() < from+wheel.Time(p.Mean*p.Turns) {
		interruptsWake(f, again)
		c.Interrupts++
	}
	c.Ticks = uint64(f.Now() - from)
	c.Uncounted = f.Counts().Sub(before).Wakeups != c.Interrupts
	return c, nil
}

var interruptsWords = experiments.Words{
	Question: "How often must a host wake up for its timers if empty slots cost nothing?",
	Found: "With empty slots skipped, Scheme 6 wakes the host ⌊(j-1)/M⌋+1 times for a timer and Scheme 7 at most m " +
		"times, as published; m+1 across the end of this package's last wheel, where the paper's is circular.",
}

// interruptsRow is a run with its facility, and the most interrupts for its interval: exact says
// that there are always as many.
type interruptsRow struct {
	interruptsRun
	of    *interruptsFacility
	law   uint64
	exact bool
}

// interruptsRows returns the runs of one kind.
func interruptsRows(cells []interruptsCell, kind func(*interruptsCell) []interruptsRun) (all []interruptsRow) {
	for i := range cells {
		of := interruptsFind(cells[i].Facility)
		for _, r := range kind(&cells[i]) {
			law, exact := of.law(r.Interval)
			all = append(all, interruptsRow{r, of, law, exact})
		}
	}
	return all
}

func (r *interruptsRow) otherwise() bool {
	return r.Most > r.law || r.exact && r.Interrupts != r.law*r.Expiries
}

// busy returns the share of the ticks on which the run's timers wake a host with Scheme 6: each
// does so T/M + ½ times in T ticks.
func (r *interruptsRow) busy() float64 {
	return 1 - stat.Power(1-(1/float64(r.of.slots)+1/(2*float64(r.Interval))), r.Timers)
}

// interruptsJudge judges timers one at a time, those that start together, and those that start
// again when they expire.
func interruptsJudge(_ *interruptsPlan, cells []interruptsCell) (*experiments.Outcome, error) {
	alone := interruptsRows(cells, func(c *interruptsCell) []interruptsRun { return c.Alone })
	together := interruptsRows(cells, func(c *interruptsCell) []interruptsRun { return c.Together })
	many := interruptsRows(cells, func(c *interruptsCell) []interruptsRun { return c.Many })
	levels := func(r *interruptsRow) bool { return r.of.levels > 0 }
	six := judge.Count(alone, func(r *interruptsRow) bool { return !levels(r) && r.otherwise() })
	seven := judge.Count(alone, func(r *interruptsRow) bool { return levels(r) && r.otherwise() })
	more := judge.Count(together, func(r *interruptsRow) bool {
		return max(r.Most, r.Across) > r.law+min(r.Across, 1) || r.Expiries != uint64(r.Timers)
	})
	// Interrupts beyond m for timers that wait across the end of a hierarchy, at most.
	beyond, miscounted := 0, 0
	for i := range alone {
		a, b := &alone[i], &together[i]
		beyond = max(beyond, int(a.Across)-a.of.levels, int(b.Across)-b.of.levels)
		if a.Uncounted || b.Uncounted {
			miscounted++
		}
	}
	miscounted += judge.Count(many, func(r *interruptsRow) bool { return r.Uncounted })
	type point struct{ slots, timers int }
	hashed := judge.By(judge.Where(many, func(r *interruptsRow) bool { return r.of.slots > 0 && !levels(r) }),
		func(r *interruptsRow) point { return point{r.of.slots, r.Timers} })
	busy := farthest(hashed, func(g *judge.Group[point, interruptsRow]) float64 {
		share := func(r *interruptsRow) float64 { return float64(r.Interrupts) / float64(r.Ticks) }
		return judge.Mean(g.Rows, share) / g.Rows[0].busy()
	})
	none := experiments.Exactly(0, "").Saying("none")
	out := &experiments.Outcome{}
	out.Judge(
		experiments.Claim{
			Name: "six", Class: experiments.Law, Tag: experiments.Computed,
			Text:     "Scheme 6 wakes the host ⌊(j-1)/M⌋+1 times for a timer of j ticks",
			Source:   "whole visits; the paper's T/M is their limit for T far above M",
			Measured: judge.Said("%d intervals otherwise", six).Judging(float64(six)),
			Expected: none,
		},
		experiments.Claim{
			Name: "seven", Class: experiments.Check, Source: "Varghese & Lauck, Appendix A", Tag: experiments.FromSource,
			Text:      "Scheme 7 wakes the host at most m times for a timer within its wheels",
			Published: "at most m",
			Measured:  judge.Said("%d of %d runs with more", seven, judge.Count(alone, levels)).Judging(float64(seven)),
			Expected:  experiments.Exactly(0, "").Saying("at most m"),
		},
		experiments.Claim{
			Name: "beyond", Class: experiments.Law, Tag: experiments.Computed, Basis: "one list more",
			Text: "a timer that waits across the end of this package's last wheel wakes the host one more time",
			Source: "this package keeps timers beyond the end in a list of their own, one more to migrate from; by default " +
				"a hierarchy covers all time and has no end",
			Measured: judge.Said("at most m+%d", beyond).Judging(float64(beyond)),
			Expected: experiments.AtMost(1, "").Saying("at most m+1"),
		},
		experiments.Claim{
			Name: "together", Class: experiments.Law, Source: "definition of a busy slot", Tag: experiments.Computed,
			Text:     judge.Say("%d timers of one tick cost no more interrupts than one", interruptsCompany),
			Measured: judge.Said("%d of %d runs with more", more, len(together)).Judging(float64(more)),
			Expected: none,
		},
		experiments.Claim{
			Name: "busy", Class: experiments.Law, Source: "timers at random over slots, computed", Tag: experiments.Computed,
			Text:  "n timers wake a host with Scheme 6 on a share 1-(1-p)^n of the ticks, p = 1/M + 1/2T",
			Basis: "set for this project", Measured: experiments.Measured(busy, "of the law, farthest from 1"),
			Expected: experiments.Within(1, 0.05, "").OrDiffers(experiments.Between(0.8, 1.25, "")),
		},
		experiments.Claim{
			Name: "counts", Class: experiments.Check, Source: "contract of package wheel", Tag: experiments.Computed,
			Text:     "the facility counts as many wake-ups as the host has",
			Measured: judge.Said("%d runs otherwise", miscounted).Judging(float64(miscounted)),
			Expected: none,
		},
	)
	return out, nil
}
