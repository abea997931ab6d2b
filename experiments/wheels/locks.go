package wheels

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

// locksPlan is the plan of the study.
type locksPlan struct {
	Timers     []int    `plan:"timers" min:"0" max:"1000000" order:"rising"`
	Schemes    []string `plan:"schemes"`
	Processors []int    `plan:"processors" min:"1" max:"256" order:"rising"`
	Running    int      `plan:"running" min:"1" max:"1000000"`
	Operations int      `plan:"operations" min:"10" max:"1000000"`
	Work       int      `plan:"work" min:"0" max:"1000000"`
	Longest    int      `plan:"longest" min:"1" max:"1000000000"`
	FirstSeed  int      `plan:"first_seed" min:"1" max:"1000000"`
	Seeds      int      `plan:"seeds" min:"1" max:"1000"`
}

// locksSchemes are the schemes that may have several shards.
var locksSchemes = []string{
	"scheme1", "scheme2", "scheme2-rear", "scheme3", "scheme5", "scheme6", "scheme6-eager", "scheme6-list", "scheme7",
}

// locksCell is the counts of one scheme: holds for seed 0, schedules for other seeds.
type locksCell struct {
	Scheme string `json:"scheme"`
	Seed   int    `json:"seed"`

	Holds     []locksHold     `json:"holds,omitempty"`
	Schedules []locksSchedule `json:"schedules,omitempty"`
}

// locksHold is the steps for which the lock is held when n timers run.
type locksHold struct {
	N     int    `json:"n"`     // running, of a hold
	Start uint64 `json:"start"` // under the lock, for START of a timer later than all others
	Stop  uint64 `json:"stop"`  // the same for STOP of that timer
	Tick  uint64 `json:"tick"`  // the same for a tick on which one timer expires
}

// locksSchedule is the work of several processors.
type locksSchedule struct {
	Processors int     `json:"processors"`
	Shards     int     `json:"shards"`
	Steps      uint64  `json:"steps"`   // until the last processor is done
	Waited     uint64  `json:"waited"`  // for locks, of all processors
	Held       uint64  `json:"held"`    // by all processors
	Longest    uint64  `json:"longest"` // under the lock, of one operation
	Rate       float64 `json:"rate"`    // operations per 1000 steps
}

// Locks is the study.
var Locks = experiments.Define(experiments.Spec[locksPlan, locksCell]{
	ID: "E7", Name: "locks", Bed: "wheel", Class: experiments.Exact, Folder: "wheels/locks", Files: files,
	Check: func(p *locksPlan) error {
		for _, s := range p.Schemes {
			if !slices.Contains(locksSchemes, s) {
				return fmt.Errorf("schemes: %q, want one of %s", s, strings.Join(locksSchemes, ", "))
			}
		}
		if p.Processors[0] != 1 {
			return fmt.Errorf("processors: %v, want 1 first", p.Processors)
		}
		if p.Timers[len(p.Timers)-1] == 0 {
			return fmt.Errorf("timers: %v, want more than 0 last", p.Timers)
		}
		return nil
	},
	Words: func() experiments.Words { return locksWords },
	Cells: locksCells, Judge: locksJudge,
})

func locksCells(p *locksPlan) (all []experiments.Cell[locksCell]) {
	for _, scheme := range p.Schemes {
		all = append(all, experiments.Cell[locksCell]{
			Name: fmt.Sprintf("scheme=%s holds", scheme), Cost: 1e-3 + float64(1e-7*float64(p.Timers[len(p.Timers)-1])),
			Run: func(context.Context) (locksCell, error) { return locksHolds(p, scheme) },
		})
		all = append(all, experiments.Seeded(p.FirstSeed, p.Seeds, fmt.Sprintf("scheme=%s", scheme),
			1e-7*float64(2*p.Operations*len(p.Processors)*p.Processors[len(p.Processors)-1]), func(seed int) (locksCell, error) {
				return locksSchedules(p, scheme, seed)
			})...)
	}
	return all
}

