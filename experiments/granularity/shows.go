package granularity

import (
	"fmt"
	"math"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/pcaps/figure"
)

// outcome judges the rows, and shows them.
func outcome(p *Plan, rows []Row) (*experiments.Outcome, error) {
	t := tableOf(p, rows)
	o := &experiments.Outcome{Claims: judge.Claims(t.rules(), p, rows, p.Seeds)}
	unfinished := 0
	for i := range rows {
		unfinished += rows[i].Unfinished
	}
	if unfinished > 0 {
		o.Warnings = append(o.Warnings, fmt.Sprintf("%d objects were cut off by the limit of an hour", unfinished))
	}
	o.Figures = append(o.Figures, t.bars())
	o.Tables = append(o.Tables, t.steps(), t.today(), t.stacks(), t.places(), t.mapTable(), t.mapData(), t.between(),
		t.data())
	if p.Crossed > 0 {
		o.Tables = append(o.Tables, t.crossed())
	}
	return o, nil
}

// steps are the changes of the table that the page shows, in order.
var steps = []struct {
	name    string
	changes uint
}{
	{"old clocks", 0}, {"fine tick", changedTick}, {"no floor", changedFloor}, {"both", changedTick | changedFloor},
	{"and a timer per segment", changedTick | changedFloor | changedTimer},
}

// bars is the figure: what each factor buys, by recovery and round trip.
func (t *table) bars() figure.Figure {
	f := figure.Figure{
		Name: "buys", Title: "What each change buys: time of a response that is saved, whatever the order of the changes",
		X: figure.Axis{Label: "recovery, and round trip"}, Y: figure.Axis{Label: "time saved, %"},
		Caption: fmt.Sprintf("Shapley values of responses of %d bytes at a loss of %s %%, in percent of their time under "+
			"the old clocks and the recovery below; bars of one group add up to what all five changes buy. Whiskers: 95 %% "+
			"over seeds.", t.plan.Bytes, experiments.Number(100*t.plan.Loss)),
	}
	for _, name := range factors[:5] {
		f.Series = append(f.Series, figure.Series{Name: name, Kind: figure.Bars})
	}
	for _, recovery := range []string{old, today} {
		for _, rtt := range t.plan.RTT[max(0, len(t.plan.RTT)-2):] { // more would hide the rest
			x := float64(len(f.X.Ticks))
			short := map[string]string{old: "dup ACKs", today: "RACK"}[recovery]
			f.X.Ticks = append(f.X.Ticks, fmt.Sprintf("%s, %v", short, rtt))
			for i, s := range t.sharesOf(randomAt(rtt), recovery) {
				f.Series[i].AddInterval(x, s.Value)
			}
		}
	}
	return f
}

func (t *table) sharesOf(at Place, recovery string) []share {
	return t.shares(at, 5, func(c uint) Setting { return t.plan.under(c, recovery) })
}

// shownRTT returns the round trips of the page's tables: the shortest one and the last two. The data
// has all.
func (t *table) shownRTT() []time.Duration {
	return slices.Delete(slices.Clone(t.plan.RTT), 1, max(1, len(t.plan.RTT)-2))
}

// steps is the table of the page.
func (t *table) steps() experiments.Table {
	out := experiments.Table{Name: "steps", Title: "Mean time of a response, ms; p99, ms; spurious retransmissions of " +
		"1000 segments. Random loss, no delayed ACKs", Columns: []string{"recovery", "round trip"}}
	for _, s := range steps {
		out.Columns = append(out.Columns, s.name)
	}
	for _, recovery := range []string{old, today} {
		for _, rtt := range t.shownRTT() {
			row := []any{recovery, rtt.String()}
			for _, s := range steps {
				row = append(row, summary(t.at(randomAt(rtt), t.plan.under(s.changes|changedAcks, recovery))))
			}
			out.Add(row...)
		}
	}
	return out
}

