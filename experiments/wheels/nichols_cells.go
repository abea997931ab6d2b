package wheels

import (
	"context"
	"fmt"
	"math"

	"tcpwheel/experiments"
	"tcpwheel/wheel"
)

// nicholsShown is how many slot widths of intervals the figure has.
const nicholsShown = 10

func nicholsCells(p *nicholsPlan) (all []experiments.Cell[nicholsCell]) {
	for _, m := range p.Slots {
		for _, s := range nicholsSchemes {
			for r := wheel.RoundUp; r <= wheel.RoundDown; r++ {
				all = append(all, experiments.Cell[nicholsCell]{
					Name: fmt.Sprintf("scheme=%s rounding=%v M=%d", s.name, r, m),
					Cost: 2e-7 * float64(m*m) * (2 + float64(m/p.Stride)),
					Run:  func(context.Context) (nicholsCell, error) { return nicholsRun(p, s.name, s.level, r, m) },
				})
			}
		}
	}
	return all
}

func nicholsRun(p *nicholsPlan, scheme string, level int, rounding wheel.Rounding, m int) (nicholsCell, error) {
	c := nicholsCell{Scheme: scheme, Rounding: rounding.String(), M: m}
	f, err := wheel.New(scheme, wheel.Config{Tick: 1, Slots: m, Rounding: rounding})
	if err != nil {
		return c, err
	}
	// Of intervals from M on to M², or from M² on over as many, the error is less than M ticks.
	first := 1
	for range level {
		first *= m
	}
	intervals := m*m - m
	t := f.New(0)
	origin := wheel.Time(first * m) // all slot boundaries of the levels meet at its multiples
	one := func(position, interval int, e *nicholsErrors) (late int) {
		start := (f.Now()/origin+1)*origin + wheel.Time(position)
		f.Advance(start, 0, func(wheel.Timer) {})
		f.Schedule(t, start+wheel.Time(interval))
		var set int
		f.Advance(start+wheel.Time(interval+2*first), 0, func(wheel.Timer) { set = int(f.Now() - start) })
		late = set - interval
		e.Timers++
		switch {
		case late < 0:
			e.Early++
		case late > 0:
			e.Late++
		}
		lost := math.Abs(float64(late))
		e.OfRequested = max(e.OfRequested, lost/float64(interval))
		e.OfSet = max(e.OfSet, lost/float64(set))
		e.Mean += lost / float64(interval)
		return late
	}
	for i := range intervals {
		late := one(0, first+i, &c.Boundary)
		if level == 1 && i < nicholsShown*m && m == p.Slots[0] {
			c.Late = append(c.Late, late)
		}
	}
	// The worst positions are those beside a boundary, and beside the middle.
	for position := 0; position < m; position++ {
		if position > 1 && position < m-1 && position%p.Stride != 0 && (position < m/2-1 || position > m/2+1) {
			continue
		}
		for i := range intervals {
			one(position, first+i, &c.Any)
		}
	}
	c.Boundary.Mean /= float64(c.Boundary.Timers)
	c.Any.Mean /= float64(c.Any.Timers)
	return c, nil
}
