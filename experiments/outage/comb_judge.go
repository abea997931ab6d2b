package outage

import (
	"fmt"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/experiments/internal/stat"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/tcptimers"
)

// combLabel is a short name for timers.
func combLabel(tm testbed.Timers) string {
	p := &tm.Policy
	switch {
	case p.Phase == tcptimers.PhaseCountdown:
		return "4.4BSD, swept each " + p.Tick.String()
	case p.Rexmit != tcptimers.RexmitPerSegment:
		return "one timer, tick of " + p.Tick.String()
	case p.Phase == tcptimers.PhaseOwn:
		return "tick of " + p.Tick.String() + ", own phase"
	}
	return "tick of " + p.Tick.String()
}

// combGroup is the cells of one row, over seeds.
type combGroup struct {
	label     string
	timers    testbed.Timers
	straddles bool
	shipped   bool
	cells     []combCell
}

func combGroups(p *combPlan, cells []combCell) (all []combGroup) {
	pick := func(name string, tm testbed.Timers, straddles, shipped bool) {
		g := combGroup{label: name, timers: tm, straddles: straddles, shipped: shipped}
		for _, c := range cells {
			if c.Timers == tm.Text && c.Straddles == straddles {
				g.cells = append(g.cells, c)
			}
		}
		all = append(all, g)
	}
	pick(combLabel(p.Timers[0])+", straddled", p.Timers[0], true, false)
	for _, tm := range p.Timers {
		pick(combLabel(tm), tm, false, false)
	}
	pick("the default as it ships", p.Shipped, false, true)
	return all
}

// mean is the mean over seeds with its interval.
func (g *combGroup) mean(of func(c *combCell) float64) stat.Interval {
	var x []float64
	for i := range g.cells {
		x = append(x, of(&g.cells[i]))
	}
	return stat.BootstrapMean(x, 1)
}

func (g *combGroup) all(holds func(c *combCell) bool) bool {
	for i := range g.cells {
		if !holds(&g.cells[i]) {
			return false
		}
	}
	return len(g.cells) > 0
}

func combPeak(c *combCell) float64    { return float64(c.Peak) }
func combDropped(c *combCell) float64 { return float64(c.Dropped) }

// combDensity is how many segments were sent the second time in a millisecond, between the first and the last of them.
func combDensity(c *combCell) float64 {
	return float64(c.Second) / (float64(c.Last-c.First)/float64(time.Millisecond) + 1)
}

// combGvisorGroups are the rows of gVisor's own TCP.
func combGvisorGroups(cells []combCell) (all []combGroup) {
	for _, g := range combGvisors {
		row := combGroup{label: g.String()}
		for _, c := range cells {
			if c.Timers == row.label {
				row.cells = append(row.cells, c)
			}
		}
		all = append(all, row)
	}
	return all
}