// locksHolds counts the steps of single calls under the lock.
func locksHolds(p *locksPlan, scheme string) (locksCell, error) {
	c := locksCell{Scheme: scheme}
	for _, n := range p.Timers {
		s, err := wheel.NewSharded(1, scheme, wheel.Config{Tick: 1, Count: true})
		if err != nil {
			return c, err
		}
		for i := n; i >= 1; i-- { // from the latest, so that filling an ordered list takes no search
			s.Schedule(s.New(0, uint64(i)), wheel.Time(i))
		}
		last := s.New(0, uint64(n+1))
		h := locksHold{N: n}
		h.Start = locksSteps(s, func() { s.Schedule(last, wheel.Time(n+1)) })
		h.Stop = locksSteps(s, func() { s.Stop(last) })
		h.Tick = locksSteps(s, func() { s.Advance(0, 1, make([]uint64, 4)) })
		c.Holds = append(c.Holds, h)
	}
	return c, nil
}

// locksSteps returns the steps for which do holds the lock of the first shard.
func locksSteps(s *wheel.Sharded, do func()) uint64 {
	before := s.Holds(0).Steps
	do()
	return s.Holds(0).Steps - before
}

// locksSchedules has processors work under one lock, and under a lock each.
func locksSchedules(p *locksPlan, scheme string, seed int) (locksCell, error) {
	c := locksCell{Scheme: scheme, Seed: seed}
	for _, n := range p.Processors {
		for _, shards := range []int{1, n} {
			if shards == 1 && n == 1 && len(c.Schedules) > 0 {
				continue
			}
			s, err := p.schedule(scheme, seed, n, shards)
			if err != nil {
				return c, err
			}
			c.Schedules = append(c.Schedules, s)
		}
	}
	return c, nil
}

