package outage

import (
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel/stat"
)

// combLabel returns a short name of timers.
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

// combGroup is the cells of a row, over seeds.
type combGroup struct {
	label     string
	timers    testbed.Timers
	straddles bool
	shipped   bool
	cells     []combCell
}

// combGroups returns the rows: the straddling cells, the plan's timers, and the default.
func combGroups(p *combPlan, cells []combCell) (all []combGroup) {
	add := func(name string, tm testbed.Timers, straddles, shipped bool) {
		of := experiments.Select(cells, func(c *combCell) bool { return c.Timers == tm.Text && c.Straddles == straddles })
		all = append(all, combGroup{label: name, timers: tm, straddles: straddles, shipped: shipped, cells: of})
	}
	add(combLabel(p.Timers[0])+", straddled", p.Timers[0], true, false)
	for _, tm := range p.Timers {
		add(combLabel(tm), tm, false, false)
	}
	add("the default as it ships", p.Shipped, false, true)
	return all
}

// combGvisorGroups returns the rows of gVisor's own TCP.
func combGvisorGroups(cells []combCell) (all []combGroup) {
	for _, g := range combGvisors {
		of := experiments.Select(cells, func(c *combCell) bool { return c.Timers == g.String() })
		all = append(all, combGroup{label: g.String(), cells: of})
	}
	return all
}

func (g *combGroup) mean(of func(c *combCell) float64) stat.Interval {
	return experiments.MeanOf(g.cells, of)
}

func (g *combGroup) all(holds func(c *combCell) bool) bool {
	return len(g.cells) > 0 && len(experiments.Select(g.cells, holds)) == len(g.cells)
}

func combPeak(c *combCell) float64    { return float64(c.Peak) }
func combDropped(c *combCell) float64 { return float64(c.Dropped) }

func combBins(c *combCell) float64 { return float64(c.Bins) }

// combDensity returns first retransmissions per millisecond, between the first and the last of
// them.
func combDensity(c *combCell) float64 {
	return float64(c.Second) / (float64(c.Last-c.First)/float64(time.Millisecond) + 1)
}

// perMillisecond returns the rate of the losses.
func (p *combPlan) perMillisecond() float64 {
	return float64(p.Connections) / (float64(p.Outage) / float64(time.Millisecond))
}

// combRows are the rows that claims compare.
type combRows struct {
	straddled, bsd *combGroup
	fine           *combGroup // the finest of the shared ticks
	own            *combGroup // with phases of their own; may be nil
	gvisor         *combGroup
	teeth          experiments.Tally // ticks whose bins are not as many as the outage has ticks
}

func (p *combPlan) claimed(all, gvisors []combGroup) combRows {
	r := combRows{straddled: &all[0], bsd: &all[1], fine: &all[1], gvisor: &gvisors[0]}
	for i := range all {
		g := &all[i]
		timers := &g.timers.Policy
		switch {
		case g.shipped || timers.Phase == tcptimers.PhaseCountdown:
		case timers.Phase == tcptimers.PhaseOwn:
			r.own = g
		default:
			if timers.Tick < r.fine.timers.Policy.Tick || r.fine == r.bsd {
				r.fine = g
			}
			if timers.Tick > time.Millisecond {
				want := int((p.Outage + timers.Tick - 1) / timers.Tick)
				for _, c := range g.cells {
					r.teeth.Add(c.Bins == want)
				}
			}
		}
	}
	return r
}

func combJudge(p *combPlan, cells []combCell) (*experiments.Outcome, error) {
	mixed := experiments.Select(cells, func(c *combCell) bool { return c.Mixed })
	cells = experiments.Select(cells, func(c *combCell) bool { return !c.Mixed })
	all, gvisors := combGroups(p, cells), combGvisorGroups(cells)
	out := &experiments.Outcome{Tables: []experiments.Table{combTable(append(all[:len(all):len(all)], gvisors...))}, Figures: combFigures(p, all)}
	r := p.claimed(all, gvisors)
	claims := slices.Concat(r.binClaims(p), r.peakClaims(p), r.toothClaims(p))
	for _, c := range claims {
		c.Source, c.Tag = "definition of the timers", experiments.Computed
		out.Claim(c)
	}
	for i := range mixed {
		combMixed(p, &mixed[i], out)
	}
	out.Notes = append(out.Notes, fmt.Sprintf("The retransmissions that the queue drops meet again, as all have the same timeout and double it together: %s of %d connections are not "+
		"repaired after %v under 4.4BSD's sweep.", combNumber(r.bsd.mean(func(c *combCell) float64 { return float64(c.Unrepaired) })), p.Connections, p.Watch))
	return out, nil
}