// today says what it costs to leave one thing as it is where all others are at their new ends.
func (t *table) today() experiments.Table {
	p := t.plan
	out := experiments.Table{Name: "today", Title: "Everything at its new end but one: by how much longer a response " +
		"takes, in %, with the interval of 95 %, by round trip", Columns: []string{"but"}}
	for _, rtt := range t.shownRTT() {
		out.Columns = append(out.Columns, rtt.String())
	}
	all := p.levels()
	all = all[len(all)/2:]             // from the new ends
	for _, bit := range []uint{2, 5} { // the floor on the variation, and the recovery
		all = append(all, p.set(63^1<<bit))
	}
	for _, s := range all {
		row := []any{differs(p.set(63), s)}
		for _, rtt := range t.shownRTT() {
			in := t.gain(randomAt(rtt), p.set(63), s, meanTime)
			row = append(row, fmt.Sprintf("%s±%s", experiments.Number(rounded(-in.Value)),
				experiments.Number(rounded((in.Hi-in.Lo)/2))))
		}
		out.Add(row...)
	}
	return out
}

// rounded keeps one decimal, and no sign of 0.
func rounded(x float64) float64 { return math.Round(10*x)/10 + 0 }

// stacks shows whole stacks, whose timers differ in more than one thing.
func (t *table) stacks() experiments.Table {
	out := experiments.Table{Name: "stacks", Title: "Whole stacks, by round trip: mean time of a response, ms; p99, ms; " +
		"spurious retransmissions of 1000 segments", Columns: []string{"timers"}}
	for _, rtt := range t.shownRTT() {
		out.Columns = append(out.Columns, rtt.String())
	}
	for _, s := range t.plan.stacks() {
		row := []any{s.Stack}
		for _, rtt := range t.shownRTT() {
			row = append(row, summary(t.at(stacksAt(rtt), s)))
		}
		out.Add(row...)
	}
	return out
}

// summary is the mean, the 99 % quantile and the spurious retransmissions of rows.
func summary(rows []Row) string {
	sum := totals(rows)
	return fmt.Sprintf("%s; %s; %s", experiments.Number(judge.Mean(rows, meanTime)), experiments.Number(p99(rows)),
		experiments.Number(sum.spurious()))
}

// places says what each factor buys at all places, by recovery and for all six.
func (t *table) places() experiments.Table {
	out := experiments.Table{Name: "buys", Data: true, Title: "What each factor buys, in percent of the time with all " +
		"old ends, first, last, and in the mean over all orders", Columns: []string{"work", "path", "rtt, ms", "recovery",
		"factor", "buys, %", "from", "to", "first, %", "last, %"}}
	for _, u := range t.plan.units() {
		at := u.places[0]
		if at.Part != partEnds {
			continue
		}
		add := func(recovery string, all []share) {
			for i, s := range all {
				out.Add(at.Work, at.Path, at.RTT, recovery, factors[i], s.Value.Value, s.Value.Lo, s.Value.Hi, s.First.Value,
					s.Last.Value)
			}
		}
		for _, recovery := range recoveries {
			add(recovery, t.sharesOf(at, recovery))
		}
		add("changes, too", t.shares(at, 6, t.plan.set))
	}
	return out
}

// mapTable says where a timer per segment pays and where it costs, by recovery and gap.
func (t *table) mapTable() experiments.Table {
	out := experiments.Table{Name: "map", Title: "A timer per segment next to one timer, over streams of one segment a " +
		"write: in how many settings of round trip, floor, losses and lost retransmissions it repairs at least 5 % sooner " +
		"or later, the range, and its price", Columns: []string{"recovery", "gap, round trips", "sooner in", "later in", "of",
		"best, %", "worst, %", "RTO restart as good in", "spurious of 1000, one timer", "per segment",
		"operations a segment, one timer", "per segment "}}
	type group struct {
		recovery string
		gap      float64
	}
	for _, g := range judge.By(t.pairs(), func(m *pair) group { return group{m.recovery, m.Gap} }) {
		pay, cost, asGood := 0, 0, 0
		best, worst := g.Rows[0].gain.Value, g.Rows[0].gain.Value
		var one, own Run
		for i := range g.Rows {
			m := &g.Rows[i]
			best, worst = max(best, m.gain.Value), min(worst, m.gain.Value)
			if m.pays() {
				if pay++; m.restart.Value < worth || m.restart.Lo <= 0 {
					asGood++
				}
			}
			if m.costs() {
				cost++
			}
			one, own = sumOf(one, m.one), sumOf(own, m.own)
		}
		out.Add(g.Key.recovery, g.Key.gap, pay, cost, len(g.Rows), best, worst, fmt.Sprintf("%d of %d", asGood, pay),
			one.spurious(), own.spurious(), one.operations(), own.operations())
	}
	return out
}

