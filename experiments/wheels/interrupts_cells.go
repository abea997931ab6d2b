package wheels

import (
	"context"
	"fmt"
	"math/rand/v2"

	"tcpwheel/experiments"
	"tcpwheel/wheel"
)

// interruptsCompany is how many timers start together.
const interruptsCompany = 100

func interruptsCells(p *interruptsPlan) (all []experiments.Cell[interruptsCell]) {
	for i := range interruptsFacilities {
		f := &interruptsFacilities[i]
		for seed := 1; seed <= p.Seeds; seed++ {
			cost := 1e-3
			for _, j := range p.Intervals {
				n, _ := f.law(j)
				cost += float64(3e-8 * float64(n) * float64(p.Phases+interruptsCompany/4))
			}
			for _, n := range p.Timers {
				cost += float64(3e-8 * float64(p.Turns*n+p.Mean*p.Turns))
			}
			all = append(all, experiments.Cell[interruptsCell]{
				Name: fmt.Sprintf("facility=%s seed=%d", f.name, seed), Cost: cost,
				Run: func(context.Context) (interruptsCell, error) { return runInterrupts(p, f, seed) },
			})
		}
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

// interruptsWake has time pass up to the next interrupt, and reports whether there is one.
func interruptsWake(f wheel.Facility, expire func(wheel.Timer)) bool {
	at, ok := f.NextWakeup()
	if ok {
		f.Advance(at, 0, expire)
	}
	return ok
}

// interruptsSingle runs timers of j ticks together, over and over from phases drawn by chance.
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

// many runs n timers that are started again when they expire.
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