// binClaims are the bins of the retransmissions.
func (r *combRows) binClaims(p *combPlan) []experiments.Claim {
	n, share := p.Connections, p.perMillisecond()
	spread := func(name, text string, g *combGroup) experiments.Claim {
		return experiments.Claim{Name: name, Class: experiments.Law, Basis: "2 % set for this project", Text: text, Published: experiments.Number(share) + " per ms",
			Measured:  experiments.MeasuredWithin(g.mean(combDensity), "per ms"),
			Expected:  experiments.WithinPercent(share, 2, "per ms").OrDiffers(experiments.WithinPercent(share, 20, "per ms")),
			Otherwise: "something other than the timers bunches or spreads them"}
	}
	return []experiments.Claim{
		{Name: "one-bin", Class: experiments.Law, Text: "under 4.4BSD's sweep all retransmissions fall into one bin of a millisecond", Published: fmt.Sprintf("%d in one", n),
			Measured:  experiments.MeasuredText("%s at the peak; bins with any: %s", combNumber(r.bsd.mean(combPeak)), combNumber(r.bsd.mean(combBins))),
			Expected:  experiments.Whether(r.bsd.all(func(c *combCell) bool { return c.Bins == 1 && c.Peak == n && c.RTOs == 1 }), "all, in one"),
			Otherwise: "the timeouts of the connections differ by a tick, or there is more than one sweep"},
		{Name: "two-bins", Class: experiments.Law, Text: "where the outage straddles a sweep they fall into two", Published: "2 bins",
			Measured:  experiments.MeasuredText("%s bins", combNumber(r.straddled.mean(combBins))),
			Expected:  experiments.Whether(r.straddled.all(func(c *combCell) bool { return c.Bins == 2 && c.Second == n }), "2"),
			Otherwise: "there is more than one sweep"},
		spread("fine", "fine timers spread them like the losses: N/500 per millisecond", r.fine),
		spread("gvisor", "so do those of gVisor's own TCP over the same floor, without RACK and its probe", r.gvisor),
	}
}

// peakClaims compare the peaks of 4.4BSD and of fine timers.
func (r *combRows) peakClaims(p *combPlan) []experiments.Claim {
	density := r.fine.mean(combDensity).Value
	return []experiments.Claim{
		{Name: "ratio", Class: experiments.Law, Basis: "set for this project", Text: "4.4BSD's peak is 500 times the rate of fine timers, per millisecond", Published: "500",
			Measured: experiments.Measured(r.bsd.mean(combPeak).Value/density, "times"),
			Expected: experiments.Within(500, 10, "times").OrDiffers(experiments.AtLeast(100, "")), Otherwise: "the outage is shorter than a tick"},
		{Name: "ratio-straddling", Class: experiments.Law, Basis: "set for this project", Text: "where it straddles, the peak is 250 times that rate, or more", Published: "250 and more",
			Measured: experiments.Measured(r.straddled.mean(combPeak).Value/density, "times"),
			Expected: experiments.AtLeast(245, "times").OrDiffers(experiments.AtLeast(100, "")), Otherwise: "the sweep is not in the middle of the outage"},
		{Name: "peaks", Class: experiments.Law, Basis: "set for this project", Text: "4.4BSD's peak is also hundreds of times the peak of fine timers, where chance bunches most",
			Measured: experiments.Measured(r.bsd.mean(combPeak).Value/r.fine.mean(combPeak).Value, "times"),
			Expected: experiments.AtLeast(100, "times"), Otherwise: "the comb of the sweep is not there"},
	}
}

// toothClaims are the teeth of shared ticks, and the queue.
func (r *combRows) toothClaims(p *combPlan) []experiments.Claim {
	all := []experiments.Claim{{Name: "teeth", Class: experiments.Law, Text: "a tick that timers share has a tooth for each tick of the outage: the peak grows with the tick", Published: "⌈500 ms/tick⌉ teeth",
		Measured: r.teeth.Measure("runs off"), Expected: experiments.None(), Otherwise: "deadlines do not round up to the tick"}}
	if r.own != nil {
		all = append(all, experiments.Claim{Name: "phase", Class: experiments.Law, Basis: "set for this project", Text: "a tick of the same size with its own phase for each timer has no comb",
			Measured: experiments.Measured(r.own.mean(combPeak).Value/r.fine.mean(combPeak).Value, "times the peak of fine timers"),
			Expected: experiments.Within(1, 0.1, "").OrDiffers(experiments.Between(0.5, 2, "")), Otherwise: "the phases are not those of the starts"})
	}
	dropped := max(p.Connections-p.Queue-1, 0)
	holds := r.bsd.all(func(c *combCell) bool { return c.Dropped == dropped }) && r.fine.all(func(c *combCell) bool { return c.Dropped == 0 })
	return append(all, experiments.Claim{Name: "drops", Class: experiments.Law, Text: "the queue drops the part of a full tooth that it cannot hold; it drops none of fine timers", Published: "N - queue - 1, and 0",
		Measured: experiments.MeasuredText("%s of %d, and %s", combNumber(r.bsd.mean(combDropped)), p.Connections, combNumber(r.fine.mean(combDropped))),
		Expected: experiments.Whether(holds, "%d, and 0", p.Connections-p.Queue-1), Otherwise: "the link does not send what the teeth need"})
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
		t.Add(g.label, value(combPeak), value(func(c *combCell) float64 { return c.PeakAt.Seconds() * 1e3 }), value(combBins),
			value(func(c *combCell) float64 { return float64(c.Second) / float64(c.Bins) }), value(combDropped),
			value(func(c *combCell) float64 { return float64(c.DroppedEver) }), repaired, value(func(c *combCell) float64 { return float64(c.Unrepaired) }))
	}
	return t
}

