package comb

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/pcaps/figure"
	"tcpwheel/tcptimers"
)

var words = experiments.Words{
	Question: "Do coarse ticks retransmit everything at once after an outage?",
	Found: "After an outage of one tick between two sweeps, over a round trip within a tick, 4.4BSD's sweep retransmits " +
		"for all connections in one millisecond: {ratio#} times what fine timers send then, and {ratio-straddling#} times " +
		"if a sweep falls into the outage. Where timeouts differ by ticks, each tick has its share ({three-teeth}). The " +
		"queue drops {drops}: of a full tooth, and under fine timers.",
}

func peak(r *row) float64    { return float64(r.Peak) }
func bins(r *row) float64    { return float64(r.Bins) }
func dropped(r *row) float64 { return float64(r.Dropped) }

// density returns the first retransmissions per millisecond, from the first to the last of them.
func density(r *row) float64 { return float64(r.Second) / (judge.Ms(r.Last-r.First) + 1) }

// law returns a claim from the definition of the timers.
func law(name, text, published string, measured experiments.Measure, expected experiments.Band) experiments.Claim {
	return experiments.Claim{Name: name, Class: experiments.Law, Text: text, Published: published,
		Source: "definition of the timers", Tag: experiments.Computed, Measured: measured, Expected: expected}
}

// outcome judges the runs, and shows them.
func outcome(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	out, all := &experiments.Outcome{}, rows(p, cells)
	claims := p.claims(all)
	if err := applies(p); err != nil {
		for i := range claims {
			claims[i].Unless = err.Error()
		}
		out.Judge(claims...)
		return out, nil
	}
	out.Judge(claims...)
	out.Tables = append(out.Tables, combsTable(all))
	out.Figures = append(out.Figures, p.combFigure(all))
	bsd := judge.Where(all, func(r *row) bool { return r.plain() && r.Kind == "sweep" })
	out.Notes = append(out.Notes, judge.Say("The retransmissions that the queue drops meet again, as all have the same "+
		"timeout and double it together: %v of %d connections are not repaired after %v under 4.4BSD's sweep.",
		judge.Mean(bsd, func(r *row) float64 { return float64(r.Unrepaired) }), p.Connections, p.Watch))
	return out, nil
}

// plain reports whether all connections have one timeout and no sweep falls into the outage.
func (r *row) plain() bool { return !r.Mixed && !r.Straddles }

func (p *Plan) claims(all []row) []experiments.Claim {
	runs := judge.Where(all, (*row).plain)
	kind := func(name string) []row { return judge.Where(runs, func(r *row) bool { return r.Kind == name }) }
	bsd, own, shared := kind("sweep"), kind("own phase"), kind("shared tick")
	straddled := judge.Where(all, func(r *row) bool { return r.Straddles })
	bare := judge.Where(runs, func(r *row) bool { return strings.HasPrefix(r.Label, "gVisor's own TCP, floor") })
	var fine []row // those of the finest tick
	if finest := judge.Most(shared, func(r *row) float64 { return -float64(r.Tick) }); finest != nil {
		fine = judge.Where(shared, func(r *row) bool { return r.Label == finest.Label })
	}
	coarse := judge.Where(shared, func(r *row) bool { return r.Tick > time.Millisecond })
	off := judge.Count(coarse, func(r *row) bool { return r.Bins != int((p.Outage+r.Tick-1)/r.Tick) })
	rate, full := float64(p.Connections)/judge.Ms(p.Outage), max(p.Connections-p.Queue-1, 0)
	mean := func(rows []row, of func(*row) float64) float64 { return judge.Mean(rows, of) }
	near := func(rows []row) experiments.Measure {
		return experiments.MeasuredWithin(judge.Student(judge.Values(rows, density)), "per ms")
	}
	nearBand := experiments.WithinPercent(rate, 2, "per ms").OrDiffers(experiments.WithinPercent(rate, 20, "per ms"))
	perMs := judge.Say("%v per ms", rate)
	claims := []experiments.Claim{
		law("one-bin", "under 4.4BSD's sweep all retransmissions fall into one bin of a millisecond",
			fmt.Sprintf("%d in one", p.Connections),
			judge.Said("%v at the peak; bins with any: %v", mean(bsd, peak), mean(bsd, bins)),
			experiments.Whether(judge.All(bsd, func(r *row) bool {
				return r.Bins == 1 && r.Peak == p.Connections && r.RTOs == 1
			}), "all, in one")),
		law("two-bins", "where the outage straddles a sweep they fall into two", "2 bins",
			judge.Said("%v bins", mean(straddled, bins)),
			experiments.Whether(judge.All(straddled, func(r *row) bool { return r.Bins == 2 && r.Second == p.Connections }),
				"2")),
		law("fine", "fine timers spread them like the losses: N/500 per millisecond", perMs, near(fine), nearBand),
		law("gvisor", "so do those of gVisor's own TCP over the same floor, without RACK and its probe", perMs, near(bare),
			nearBand),
		law("ratio", "4.4BSD's peak is 500 times the rate of fine timers, per millisecond", "500",
			experiments.Measured(mean(bsd, peak)/mean(fine, density), "times"),
			experiments.Within(500, 10, "times").OrDiffers(experiments.AtLeast(100, ""))),
		law("ratio-straddling", "where it straddles, the peak is 250 times that rate, or more", "250 and more",
			experiments.Measured(mean(straddled, peak)/mean(fine, density), "times"),
			experiments.AtLeast(245, "times").OrDiffers(experiments.AtLeast(100, ""))),
		law("peaks", "4.4BSD's peak is also hundreds of times the peak of fine timers, where chance bunches most", "",
			experiments.Measured(mean(bsd, peak)/mean(fine, peak), "times"), experiments.AtLeast(100, "times")),
		law("teeth", "a tick that timers share has a tooth for each tick of the outage: the peak grows with the tick",
			"⌈500 ms/tick⌉ teeth", judge.Said("%d of %d runs off", off, len(coarse)).Judging(float64(off)),
			experiments.Exactly(0, "").Saying("none")),
		law("phase", "a tick of the same size with its own phase for each timer has no comb", "",
			experiments.Measured(mean(own, peak)/mean(fine, peak), "times the peak of fine timers"),
			experiments.Within(1, 0.1, "").OrDiffers(experiments.Between(0.5, 2, ""))),
		law("drops", "the queue drops the part of a full tooth that it cannot hold; it drops none of fine timers",
			"N - queue - 1, and 0",
			judge.Said("%v of %d, and %v", mean(bsd, dropped), p.Connections, mean(fine, dropped)),
			experiments.Whether(judge.All(bsd, func(r *row) bool { return r.Dropped == full }) &&
				judge.All(fine, func(r *row) bool { return r.Dropped == 0 }), "%d, and 0", p.Connections-p.Queue-1)),
		p.teethClaim(all),
	}
	for i := range claims {
		switch claims[i].Name {
		case "fine", "gvisor":
			claims[i].Basis = "2 % set for this project"
		case "ratio", "ratio-straddling", "peaks", "phase":
			claims[i].Basis = "set for this project"
		case "teeth":
			if len(coarse) == 0 {
				claims[i].Unless = "no timers share a tick of more than a millisecond"
			}
		}
	}
	return claims
}

