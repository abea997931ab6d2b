package wheels

import (
	"context"
	"fmt"
	"math/rand/v2"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

// The timed work: timers that run all the time, each started again when it expires.
const (
	hierarchyClockTimers = 10_000
	hierarchyClockT      = 1 << 16 // mean interval, in ticks
	hierarchyClockRounds = 5
)

// hierarchySixes are the layouts of Scheme 6 that are timed.
var hierarchySixes = []struct{ name, about string }{{"scheme6-list", "Scheme 6, linked"}, {"scheme6", "Scheme 6, packed"}}

// hierarchyClockRotations are the T/M of Scheme 6 that are timed.
var hierarchyClockRotations = []int{1, 2, 4, 8, 16, 32, 64}

// hierarchyPiece runs timers of a facility for a mean interval.
func hierarchyPiece(scheme string, slots, levels int) (piece, error) {
	f, err := wheel.New(scheme, wheel.Config{Tick: 1, Slots: slots, Levels: levels})
	if err != nil {
		return piece{}, err
	}
	r := rand.New(rand.NewPCG(1, 3))
	f.Reserve(hierarchyClockTimers)
	again := func(t wheel.Timer) { f.Schedule(t, f.Now()+wheel.Time(1+r.Uint64N(2*hierarchyClockT-1))) }
	for range hierarchyClockTimers {
		again(f.New(0))
	}
	f.Advance(2*hierarchyClockT, 0, again)
	return piece{ops: hierarchyClockTimers, run: func() {
		for end := f.Now() + hierarchyClockT; f.Now() < end; {
			f.Advance(f.Now()+wheel.Time(min(slots/2, 64)), 0, again)
		}
	}}, nil
}

// hierarchyClock fits the costs in nanoseconds of this machine.
func hierarchyClock(ctx context.Context, p *hierarchyPlan) (*experiments.Outcome, error) {
	var pieces []piece
	add := func(scheme string, slots, levels int) error {
		work, err := hierarchyPiece(scheme, slots, levels)
		pieces = append(pieces, work)
		return err
	}
	for _, scheme := range hierarchySixes {
		for _, x := range hierarchyClockRotations {
			if err := add(scheme.name, hierarchyClockT/x, 0); err != nil {
				return nil, err
			}
		}
	}
	for _, m := range p.Levels {
		per := 2
		for hierarchyReach(per, m) < 2*hierarchyClockT {
			per *= 2
		}
		if err := add("scheme7", per, m); err != nil {
			return nil, err
		}
	}
	ns, err := timeRounds(ctx, hierarchyClockRounds, pieces)
	if err != nil {
		return nil, err
	}
	all := medians(ns)
	six, seven := all[:len(all)-len(p.Levels)], all[len(all)-len(p.Levels):]
	out := &experiments.Outcome{}
	hierarchyShowClock(p, six, seven, out)
	return out, nil
}

// hierarchyShowClock shows the medians of Scheme 6, by layout and T/M, and of Scheme 7 by levels.
func hierarchyShowClock(p *hierarchyPlan, six, seven []stat.Interval, out *experiments.Outcome) {
	rotations := hierarchyClockRotations
	table := experiments.Table{
		Name: "ns", Title: fmt.Sprintf("Nanoseconds per timer of %s ticks, among %s", experiments.Number(hierarchyClockT), experiments.Number(hierarchyClockTimers)),
		Columns: []string{"scheme", "T/M or m", "ns per timer", "fastest round", "slowest"},
	}
	fig := figure.Figure{
		Name: "ns", Title: "Scheme 6 against Scheme 7 on this machine",
		X: figure.Axis{Label: "T/M of Scheme 6", Log: true}, Y: figure.Axis{Label: "ns per timer", Log: true},
		Caption: "Timers that start again when they expire, with the whole cost of a tick. Lines across are hierarchies.",
	}
	var mx, my []float64
	for k, m := range p.Levels {
		mx, my = append(mx, float64(m)), append(my, seven[k].Value)
	}
	c7, a7 := seven[0].Value/mx[0], 0.0
	if len(mx) > 1 {
		c7, a7, _ = stat.Line(mx, my)
	}
	for i, scheme := range hierarchySixes {
		s := figure.Series{Name: scheme.about, Kind: figure.Line, Group: i + 1}
		for k, of := range six[i*len(rotations) : (i+1)*len(rotations)] {
			table.Add(scheme.about, rotations[k], of.Value, of.Lo, of.Hi)
			s.AddInterval(float64(rotations[k]), of)
		}
		fig.Series = append(fig.Series, s)
		c6, a6, r2 := stat.Line(s.X, s.Y)
		note := fmt.Sprintf("%s: c6 is %s ns per visit (R² %.3f), plus %s ns per timer; Scheme 7: c7 is %s ns per level, plus %s.", scheme.about,
			experiments.Number(c6), r2, experiments.Number(a6), experiments.Number(c7), experiments.Number(a7))
		for k, m := range p.Levels {
			note += fmt.Sprintf(" m = %d: m·c7/c6 is %s,", m, experiments.Number(float64(m)*c7/c6))
			if at := (seven[k].Value - a6) / c6; at > 0 {
				note += fmt.Sprintf(" and the lines cross at %s.", experiments.Number(at))
			} else {
				note += " and Scheme 7 is below at any T/M: the cost of a timer besides its visits decides."
			}
		}
		out.Notes = append(out.Notes, note)
	}
	for k, m := range p.Levels {
		table.Add("Scheme 7", m, seven[k].Value, seven[k].Lo, seven[k].Hi)
		fig.Marks = append(fig.Marks, figure.Mark{Label: fmt.Sprintf("Scheme 7, m = %d", m), At: seven[k].Value})
	}
	out.Tables, out.Figures = append(out.Tables, table), append(out.Figures, fig)
}