// mapData is the whole map.
func (t *table) mapData() experiments.Table {
	out := experiments.Table{Name: "map-settings", Data: true, Title: "The map, by setting", Columns: []string{"recovery",
		"floor, ms", "rtt, ms", "gap, round trips", "lost together", "transmissions lost", "sooner, %", "from", "to",
		"write sooner, %", "sooner than RTO restart, %", "wait of one timer, ms", "per segment",
		"spurious of 1000, one timer",
		"per segment "}}
	for _, m := range t.pairs() {
		out.Add(m.recovery, m.floor, m.RTT, m.Gap, m.Losses, m.Times, m.gain.Value, m.gain.Lo, m.gain.Hi, m.time.Value,
			m.restart.Value, m.one.wait(), m.own.wait(), m.one.spurious(), m.own.spurious())
	}
	return out
}

func sumOf(a, b Run) Run { return totals([]Row{{Run: a}, {Run: b}}) }

func floorText(d time.Duration) string {
	if d == 0 {
		return "none"
	}
	return d.String()
}

// between shows levels in between, alone.
func (t *table) between() experiments.Table {
	out := experiments.Table{Name: "levels", Data: true, Title: "Levels in between, each alone: time of an object that " +
		"it saves", Columns: []string{"work", "path", "rtt, ms", "from the ends", "level", "saves, %", "from", "to"}}
	for _, u := range t.plan.units() {
		at := u.places[0]
		if at.Part != partEnds {
			continue
		}
		all := t.plan.levels()
		for i, s := range all {
			from, name := t.plan.set(0), "old"
			if i >= len(all)/2 {
				from, name = t.plan.set(63), "new"
			}
			in := t.gain(at, from, s, meanTime)
			out.Add(at.Work, at.Path, at.RTT, name, differs(from, s), in.Value, in.Lo, in.Hi)
		}
	}
	return out
}

// differs names the level in which a setting differs from another.
func differs(from, s Setting) string {
	switch {
	case s.Tick != from.Tick:
		return "tick " + s.Tick.String()
	case s.Floor != from.Floor:
		return "floor " + floorText(s.Floor)
	case s.VarMin != from.VarMin:
		return "variation floor " + floorText(s.VarMin)
	case s.Timers != from.Timers:
		return "timer " + s.Timers
	}
	if s.Recovery != from.Recovery {
		return "recovery by " + s.Recovery
	}
	return "delayed ACKs " + s.DelAck
}

// data is all settings at all places, over all seeds.
func (t *table) data() experiments.Table {
	out := experiments.Table{Name: "settings", Data: true, Title: "All settings at all places, over all seeds",
		Columns: settingColumns}
	for _, u := range t.plan.units() {
		for _, at := range u.places {
			if at.Part == partEnds {
				t.addSettings(&out, at, u.settings)
			}
		}
	}
	return out
}

var settingColumns = []string{"work", "path", "rtt, ms", "tick, ms", "floor, ms", "variation floor, ms", "timer",
	"delayed ACKs", "recovery", "mean, ms", "p99, ms", "wait for a repair, ms", "spurious of 1000 segments",
	"operations a segment"}

func (t *table) addSettings(out *experiments.Table, at Place, all []Setting) {
	for _, s := range all {
		rows := t.at(at, s)
		sum := totals(rows)
		out.Add(at.Work, at.Path, at.RTT, s.Tick, s.Floor, s.VarMin, s.Timers, s.DelAck, s.Recovery,
			judge.Mean(rows, meanTime), p99(rows), sum.wait(), sum.spurious(), sum.operations())
	}
}

// crossed is all levels crossed at one place.
func (t *table) crossed() experiments.Table {
	out := experiments.Table{Name: "crossed", Data: true, Title: "All levels crossed", Columns: settingColumns}
	t.addSettings(&out, Place{Part: partCrossed, Work: responses, Path: "random", RTT: t.plan.Crossed}, t.plan.all())
	return out
}