// teethClaim is about connections with timeouts of 3, 4 and 5 ticks.
func (p *Plan) teethClaim(all []row) experiments.Claim {
	const sweep = tcptimers.SlowTick
	mixed := judge.Where(all, func(r *row) bool { return r.Mixed })
	third, teeth, right := p.Connections/3, []string{}, true
	for i := range mixed {
		for _, b := range mixed[i].Comb {
			at := time.Duration(b[0]) * time.Millisecond
			if at > 5*sweep {
				continue
			}
			teeth = append(teeth, fmt.Sprintf("%d at %v", b[1], at))
			right = right && (at == 3*sweep || at == 4*sweep || at == 5*sweep) && b[1] >= third && b[1] <= third+1
		}
	}
	return law("three-teeth", "connections with timeouts of 3, 4 and 5 ticks make three teeth, a tick apart, of a "+
		"third each",
		"", judge.Said("%v", teeth),
		experiments.Whether(right && len(teeth) == 3 && judge.All(mixed, func(r *row) bool {
			return r.RTOs == 3 && r.Bins == 3
		}), "a third of %d at each of 3, 4 and 5 ticks", p.Connections))
}

func combsTable(all []row) experiments.Table {
	t := experiments.Table{Name: "combs", Title: "Retransmissions after the outage, by timers; means over seeds",
		Columns: []string{"timers", "peak, per ms", "at, ms", "bins of 1 ms", "per bin", "dropped at once",
			"dropped in all", "99 % repaired, s", "never repaired"}}
	rows := judge.Where(all, func(r *row) bool { return !r.Mixed })
	for _, g := range judge.By(rows, func(r *row) string { return r.Label }) {
		mean := func(of func(*row) float64) float64 { return judge.Mean(g.Rows, of) }
		var repaired any = "never"
		if judge.All(g.Rows, func(r *row) bool { return r.Repaired99 > 0 }) {
			repaired = mean(func(r *row) float64 { return r.Repaired99.Seconds() })
		}
		t.Add(g.Key, mean(peak), mean(func(r *row) float64 { return r.PeakAt.Seconds() * 1000 }), mean(bins),
			mean(func(r *row) float64 { return float64(r.Second) / float64(r.Bins) }), mean(dropped),
			mean(func(r *row) float64 { return float64(r.DroppedEver) }), repaired,
			mean(func(r *row) float64 { return float64(r.Unrepaired) }))
	}
	return t
}

func (p *Plan) combFigure(all []row) figure.Figure {
	f := figure.Figure{
		Name: "comb", Title: judge.Say("%v connections lose a segment each within %v: when do they retransmit?",
			float64(p.Connections), p.Outage),
		Caption: "4.4BSD's sweep retransmits all at one instant. Ticks that timers share make a tooth each. Without a " +
			"tick, retransmissions are spread like the losses. The axis is logarithmic: 4.4BSD's tooth is 500 times as high " +
			"as the ground.",
		X:     figure.Axis{Label: "since the outage began, ms", Lo: 950, Hi: 1550},
		Y:     figure.Axis{Label: "retransmissions per millisecond", Log: true, Lo: 1, Hi: 2 * float64(p.Connections)},
		Marks: []figure.Mark{{Label: "rate of the losses", At: float64(p.Connections) / judge.Ms(p.Outage)}},
	}
	drawn := []time.Duration{time.Microsecond, 10 * time.Millisecond, 100 * time.Millisecond}
	for i := range all {
		r := &all[i]
		if !r.plain() || r.Kind != "sweep" && !(r.Kind == "shared tick" && strings.HasPrefix(r.Label, "tick") &&
			slices.Contains(drawn, r.Tick)) {
			continue
		}
		s := figure.Series{Name: r.Label, Kind: figure.Bars}
		for _, b := range r.Comb {
			if at := float64(b[0]); at >= f.X.Lo && at <= f.X.Hi {
				s.Add(at, float64(b[1]))
			}
		}
		if len(s.X) > 0 {
			f.Series = append(f.Series, s)
		}
	}
	return f
}
