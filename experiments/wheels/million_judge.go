package wheels

import (
	"fmt"
	"math"
	"slices"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
)

const (
	millionPaper = "Varghese & Lauck, §VI"

	// millionBand is how far a count may be from what was computed, relative to it.
	millionBand = 0.01
)

// millionSum returns the cells of a facility and mode together.
func millionSum(cells []millionCell, f *millionFacility, mode millionMode) (all millionCell) {
	for _, c := range cells {
		if c.Facility != f.Text || c.Mode != mode {
			continue
		}
		all.Ticks += c.Ticks
		all.Calls += c.Calls
		all.Busiest, all.Expiring = max(all.Busiest, c.Busiest), max(all.Expiring, c.Expiring)
		all.Counts.TickVisits += c.Counts.TickVisits
		all.Counts.Moves += c.Counts.Moves
		all.Counts.Migrations += c.Counts.Migrations
		all.Counts.Comparisons += c.Counts.Comparisons
		all.Counts.Expiries += c.Counts.Expiries
		all.Counts.Wakeups += c.Counts.Wakeups
	}
	return all
}

// per returns a count per tick.
func (c *millionCell) per(count uint64) float64 { return float64(count) / float64(c.Ticks) }

func millionJudge(p *millionPlan, cells []millionCell) (*experiments.Outcome, error) {
	out := &experiments.Outcome{}
	perSecond := p.perSecond()
	table := experiments.Table{
		Name: "work", Title: fmt.Sprintf("%s keepalive timers of %v: what is done in a second, in ticks of %v", experiments.Number(float64(p.Connections)), p.Keepalive, p.Tick),
		Columns: []string{"facility", "connections are", "looks", "moves", "comparisons", "expiries", "STARTs and STOPs", "ticks that wake", "busiest tick"},
	}
	byM := figure.Figure{
		Name: "work-by-slots", Title: "Keepalive timers in Scheme 6: the price of few slots",
		X: figure.Axis{Label: "slots M", Log: true}, Y: figure.Axis{Label: "looks, moves and comparisons in a second", Log: true},
		Caption: "Dashed: n/M per tick. Scheme 6 with few slots looks at all timers again and again; a hierarchy, or a heap, does not. Marks are those.",
	}
	trade := figure.Figure{
		Name: "busiest", Title: "The mean is not all: what the busiest tick does",
		X: figure.Axis{Label: "work in a second", Log: true}, Y: figure.Axis{Label: "work in the busiest tick", Log: true},
		Caption: "Down and to the left is better. A hierarchy takes a whole coarse slot apart in one tick; Scheme 6 spreads its " +
			"work, and has less of it the more slots it has.",
	}
	var line, law figure.Series
	line.Name, line.Kind, law.Name, law.Kind, law.Dashed = "Scheme 6", figure.Line, "n/M per tick", figure.Line, true
	uneven, unlawful, hashed := 0, 0, 0
	worst := 1.0
	lazy, eager := map[int]millionCell{}, map[int]millionCell{}
	for i := range p.Facilities {
		f := &p.Facilities[i]
		for _, mode := range []millionMode{millionIdle, millionSteady, millionActive} {
			c := millionSum(cells, f, mode)
			if c.Ticks == 0 {
				continue
			}
			table.Add(f.Text, string(mode), float64(c.per(c.Counts.TickVisits)*perSecond), float64(c.per(c.Counts.Moves)*perSecond),
				float64(c.per(c.Counts.Comparisons)*perSecond), float64(c.per(c.Counts.Expiries)*perSecond), float64(c.per(c.Calls)*perSecond),
				float64(c.per(c.Counts.Wakeups)*perSecond), c.Busiest)
		}
		steady, idle := millionSum(cells, f, millionSteady), millionSum(cells, f, millionIdle)
		rate := float64(steady.per(millionWork(steady.Counts)) * perSecond)
		kind := f.Scheme
		if f.Lazy {
			kind += " lazy"
		}
		at := slices.IndexFunc(trade.Series, func(s figure.Series) bool { return s.Name == kind })
		if at < 0 {
			at = len(trade.Series)
			trade.Series = append(trade.Series, figure.Series{Name: kind, Kind: figure.Points, Group: at + 1, Marker: at + 1})
		}
		s := &trade.Series[at]
		s.X, s.Y = append(s.X, max(rate, 1)), append(s.Y, max(float64(steady.Busiest), 1))
		if !f.hashed() {
			if !f.Lazy { // which is the same, as nobody puts these timers off
				byM.Marks = append(byM.Marks, figure.Mark{Label: f.Text, At: rate})
			}
			continue
		}
		share := float64(p.Connections) / float64(f.Slots)
		hashed++
		if idle.Counts.TickVisits*uint64(f.Slots) != idle.Ticks*uint64(p.Connections) {
			uneven++
		}
		// In steady, a timer is looked at ⌊(T-1)/M⌋+1 times in T ticks.
		T := p.interval()
		want := float64(p.Connections) * float64((T-1)/uint64(f.Slots)+1) / float64(T)
		if x := steady.per(steady.Counts.TickVisits) / want; math.Abs(x-1) > math.Abs(worst-1) {
			worst = x
		}
		if math.Abs(steady.per(steady.Counts.TickVisits)/want-1) > millionBand {
			unlawful++
		}
		if f.Scheme == "scheme6" {
			line.X, line.Y = append(line.X, float64(f.Slots)), append(line.Y, rate)
			law.X, law.Y = append(law.X, float64(f.Slots)), append(law.Y, float64(share*perSecond))
			lazy[f.Slots] = idle
		} else {
			eager[f.Slots] = idle
		}
	}
	out.Tables = append(out.Tables, table)
	if len(line.X) > 0 {
		byM.Series = append(byM.Series, line, law)
		out.Figures = append(out.Figures, byM)
	}
	out.Figures = append(out.Figures, trade)

	for i := range p.Facilities {
		f := &p.Facilities[i]
		idle := millionSum(cells, f, millionIdle)
		if f.Scheme == "scheme6" && idle.Ticks > 0 {
			want := float64(perSecond * float64(p.Connections) / float64(f.Slots))
			got := float64(idle.per(idle.Counts.TickVisits) * perSecond)
			out.Claim(experiments.Claim{
				Name: fmt.Sprintf("idle-%d", f.Slots), Text: fmt.Sprintf("idle connections cost Scheme 6 with %d slots n/M looks per tick", f.Slots), Published: "n/M", Source: millionPaper, Tag: experiments.FromSource,
				Measured: experiments.Measured(got, "looks/s").Judging(got / want), Expected: experiments.Between(1-millionBand, 1+millionBand, "").Saying("%s ± 1 %%", experiments.Number(want)),

				Otherwise: "timers are looked at more or less often than once per rotation",
			})
		}
		if steady := millionSum(cells, f, millionSteady); f.Scheme == "scheme7" && f.Levels > 0 && steady.Ticks > 0 {
			most := float64(p.Connections) * float64(f.Levels) / float64(p.interval())
			got := steady.per(steady.Counts.Migrations)
			out.Claim(experiments.Claim{
				Name: "seven", Text: fmt.Sprintf("Scheme 7 with m = %d moves at most n·m/T timers per tick", f.Levels), Published: "n·c7·m/T", Source: millionPaper, Tag: experiments.FromSource,
				Measured:  experiments.MeasuredText("%s migrations per tick, %s looks", experiments.Number(got), experiments.Number(steady.per(steady.Counts.TickVisits))),
				Expected:  experiments.Whether(got <= most && got > most/3, "at most %s, and more than a third of it", experiments.Number(most)),
				Otherwise: "timers migrate more often than once per level",
			})
		}
	}
	if hashed > 0 {
		out.Claim(experiments.Claim{
			Name: "once-per-rotation", Text: "each idle timer is looked at once per rotation, whatever M", Published: "once every TableSize ticks", Source: "Varghese & Lauck, §VI-A2", Tag: experiments.FromSource,
			Measured: experiments.MeasuredText("%d of %d wheels otherwise", uneven, hashed), Expected: experiments.Whether(uneven == 0, "each wheel, exactly"),
			Otherwise: "a rotation leaves timers out, or looks at them twice",
		})
		out.Claim(experiments.Claim{
			Name: "steady", Text: "with expiries it is ⌊(T-1)/M⌋+1 looks per interval T", Source: "computed", Tag: experiments.Computed,
			Measured: experiments.Measured(worst, "of the law, farthest from 1"), Expected: experiments.Whether(unlawful == 0, "1 ± 0.01 in each wheel"),
			Otherwise: "expiries are not spread evenly",
		})
	}
	for i := range p.Facilities {
		slots := p.Facilities[i].Slots
		e, has := eager[slots]
		if l, ok := lazy[slots]; ok && has && p.Facilities[i].Scheme == "scheme6" {
			out.Claim(experiments.Claim{
				Name: fmt.Sprintf("lazy-%d", slots), Text: fmt.Sprintf("lazily or eagerly, idle connections cost the same with %d slots", slots), Source: "definition of the lazy mode", Tag: experiments.Computed,
				Measured: experiments.MeasuredText("%d and %d looks in %d ticks", l.Counts.TickVisits, e.Counts.TickVisits, e.Ticks), Expected: experiments.Whether(l.Counts.TickVisits == e.Counts.TickVisits && l.Ticks == e.Ticks, "as many, exactly"),

				Otherwise: "a lazy wheel moves timers that nobody has put off",
			})
		}
	}
	return out, nil
}
