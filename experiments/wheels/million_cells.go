package wheels

import (
	"context"
	"fmt"

	"tcpwheel/experiments"
	"tcpwheel/wheel"
)

func millionCells(p *millionPlan) (all []experiments.Cell[millionCell]) {
	for i := range p.Facilities {
		f := &p.Facilities[i]
		for _, mode := range []millionMode{millionIdle, millionSteady, millionActive} {
			if mode == millionIdle && !f.hashed() {
				continue // what is idle costs nothing elsewhere, but for migrations: those are in steady
			}
			for seed := 1; seed <= p.Seeds; seed++ {
				ticks := p.ticks(f, mode)
				looks := 1.0
				if f.hashed() {
					looks = float64(p.Connections) / float64(f.Slots)
				}
				all = append(all, experiments.Cell[millionCell]{
					Name: fmt.Sprintf("facility=%v mode=%s seed=%d", f, mode, seed),
					Cost: float64(3e-7*float64(p.Connections)) + float64(1e-8*float64(ticks)*(5+looks)),
					Run:  func(context.Context) (millionCell, error) { return millionRun(p, f, mode, seed) },
				})
			}
		}
	}
	return all
}

// ticks returns for how many ticks a facility is watched.
func (p *millionPlan) ticks(f *millionFacility, mode millionMode) uint64 {
	if mode == millionActive {
		return uint64(p.Watched / p.Tick)
	}
	if !f.hashed() {
		return p.interval()
	}
	n := uint64(p.Rotations * f.Slots)
	if mode == millionSteady {
		return min(n, p.interval())
	}
	if whole := p.interval() / uint64(f.Slots); n > p.interval() && whole > 0 {
		n = whole * uint64(f.Slots)
	}
	return n
}

func millionRun(p *millionPlan, of *millionFacility, mode millionMode, seed int) (millionCell, error) {
	c := millionCell{Facility: of.Text, Mode: mode, Seed: seed, Ticks: p.ticks(of, mode)}
	f, err := of.open(p.Tick, true)
	if err != nil {
		return c, err
	}
	first := wheel.Time(p.Tick)
	if mode == millionIdle {
		first += wheel.Time(c.Ticks) * wheel.Time(p.Tick)
	}
	l := p.newLoad(f, seed, first)
	begin := f.Counts()
	l.calls = 0
	before := begin
	for range c.Ticks {
		// The busiest tick is one of PER TICK BOOKKEEPING: what packets cost is not in it.
		l.tick()
		now := f.Counts()
		c.Busiest = max(c.Busiest, millionWork(now.Sub(before)))
		c.Expiring = max(c.Expiring, now.Expiries-before.Expiries)
		if before = now; mode == millionActive {
			l.packets()
			before = f.Counts()
		}
	}
	c.Counts, c.Calls = f.Counts().Sub(begin), l.calls
	if mode == millionIdle && l.expired > 0 {
		return c, fmt.Errorf("%d timers expired, which were to be idle", l.expired)
	}
	return c, nil
}

// millionWork returns what was done to records: looks, moves and comparisons. Those that START and STOP look at in a heap are compared,
// and counted once.
func millionWork(c wheel.Counts) uint64 { return c.TickVisits + c.Moves + c.Comparisons }
