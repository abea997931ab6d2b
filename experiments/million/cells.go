package million

import (
	"context"
	"fmt"

	"tcpwheel/experiments"
	"tcpwheel/wheel"
)

func cells(p *Plan) (all []experiments.Cell[Cell]) {
	for i := range p.Facilities {
		f := &p.Facilities[i]
		for _, mode := range []Mode{Idle, Steady, Active} {
			if mode == Idle && !f.hashed() {
				continue // what is idle costs nothing elsewhere, but for migrations: those are in steady
			}
			for seed := 1; seed <= p.Seeds; seed++ {
				ticks := p.ticks(f, mode)
				looks := 1.0
				if f.hashed() {
					looks = float64(p.Connections) / float64(f.Slots)
				}
				all = append(all, experiments.Cell[Cell]{
					Name: fmt.Sprintf("facility=%v mode=%s seed=%d", f, mode, seed),
					Cost: float64(3e-7*float64(p.Connections)) + float64(1e-8*float64(ticks)*(5+looks)),
					Run:  func(context.Context) (Cell, error) { return run(p, f, mode, seed) },
				})
			}
		}
	}
	return all
}

// ticks returns for how many ticks a facility is watched.
func (p *Plan) ticks(f *Facility, mode Mode) uint64 {
	if mode == Active {
		return uint64(p.Watched / p.Tick)
	}
	if !f.hashed() {
		return p.interval()
	}
	n := uint64(p.Rotations * f.Slots)
	if mode == Steady {
		return min(n, p.interval())
	}
	if whole := p.interval() / uint64(f.Slots); n > p.interval() && whole > 0 {
		n = whole * uint64(f.Slots)
	}
	return n
}

func run(p *Plan, of *Facility, mode Mode, seed int) (Cell, error) {
	c := Cell{Facility: of.Text, Mode: mode, Seed: seed, Ticks: p.ticks(of, mode)}
	f, err := of.open(p.Tick, true)
	if err != nil {
		return c, err
	}
	first := wheel.Time(p.Tick)
	if mode == Idle {
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
		c.Busiest = max(c.Busiest, work(now.Sub(before)))
		c.Expiring = max(c.Expiring, now.Expiries-before.Expiries)
		if before = now; mode == Active {
			l.packets()
			before = f.Counts()
		}
	}
	c.Counts, c.Calls = f.Counts().Sub(begin), l.calls
	if mode == Idle && l.expired > 0 {
		return c, fmt.Errorf("%d timers expired, which were to be idle", l.expired)
	}
	return c, nil
}

// work returns what was done to records: looks, moves and comparisons. Those that START and STOP look at in a heap are compared,
// and counted once.
func work(c wheel.Counts) uint64 { return c.TickVisits + c.Moves + c.Comparisons }
