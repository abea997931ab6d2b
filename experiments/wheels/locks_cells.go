package wheels

import (
	"context"
	"fmt"
	"math/rand/v2"

	"tcpwheel/experiments"
	"tcpwheel/wheel"
)

func locksCells(p *locksPlan) (all []experiments.Cell[locksCell]) {
	for _, scheme := range p.Schemes {
		all = append(all, experiments.Cell[locksCell]{
			Name: fmt.Sprintf("scheme=%s holds", scheme), Cost: 1e-3 + float64(1e-7*float64(p.Timers[len(p.Timers)-1])),
			Run: func(context.Context) (locksCell, error) { return locksHolds(p, scheme) },
		})
		for seed := 1; seed <= p.Seeds; seed++ {
			all = append(all, experiments.Cell[locksCell]{
				Name: fmt.Sprintf("scheme=%s seed=%d", scheme, seed),
				Cost: 1e-7 * float64(2*p.Operations*len(p.Processors)*p.Processors[len(p.Processors)-1]),
				Run:  func(context.Context) (locksCell, error) { return locksSchedules(p, scheme, seed) },
			})
		}
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

// locksSteps returns for how long do holds the lock of the first shard.
func locksSteps(s *wheel.Sharded, do func()) uint64 {
	before := s.Holds(0).Steps
	do()
	return s.Holds(0).Steps - before
}

// locksSchedules has processors work under one lock, and under one per processor.
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

// schedule is the work of processors, in steps. Each starts and stops timers of shards that it picks at random, as it
// would for whichever connection a packet is for.
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