func combJudge(p *combPlan, cells []combCell) (*experiments.Outcome, error) {
	all := combGroups(p, cells)
	gvisors := combGvisorGroups(cells)
	out := &experiments.Outcome{Tables: []experiments.Table{combTable(append(all[:len(all):len(all)], gvisors...))}, Figures: combFigures(p, all)}

	// The finest of the shared ticks stands for fine timers.
	straddled, bsd, fine := &all[0], &all[1], &all[1]
	var own *combGroup
	teeth, teethOff := 0, 0
	for i := range all {
		g := &all[i]
		pol := &g.timers.Policy
		switch {
		case g.shipped || pol.Phase == tcptimers.PhaseCountdown:
		case pol.Phase == tcptimers.PhaseOwn:
			own = g
		default:
			if pol.Tick < fine.timers.Policy.Tick || fine == bsd {
				fine = g
			}
			if pol.Tick > time.Millisecond {
				want := int((p.Outage + pol.Tick - 1) / pol.Tick)
				for _, c := range g.cells {
					teeth++
					if c.Bins != want {
						teethOff++
					}
				}
			}
		}
	}
	share := float64(p.Connections) / (float64(p.Outage) / float64(time.Millisecond))
	const law = "definition of the timers"
	claim := func(name, text, published string, m experiments.Measure, expected string, v experiments.Verdict, why string) {
		out.Claim(experiments.Claim{Name: name, Text: text, Published: published, Source: law, Tag: experiments.Computed, Measured: m,
			Expected:  experiments.Decided(v, expected),
			Otherwise: why})
	}
	n := p.Connections
	claim("one-bin", "under 4.4BSD's sweep all retransmissions fall into one bin of a millisecond", fmt.Sprintf("%d in one", n),
		experiments.MeasuredText("%s at the peak; bins with any: %s", combNumber(bsd.mean(combPeak)), combNumber(bsd.mean(func(c *combCell) float64 { return float64(c.Bins) }))),
		"all, in one", experiments.Holds(bsd.all(func(c *combCell) bool { return c.Bins == 1 && c.Peak == n && c.RTOs == 1 })),
		"the timeouts of the connections differ by a tick, or the sweep is not one")
	claim("two-bins", "where the outage straddles a sweep they fall into two", "2 bins",
		experiments.MeasuredText("%s bins", combNumber(straddled.mean(func(c *combCell) float64 { return float64(c.Bins) }))), "2",
		experiments.Holds(straddled.all(func(c *combCell) bool { return c.Bins == 2 && c.Second == n })), "the sweep is not one")
	spread := func(name, text string, d stat.Interval) {
		claim(name, text, experiments.Number(share)+" per ms",
			experiments.MeasuredWithin(d, "per ms"), "within 2 %", experiments.Judged(d.Value, 0.98*share, 1.02*share, 0.8*share, 1.2*share),
			"something else than the timers bunches or spreads them")
	}
	d := fine.mean(combDensity)
	spread("fine", "fine timers spread them as the losses were spread: N/500 in a millisecond", d)
	spread("gvisor", "so do those of gVisor's own TCP over the same floor, without RACK and its probe", gvisors[0].mean(combDensity))
	ratio := bsd.mean(combPeak).Value / d.Value
	claim("ratio", "4.4BSD's peak is 500 times what fine timers send in a millisecond", "500",
		experiments.Measured(ratio, "times"), "500 ± 10, below 100 it is false", experiments.Judged(ratio, 490, 510, 100, 1e9), "the outage is shorter than a tick")
	half := straddled.mean(combPeak).Value / d.Value
	claim("ratio-straddling", "where it straddles the peak is 250 times that, or more", "250 and more",
		experiments.Measured(half, "times"), "245 and more, below 100 it is false", experiments.Judged(half, 245, 1e9, 100, 1e9), "the outage does not straddle in the middle")
	tops := bsd.mean(combPeak).Value / fine.mean(combPeak).Value
	claim("peaks", "4.4BSD's peak is hundreds of times the peak of fine timers too, though that is where chance bunches most", "",
		experiments.Measured(tops, "times"), "above 100", experiments.Holds(tops >= 100), "the comb of the sweep is not there")
	claim("teeth", "a tick that timers share has a tooth for each tick of the outage: the peak grows with the tick", "⌈500 ms/tick⌉ teeth",
		experiments.MeasuredText("%d of %d runs off", teethOff, teeth), "none", experiments.Holds(teeth > 0 && teethOff == 0), "deadlines do not round up to the tick")
	if own != nil {
		same := own.mean(combPeak).Value / fine.mean(combPeak).Value
		claim("phase", "a tick of the same size with a phase of its own for each timer has no comb", "",
			experiments.Measured(same, "times the peak of fine timers"), "1 ± 0.1", experiments.Judged(same, 0.9, 1.1, 0.5, 2), "the phases are not those of the starts")
	}
	claim("drops", "of a tooth of all, the queue keeps what it holds and drops the rest; of fine timers it drops none", "N - queue - 1, and 0",
		experiments.MeasuredText("%s of %d, and %s", combNumber(bsd.mean(combDropped)), n, combNumber(fine.mean(combDropped))),
		fmt.Sprintf("%d, and 0", n-p.Queue-1),
		experiments.Holds(bsd.all(func(c *combCell) bool { return c.Dropped == max(n-p.Queue-1, 0) }) && fine.all(func(c *combCell) bool { return c.Dropped == 0 })),
		"the link does not send what the teeth need")
	out.Notes = append(out.Notes, fmt.Sprintf("What the queue drops of a tooth meets again, as all have the same timeout and double it together: %s of %d connections are not "+
		"repaired after %v under 4.4BSD's sweep.", combNumber(bsd.mean(func(c *combCell) float64 { return float64(c.Unrepaired) })), n, p.Watch))
	return out, nil
}

func combNumber(in stat.Interval) string { return experiments.Number(in.Value) }

func combTable(all []combGroup) experiments.Table {
	t := experiments.Table{
		Name: "combs", Title: "Retransmissions after the outage, by timers; means over seeds",
		Columns: []string{"timers", "peak, per ms", "at, ms", "bins of 1 ms", "per bin", "dropped at once", "dropped in all", "99 % repaired, s", "never repaired"},
	}
	for i := range all {
		g := &all[i]
		value := func(of func(c *combCell) float64) float64 { return g.mean(of).Value }
		var repaired any = "never"
		if g.all(func(c *combCell) bool { return c.Repaired99 > 0 }) {
			repaired = value(func(c *combCell) float64 { return c.Repaired99.Seconds() })
		}
		t.Add(g.label, value(combPeak), value(func(c *combCell) float64 { return c.PeakAt.Seconds() * 1e3 }), value(func(c *combCell) float64 { return float64(c.Bins) }),
			value(func(c *combCell) float64 { return float64(c.Second) / float64(c.Bins) }), value(combDropped),
			value(func(c *combCell) float64 { return float64(c.DroppedEver) }), repaired, value(func(c *combCell) float64 { return float64(c.Unrepaired) }))
	}
	return t
}