func combFigures(p *combPlan, all []combGroup) []figure.Figure {
	y := figure.Axis{Label: "retransmissions per millisecond", Log: true, Lo: 1, Hi: 2 * float64(p.Connections)}
	comb := figure.Figure{
		Name: "comb", Title: fmt.Sprintf("%s connections lose a segment each within %v: when do they retransmit?", experiments.Number(p.Connections), p.Outage),
		X: figure.Axis{Label: "since the outage began, ms", Lo: 950, Hi: 1550}, Y: y,
		Marks: []figure.Mark{{Label: "rate of the losses", At: p.perMillisecond()}},
		Caption: "4.4BSD's sweep retransmits all at one instant. Ticks that timers share make a tooth each. Without a tick, retransmissions are spread like the losses. " +
			"The axis is logarithmic: 4.4BSD's tooth is 500 times as high as the ground.",
	}
	again := figure.Figure{
		Name: "comb-again", Title: "Retransmissions that the queue drops meet again",
		X: figure.Axis{Label: "since the outage began, s"}, Y: y,
		Caption: fmt.Sprintf("A queue of %d packets holds a part of a tooth. The rest waits for twice as long, and arrives as a tooth again. Fine timers need one round.", p.Queue),
	}
	for i := range all {
		g := &all[i]
		timers := &g.timers.Policy
		sweep := timers.Phase == tcptimers.PhaseCountdown
		if g.shipped || g.straddles || !sweep && (timers.Phase == tcptimers.PhaseOwn || timers.Rexmit == tcptimers.RexmitRestart) {
			continue
		}
		near, whole := g.bins()
		if tick := timers.Tick; sweep || tick == testbed.Exact || tick == 10*time.Millisecond || tick == 100*time.Millisecond {
			comb.Series = append(comb.Series, near)
		}
		if sweep || timers.Tick == testbed.Exact {
			again.Series = append(again.Series, whole)
		}
	}
	return []figure.Figure{comb, combPeaks(p, all), again}
}

// bins returns the comb of the first seed: near the first retransmissions in ms, and as a whole in
// s.
func (g *combGroup) bins() (near, whole figure.Series) {
	near, whole = figure.Series{Name: g.label, Kind: figure.Bars}, figure.Series{Name: g.label, Kind: figure.Bars}
	for _, c := range g.cells {
		if c.Seed != 1 {
			continue
		}
		for _, b := range c.Comb {
			if b[0] >= 950 && b[0] <= 1550 {
				near.Add(float64(b[0]), float64(b[1]))
			}
			whole.Add(float64(b[0])/1e3, float64(b[1]))
		}
	}
	return near, whole
}

func combPeaks(p *combPlan, all []combGroup) figure.Figure {
	shared := figure.Series{Name: "shared tick", Kind: figure.Points}
	own := figure.Series{Name: "phase of its own", Kind: figure.Points}
	for i := range all {
		g := &all[i]
		timers := &g.timers.Policy
		if g.shipped || g.straddles || timers.Phase == tcptimers.PhaseCountdown {
			continue
		}
		s := &shared
		if timers.Phase == tcptimers.PhaseOwn {
			s = &own
		}
		s.AddInterval(float64(timers.Tick)/float64(time.Millisecond), g.mean(combPeak))
	}
	law := figure.Series{Name: "N·tick/outage", Kind: figure.Line, Dashed: true}
	for _, tick := range []float64{0.001, 1, 10, 100, 500} {
		law.Add(tick, float64(p.Connections)*max(tick, 1)/(float64(p.Outage)/float64(time.Millisecond)))
	}
	fig := figure.Figure{
		Name: "peaks", Title: "The peak grows with the tick that timers share",
		X: figure.Axis{Label: "tick of expiry, ms", Log: true}, Y: figure.Axis{Label: "most retransmissions in a millisecond", Log: true},
		Caption: "From a millisecond up, the peak is the number of losses in a tick. Below it, and with a phase of its own for each timer at 500 ms, chance makes the peak.",
		Series:  []figure.Series{shared, law},
	}
	if len(own.X) > 0 {
		fig.Series = append(fig.Series, own)
	}
	return fig
}
