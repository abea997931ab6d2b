package interrupts

import (
	"context"
	"fmt"
	"math/rand/v2"

	"tcpwheel/experiments"
	"tcpwheel/wheel"
)

// company is how many timers start together.
const company = 100

func cells(p *Plan) (all []experiments.Cell[Cell]) {
	for i := range facilities {
		f := &facilities[i]
		for seed := 1; seed <= p.Seeds; seed++ {
			cost := 1e-3
			for _, j := range p.Intervals {
				n, _ := f.law(j)
				cost += float64(3e-8 * float64(n) * float64(p.Phases+company/4))
			}
			for _, n := range p.Timers {
				cost += float64(3e-8 * float64(p.Turns*n+p.Mean*p.Turns))
			}
			all = append(all, experiments.Cell[Cell]{
				Name: fmt.Sprintf("facility=%s seed=%d", f.name, seed), Cost: cost,
				Run: func(context.Context) (Cell, error) { return run(p, f, seed) },
			})
		}
	}
	return all
}

func run(p *Plan, of *facility, seed int) (Cell, error) {
	c := Cell{Facility: of.name, Seed: seed}
	for _, j := range p.Intervals {
		alone, err := single(of, seed, j, p.Phases, 1)
		if err != nil {
			return c, err
		}
		together, err := single(of, seed, j, 1, company)
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

// wake has time pass up to the next interrupt, and reports whether there is one.
func wake(f wheel.Facility, expire func(wheel.Timer)) bool {
	at, ok := f.NextWakeup()
	if ok {
		f.Advance(at, 0, expire)
	}
	return ok
}

// single runs timers of j ticks together, over and over from phases drawn by chance.
func single(of *facility, seed, j, times, together int) (Run, error) {
	c := Run{Timers: together, Interval: j}
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
		for wake(f, func(wheel.Timer) { c.Expiries++ }) {
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

// many runs n timers that are started again when they expire.
func (p *Plan) many(of *facility, seed, n int) (Run, error) {
	c := Run{Timers: n, Interval: p.Mean}
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
		wake(f, again)
	}
	c.Expiries = 0
	from, before := f.Now(), f.Counts()
	for f.Now() < from+wheel.Time(p.Mean*p.Turns) {
		wake(f, again)
		c.Interrupts++
	}
	c.Ticks = uint64(f.Now() - from)
	c.Uncounted = f.Counts().Sub(before).Wakeups != c.Interrupts
	return c, nil
}