// schedule simulates the work of processors, in steps. Each starts and stops timers of a random
// shard, as for the connection of the next packet.
func (p *locksPlan) schedule(scheme string, seed, processors, shards int) (locksSchedule, error) {
	c := locksSchedule{Processors: processors, Shards: shards}
	s, err := wheel.NewSharded(shards, scheme, wheel.Config{Tick: 1, Count: true})
	if err != nil {
		return c, err
	}
	r := rand.New(rand.NewPCG(uint64(seed), 0xe7))
	for i := range p.Running {
		s.Schedule(s.New(i%shards, uint64(i)), wheel.Time(1+r.IntN(p.Longest)))
	}
	type processor struct {
		timers  []wheel.ShardTimer // one of each shard
		running []bool
		clock   uint64
		done    int
	}
	all := make([]processor, processors)
	for i := range all {
		for shard := range shards {
			all[i].timers = append(all[i].timers, s.New(shard, uint64(i)))
		}
		all[i].running = make([]bool, shards)
	}
	free := make([]uint64, shards) // when each lock will be free
	held := make([]uint64, shards)
	for shard := range held {
		held[shard] = s.Holds(shard).Steps
	}
	for {
		next := -1
		for i := range all {
			if all[i].done < p.Operations && (next < 0 || all[i].clock < all[next].clock) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		a, shard := &all[next], r.IntN(shards)
		start := max(a.clock, free[shard])
		c.Waited += start - a.clock
		if t := a.timers[shard]; a.running[shard] {
			s.Stop(t)
		} else {
			s.Schedule(t, wheel.Time(1+r.IntN(p.Longest)))
		}
		a.running[shard] = !a.running[shard]
		now := s.Holds(shard).Steps
		hold := now - held[shard]
		held[shard] = now
		c.Held += hold
		c.Longest = max(c.Longest, hold)
		free[shard] = start + hold
		a.clock = start + hold + uint64(r.IntN(2*p.Work+1))
		c.Steps = max(c.Steps, a.clock)
		a.done++
	}
	c.Rate = 1000 * float64(processors*p.Operations) / float64(c.Steps)
	return c, nil
}

var locksWords = experiments.Words{
	Question: "How long does a processor hold the lock that the others wait for?",
	Found: "Scheme 2 holds its lock for {scheme2-hold}, Schemes 6 and 7 for {constant-hold}. Under one lock, 8 " +
		"processors with Scheme 2 do the work of {scheme2-speedup#}.",
}

// Bands in processors' worth of work: the most with Scheme 2 under one lock, and the least with
// Schemes 6 and 7, as a share of all processors.
const (
	locksOneAtMost  = 1.5
	locksAllAtLeast = 0.75
)

// locksWork is the work of several processors under one seed, relative to one processor.
type locksWork struct {
	scheme     string
	processors int
	each       bool // a lock each, else one lock
	longest    uint64
	speedup    float64
}

// locksWorks returns the work of all schedules. That of one processor has one lock and a lock each.
func locksWorks(cells []locksCell) (all []locksWork) {
	for _, c := range cells {
		for _, s := range c.Schedules {
			w := locksWork{c.Scheme, s.Processors, false, s.Longest, s.Rate / c.Schedules[0].Rate}
			if s.Shards == 1 {
				all = append(all, w)
			}
			if s.Shards == s.Processors { // fewer timers in each shard: a shorter search
				w.each = true
				all = append(all, w)
			}
		}
	}
	return all
}

func locksSpeedup(works []locksWork) stat.Interval {
	return judge.Student(judge.Values(works, func(w *locksWork) float64 { return w.speedup }))
}

func locksDirect(scheme string) bool { return scheme == "scheme6" || scheme == "scheme7" }

// locksHolding returns the claim that START and STOP of schemes hold the lock as long as they
// should: START by the timers that run, and STOP for a step.
func locksHolding(p *locksPlan, cells []locksCell, name, text, unit, expected string, of func(scheme string) bool,
	start func(n int) int) experiments.Claim {
	fullest, most, exact := slices.Max(p.Timers), uint64(0), true
	for _, c := range cells {
		for _, h := range c.Holds {
			if of(c.Scheme) {
				exact = exact && h.Start == uint64(start(h.N)) && h.Stop == 1
				if h.N == fullest {
					most = max(most, h.Start)
				}
			}
		}
	}
	c := experiments.Claim{
		Name: name, Class: experiments.Law, Text: text,
		Measured: judge.Said("%d %s with %d timers", most, unit, fullest), Expected: experiments.Whether(exact, "%s",
			expected),
	}
	if most == 0 {
		c.Unless = "the plan has no such scheme"
	}
	return c
}

func locksJudge(p *locksPlan, cells []locksCell) (*experiments.Outcome, error) {
	const paper = "Varghese & Lauck, Appendix B"
	searched := locksHolding(p, cells, "scheme2-hold", "Scheme 2 holds the lock during its whole search", "steps",
		"n+1 steps, exactly", func(s string) bool { return s == "scheme2" }, func(n int) int { return n + 1 })
	searched.Published, searched.Source, searched.Tag = "others wait until it is released", paper, experiments.FromSource
	constant := locksHolding(p, cells, "constant-hold", "Schemes 6 and 7 hold it for one step at any n", "step",
		"one step for START and STOP, exactly", locksDirect, func(int) int { return 1 })
	constant.Source, constant.Tag = "count of steps, after "+paper, experiments.Computed

	works, processors := locksWorks(cells), slices.Max(p.Processors)
	all := judge.Where(works, func(w *locksWork) bool { return w.processors == processors })
	alone := locksSpeedup(judge.Where(all, func(w *locksWork) bool { return w.scheme == "scheme2" && !w.each }))
	var shared stat.Interval
	for i, g := range judge.By(judge.Where(all, func(w *locksWork) bool { return w.each && locksDirect(w.scheme) }),
		func(w *locksWork) string { return w.scheme }) {
		if in := locksSpeedup(g.Rows); i == 0 || in.Value < shared.Value {
			shared = in
		}
	}
	speedup := func(name, text, source string, tag experiments.Tag, in stat.Interval,
		band experiments.Band) experiments.Claim {
		return experiments.Claim{Name: name, Class: experiments.Law, Source: source, Tag: tag,
			Text: fmt.Sprintf(text, processors), Basis: "set for this project",
			Measured: experiments.MeasuredWithin(in, "processors"), Expected: band}
	}
	out := &experiments.Outcome{}
	out.Judge(searched, constant,
		speedup("scheme2-speedup", "under one lock, %d processors with Scheme 2 do hardly more than one", paper,
			experiments.FromSource, alone, experiments.Below(locksOneAtMost, "")),
		speedup("sharded-speedup", "with a lock each, %d processors do nearly all of their work in Schemes 6 and 7",
			"sharded wheels of this project; the paper speaks of locks for parts of one", experiments.Computed, shared,
			experiments.Above(locksAllAtLeast*float64(processors), "")))
	return out, nil
}
