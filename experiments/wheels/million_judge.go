package wheels

import (
	"fmt"
	"slices"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
)

const (
	millionPaper = "Varghese & Lauck, §VI"

	// millionPercent is how far a count may be from the computed one.
	millionPercent = 1
)

// millionResults are the results of all cells.
type millionResults []millionCell

// sum adds the cells of a facility and mode, over all seeds.
func (all millionResults) sum(f *millionFacility, mode millionMode) (sum millionCell) {
	for _, c := range all {
		if c.Facility != f.Text || c.Mode != mode {
			continue
		}
		sum.Ticks += c.Ticks
		sum.Calls += c.Calls
		sum.Busiest, sum.Expiring = max(sum.Busiest, c.Busiest), max(sum.Expiring, c.Expiring)
		sum.Counts.TickVisits += c.Counts.TickVisits
		sum.Counts.Moves += c.Counts.Moves
		sum.Counts.Migrations += c.Counts.Migrations
		sum.Counts.Comparisons += c.Counts.Comparisons
		sum.Counts.Expiries += c.Counts.Expiries
		sum.Counts.Wakeups += c.Counts.Wakeups
	}
	return sum
}

// per returns a count per tick.
func (c *millionCell) per(count uint64) float64 { return float64(count) / float64(c.Ticks) }

func millionJudge(p *millionPlan, cells []millionCell) (*experiments.Outcome, error) {
	all := millionResults(cells)
	out := &experiments.Outcome{Tables: []experiments.Table{all.table(p)}}
	if bySlots := all.bySlots(p); len(bySlots.Series) > 0 {
		out.Figures = append(out.Figures, bySlots)
	}
	out.Figures = append(out.Figures, all.busiest(p))
	for i := range p.Facilities {
		all.facilityClaims(p, &p.Facilities[i], out)
	}
	all.hashedClaims(p, out)
	all.lazyClaims(p, out)
	return out, nil
}

func (all millionResults) table(p *millionPlan) experiments.Table {
	t := experiments.Table{
		Name: "work", Title: fmt.Sprintf("%s keepalive timers of %v: work per second, in ticks of %v", experiments.Number(p.Connections), p.Keepalive, p.Tick),
		Columns: []string{"facility", "connections are", "visits", "moves", "comparisons", "expiries", "STARTs and STOPs", "ticks that wake", "work of the busiest tick"},
	}
	for i := range p.Facilities {
		for _, mode := range []millionMode{millionIdle, millionSteady, millionActive} {
			c := all.sum(&p.Facilities[i], mode)
			if c.Ticks == 0 {
				continue
			}
			row := []any{p.Facilities[i].Text, string(mode)}
			for _, n := range []uint64{c.Counts.TickVisits, c.Counts.Moves, c.Counts.Comparisons, c.Counts.Expiries, c.Calls, c.Counts.Wakeups} {
				row = append(row, float64(c.per(n)*p.perSecond()))
			}
			t.Add(append(row, c.Busiest)...)
		}
	}
	return t
}

// rate returns the work per second of steady connections.
func (all millionResults) rate(p *millionPlan, f *millionFacility) (rate float64, busiest uint64) {
	steady := all.sum(f, millionSteady)
	return float64(steady.per(millionWork(steady.Counts)) * p.perSecond()), steady.Busiest
}

func (all millionResults) bySlots(p *millionPlan) figure.Figure {
	fig := figure.Figure{
		Name: "work-by-slots", Title: "Keepalive timers in Scheme 6: the price of few slots",
		X: figure.Axis{Label: "slots M", Log: true}, Y: figure.Axis{Label: "visits, moves and comparisons per second", Log: true},
		Caption: "Dashed: n/M per tick. Scheme 6 with few slots visits all timers again and again; a hierarchy or a heap, shown as marks, does not.",
	}
	line := figure.Series{Name: "Scheme 6", Kind: figure.Line}
	law := figure.Series{Name: "n/M per tick", Kind: figure.Line, Dashed: true}
	for i := range p.Facilities {
		f := &p.Facilities[i]
		rate, _ := all.rate(p, f)
		switch {
		case f.Scheme == "scheme6":
			line.Add(float64(f.Slots), rate)
			law.Add(float64(f.Slots), float64(float64(p.Connections)/float64(f.Slots)*p.perSecond()))
		case !f.hashed() && !f.Lazy: // lazy ones are the same: no packet delays these timers
			fig.Marks = append(fig.Marks, figure.Mark{Label: f.Text, At: rate})
		}
	}
	if len(line.X) > 0 {
		fig.Series = append(fig.Series, line, law)
	}
	return fig
}

func (all millionResults) busiest(p *millionPlan) figure.Figure {
	fig := figure.Figure{
		Name: "busiest", Title: "Work per second and work of the busiest tick",
		X: figure.Axis{Label: "work per second", Log: true}, Y: figure.Axis{Label: "work of the busiest tick", Log: true},
		Caption: "Down and to the left is better. A hierarchy takes a whole coarse slot apart in one tick. Scheme 6 spreads its " +
			"work, and has less of it the more slots it has.",
	}
	for i := range p.Facilities {
		f := &p.Facilities[i]
		name := f.Scheme
		if f.Lazy {
			name += " lazy"
		}
		at := slices.IndexFunc(fig.Series, func(s figure.Series) bool { return s.Name == name })
		if at < 0 {
			at = len(fig.Series)
			fig.Series = append(fig.Series, figure.Series{Name: name, Kind: figure.Points, Group: at + 1, Marker: at + 1})
		}
		rate, busiest := all.rate(p, f)
		fig.Series[at].Add(max(rate, 1), max(float64(busiest), 1))
	}
	return fig
}

