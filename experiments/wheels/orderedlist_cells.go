package wheels

import (
	"context"
	"fmt"
	"math/rand/v2"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/stat"
	"tcpwheel/wheel"
)

func orderedlistCells(p *orderedlistPlan) (all []experiments.Cell[orderedlistCell]) {
	for _, name := range p.Intervals {
		for _, n := range p.Outstanding {
			for seed := 1; seed <= p.Seeds; seed++ {
				starts := p.Insertions + p.WarmUp*n
				all = append(all, experiments.Cell[orderedlistCell]{
					Name: fmt.Sprintf("intervals=%s n=%d seed=%d", name, n, seed),
					Cost: 1e-7 * float64(starts) * (3 + float64(n)/50),
					Run: func(context.Context) (orderedlistCell, error) {
						return orderedlistRun(p, orderedlistFind(name), n, seed)
					},
				})
			}
		}
	}
	return all
}

// orderedlistRun has timers arrive and expire in two lists at once.
func orderedlistRun(p *orderedlistPlan, d *orderedlistDistribution, n, seed int) (orderedlistCell, error) {
	c := orderedlistCell{Intervals: d.name, N: n, Seed: seed, Insertions: p.Insertions}
	head, err := wheel.New("scheme2", wheel.Config{Tick: 1, Count: true})
	if err != nil {
		return c, err
	}
	rear, err := wheel.New("scheme2-rear", wheel.Config{Tick: 1, Count: true})
	if err != nil {
		return c, err
	}
	r := rand.New(rand.NewPCG(uint64(seed), 1987))
	var idle []wheel.Timer // in both lists at once
	expire := func(t wheel.Timer) { idle = append(idle, t) }
	now, warmUp := 0., p.WarmUp*n
	for i := range warmUp + p.Insertions {
		if i == warmUp {
			head.ResetCounts()
			rear.ResetCounts()
			c.Seen = 0
		}
		now += float64(p.Mean / float64(n) * stat.Exponential(r))
		head.Advance(wheel.Time(now), 0, expire)
		rear.Advance(wheel.Time(now), 0, func(wheel.Timer) {})
		if len(idle) == 0 {
			idle = append(idle, head.New(0))
			rear.New(0)
		}
		t := idle[len(idle)-1]
		idle = idle[:len(idle)-1]
		c.Seen += uint64(head.Len())
		at := wheel.Time(now + max(1, float64(p.Mean*d.draw(r))))
		head.Schedule(t, at)
		rear.Schedule(t, at)
	}
	c.Head, c.Rear = head.Counts().StartVisits, rear.Counts().StartVisits
	return c, nil
}