func combFigures(p *combPlan, all []combGroup) []figure.Figure {
	comb := figure.Figure{
		Name: "comb", Title: fmt.Sprintf("%s connections lose a segment each within %v: when do they send it again?", experiments.Number(p.Connections), p.Outage),
		X: figure.Axis{Label: "since the outage began, ms", Lo: 950, Hi: 1550}, Y: figure.Axis{Label: "retransmissions in a millisecond", Log: true, Lo: 1, Hi: 2 * float64(p.Connections)},
		Marks: []figure.Mark{{Label: "as the losses were spread", At: float64(p.Connections) / (float64(p.Outage) / float64(time.Millisecond))}},
		Caption: "4.4BSD's sweep sends all of them at one instant; ticks that timers share make a tooth each; without a tick they leave as far apart as they were lost. " +
			"The axis is logarithmic: 4.4BSD's tooth is 500 times as high as the ground.",
	}
	again := figure.Figure{
		Name: "comb-again", Title: "What the queue drops of a tooth meets again",
		X: figure.Axis{Label: "since the outage began, s"}, Y: figure.Axis{Label: "retransmissions in a millisecond", Log: true, Lo: 1, Hi: 2 * float64(p.Connections)},
		Caption: fmt.Sprintf("A queue of %d packets holds a part of a tooth; the rest waits for twice as long, and comes as a tooth again. Fine timers are through after one round.", p.Queue),
	}
	tops := figure.Series{Name: "shared tick", Kind: figure.Points}
	law := figure.Series{Name: "N·tick/outage", Kind: figure.Line, Dashed: true}
	owns := figure.Series{Name: "phase of its own", Kind: figure.Points}
	for i := range all {
		g := &all[i]
		pol := &g.timers.Policy
		if g.shipped || g.straddles {
			continue
		}
		var seen []([2]int)
		for _, c := range g.cells {
			if c.Seed == 1 {
				seen = c.Comb
			}
		}
		if pol.Phase != tcptimers.PhaseOwn && pol.Rexmit != tcptimers.RexmitRestart || pol.Phase == tcptimers.PhaseCountdown {
			s, l := figure.Series{Name: g.label, Kind: figure.Bars}, figure.Series{Name: g.label, Kind: figure.Bars}
			for _, b := range seen {
				if b[0] >= 950 && b[0] <= 1550 {
					s.X, s.Y = append(s.X, float64(b[0])), append(s.Y, float64(b[1]))
				}
				l.X, l.Y = append(l.X, float64(b[0])/1e3), append(l.Y, float64(b[1]))
			}
			if tick := pol.Tick; pol.Phase == tcptimers.PhaseCountdown || tick == testbed.Exact || tick == 10*time.Millisecond || tick == 100*time.Millisecond {
				comb.Series = append(comb.Series, s)
			}
			if pol.Phase == tcptimers.PhaseCountdown || pol.Tick == testbed.Exact {
				again.Series = append(again.Series, l)
			}
		}
		if pol.Phase == tcptimers.PhaseCountdown {
			continue
		}
		in, at := g.mean(combPeak), float64(pol.Tick)/float64(time.Millisecond)
		s := &tops
		if pol.Phase == tcptimers.PhaseOwn {
			s = &owns
		}
		s.X, s.Y, s.Lo, s.Hi = append(s.X, at), append(s.Y, in.Value), append(s.Lo, in.Lo), append(s.Hi, in.Hi)
	}
	for _, tick := range []float64{0.001, 1, 10, 100, 500} {
		law.X = append(law.X, tick)
		law.Y = append(law.Y, float64(p.Connections)*max(tick, 1)/(float64(p.Outage)/float64(time.Millisecond)))
	}
	peaks := figure.Figure{
		Name: "peaks", Title: "The peak grows with the tick that timers share",
		X: figure.Axis{Label: "tick of expiry, ms", Log: true}, Y: figure.Axis{Label: "most retransmissions in a millisecond", Log: true},
		Caption: "From a millisecond up the peak is the number of losses in a tick. Below, and with a phase of its own for each timer at 500 ms, it is what chance bunches.",
		Series:  []figure.Series{tops, law},
	}
	if len(owns.X) > 0 {
		peaks.Series = append(peaks.Series, owns)
	}
	return []figure.Figure{comb, peaks, again}
}