// facilityClaims compares one facility with its law.
func (all millionResults) facilityClaims(p *millionPlan, f *millionFacility, out *experiments.Outcome) {
	if steady := all.sum(f, millionSteady); f.Scheme == "scheme7" && f.Levels > 0 && steady.Ticks > 0 {
		most := float64(p.Connections) * float64(f.Levels) / float64(p.interval())
		got := steady.per(steady.Counts.Migrations)
		out.Claim(experiments.Claim{Name: "seven", Class: experiments.OfOthers, Text: fmt.Sprintf("Scheme 7 with m = %d moves at most n·m/T timers per tick", f.Levels),
			Published: "n·c7·m/T", Source: millionPaper, Tag: experiments.FromSource,
			Measured:  experiments.MeasuredText("%s migrations per tick, %s visits", experiments.Number(got), experiments.Number(steady.per(steady.Counts.TickVisits))),
			Basis:     "the bound as printed; a third of it keeps the claim from being empty",
			Expected:  experiments.Whether(got <= most && got > most/3, "at most %s, and more than a third of it", experiments.Number(most)),
			Otherwise: "timers migrate more often than once per level"})
	}
}

// hashedClaims compares all hashed wheels with the laws of Scheme 6.
func (all millionResults) hashedClaims(p *millionPlan, out *experiments.Outcome) {
	var uneven experiments.Tally
	var fewest *millionFacility // slots
	var worst experiments.Farthest
	for i := range p.Facilities {
		f := &p.Facilities[i]
		if !f.hashed() {
			continue
		}
		idle, steady := all.sum(f, millionIdle), all.sum(f, millionSteady)
		if f.Scheme == "scheme6" && idle.Ticks > 0 && (fewest == nil || f.Slots < fewest.Slots) {
			fewest = f
		}
		uneven.Add(idle.Counts.TickVisits*uint64(f.Slots) == idle.Ticks*uint64(p.Connections))
		T := p.interval()
		worst.Add(steady.per(steady.Counts.TickVisits) / (float64(p.Connections) * float64((T-1)/uint64(f.Slots)+1) / float64(T)))
	}
	if !worst.Seen {
		return
	}
	if fewest != nil {
		idle := all.sum(fewest, millionIdle)
		out.Claim(experiments.Claim{Name: "idle", Class: experiments.OfOthers, Text: fmt.Sprintf("idle connections cost Scheme 6 n/M visits per tick, at any M: here M = %d", fewest.Slots),
			Published: "n/M, each timer once in TableSize ticks", Source: millionPaper + "-A2", Tag: experiments.FromSource,
			Measured: experiments.MeasuredExactly(float64(idle.per(idle.Counts.TickVisits)*p.perSecond()), "visits/s"),
			Expected: experiments.WithinPercent(float64(p.perSecond()*float64(p.Connections)/float64(fewest.Slots)), millionPercent, "").
				Also(uneven.Exceptions == 0, "and each rotation visits each timer once in all %d wheels", uneven.Cases),
			Basis: "the formula as printed, counted", Otherwise: "a rotation skips timers, or visits them twice"})
	}
	out.Claim(experiments.Claim{Name: "steady", Class: experiments.Law, Text: "with expiries it is ⌊(T-1)/M⌋+1 visits per interval T", Source: "computed", Tag: experiments.Computed,
		Measured: experiments.Measured(worst.Ratio, "of the law, farthest from 1"), Expected: experiments.WithinPercent(1, millionPercent, ""), Basis: "rounding of the phases", Otherwise: "expiries are not spread evenly"})
}

// lazyClaims compares the lazy Scheme 6 with the eager one of as many slots.
func (all millionResults) lazyClaims(p *millionPlan, out *experiments.Outcome) {
	var differ experiments.Tally
	for i := range p.Facilities {
		f := &p.Facilities[i]
		eager := slices.IndexFunc(p.Facilities, func(e millionFacility) bool { return e.hashed() && e.Scheme != "scheme6" && e.Slots == f.Slots })
		if f.Scheme == "scheme6" && eager >= 0 {
			l, e := all.sum(f, millionIdle), all.sum(&p.Facilities[eager], millionIdle)
			differ.Add(l.Counts.TickVisits == e.Counts.TickVisits && l.Ticks == e.Ticks)
		}
	}
	if differ.Cases > 0 {
		out.Claim(experiments.Claim{Name: "lazy", Class: experiments.Check, Text: "idle connections cost the same lazily as eagerly", Source: "definition of the lazy mode", Tag: experiments.Computed,
			Measured: differ.Measure("wheels have other visits"), Expected: experiments.None(), Otherwise: "a lazy wheel moves timers that no packet has delayed"})
	}
}
