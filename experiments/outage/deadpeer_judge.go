package outage

import (
	"fmt"
	"math"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/pcaps/figure"
	"tcpwheel/wheel/stat"
)

// deadRow is a case over all seeds.
type deadRow struct {
	d           death
	cells       []deadCell
	off, n      int
	least, most float64 // end minus rule, in ticks
	mean, took  float64
	rule        time.Duration
	uneven      int // seeds with an uneven sample
}

func deadRows(p *deadPlan, cells []deadCell) (all []deadRow) {
	for _, d := range deaths(p) {
		r := deadRow{d: d, least: math.Inf(1), most: math.Inf(-1)}
		r.cells = experiments.Select(cells, func(c *deadCell) bool { return c.Case == d.name })
		var means, took []float64
		var rules []time.Duration
		for _, c := range r.cells {
			r.off, r.n = r.off+c.Off, r.n+p.Phases
			r.least, r.most = min(r.least, c.Least), max(r.most, c.Greatest)
			means, took, rules = append(means, c.Mean), append(took, c.Took), append(rules, c.Rule)
			if c.KS <= 0.01 {
				r.uneven++
			}
		}
		r.mean, r.took, r.rule = stat.Mean(means), stat.Mean(took), time.Duration(stat.Mean(rules))
		all = append(all, r)
	}
	return all
}

// isR2 reports whether the rule is exact.
func (r *deadRow) isR2() bool { return r.d.what == data && r.d.user == 0 }

func deadJudge(p *deadPlan, cells []deadCell) (*experiments.Outcome, error) {
	all := deadRows(p, cells)
	t := experiments.Table{
		Name: "deaths", Title: "How long a connection outlives its peer; all phases and seeds",
		Columns: []string{"case", "tick, ms", "deaths", "rule, s", "mean, s", "end minus rule, least, ticks",
			"mean, ticks", "greatest, ticks", "outside the rule"},
	}
	for _, r := range all {
		t.Add(r.d.name, float64(r.cells[0].Tick)/1e6, r.n, r.rule.Seconds(), r.took, r.least, r.mean, r.most, r.off)
	}
	out := &experiments.Outcome{Figures: deathFigures(all), Tables: []experiments.Table{t}}
	ruleClaims(p, all, out)
	otherClaims(all, out)
	out.Notes = append(out.Notes, "4.4BSD's 75 s and Linux's 131 s for a SYN are less than the 3 minutes of RFC "+
		"9293 §3.8.3 (MUST-23), as the policies of these names document.")
	judgeGVisor(p, cells, out)
	return out, nil
}

// findDeath returns the row of a case.
func findDeath(all []deadRow, name string) *deadRow {
	return &all[slices.IndexFunc(all, func(r deadRow) bool { return r.d.name == name })]
}

// ruleClaims compares the ends of connections with the sums of their timers.
func ruleClaims(p *deadPlan, all []deadRow, out *experiments.Outcome) {
	claim := func(name, text, published, source string, tag experiments.Tag, expected string,
		pick func(r *deadRow) bool, measured string) {
		var off experiments.Tally
		for _, r := range experiments.Select(all, pick) {
			off.Exceptions, off.Cases = off.Exceptions+r.off, off.Cases+r.n
		}
		m := off.Measure("off")
		m.Text = measured + "; " + m.Text
		out.Claim(experiments.Claim{Name: name, Class: experiments.Law, Text: text, Published: published,
			Source: source, Tag: tag, Measured: m,
			Expected:  experiments.None().Saying("%s", expected),
			Otherwise: "a timer of the connection is not that of the rule"})
	}
	seconds := func(name string) string { return experiments.Number(findDeath(all, name).took) + " s" }
	is := func(name string) func(r *deadRow) bool { return func(r *deadRow) bool { return r.d.name == name } }
	const bsd, linux = "keepalive, 4.4BSD", "keepalive, Linux and gVisor"
	claim("bsd", "4.4BSD's keepalive notices a dead peer after 7800 s", "7200 s + 8·75 s", "4.4BSD, tcp_timer.h",
		experiments.FromPrint,
		"up to a tick of 500 ms less", is(bsd), seconds(bsd))
	claim("linux", "Linux's and gVisor's keepalive after 7875 s", "7200 s + 9·75 s",
		"Linux, include/net/tcp.h, and gVisor, tcp/endpoint.go", experiments.FromPrint,
		"up to a tick more", is(linux), seconds(linux))
	claim("fast", fmt.Sprintf("keepalive of %v, %v and %d after their sum, over ticks of any size", p.FastIdle,
		p.FastInterval, p.FastCount), "13 s",
		"definition of the timers", experiments.Computed, "up to a tick more", func(r *deadRow) bool {
			return r.d.what == idle && r.d.name != bsd && r.d.name != linux
		}, fmt.Sprintf("%d ticks", len(p.Ticks)))
	claim("user-timeout", "with data in flight the user timeout decides", "", "RFC 9293 §3.8.3 and RFC 5482",
		experiments.Standard, "up to a tick more",
		func(r *deadRow) bool { return r.d.user > 0 }, fmt.Sprintf("%d timeouts", len(p.UserTimeouts)))
	claim("r2", "without a user timeout R2 decides, at the end of a timeout that has doubled each time", "",
		"RFC 6298 §5 and RFC 9293 §3.8.3", experiments.Standard,
		"to the nanosecond", (*deadRow).isR2, fmt.Sprintf("4.4BSD %s, Linux %s, default %s", seconds("R2, 4.4BSD"),
			seconds("R2, Linux"), seconds("R2, default")))
	claim("syn", "a SYN to a dead peer is given up at its own R2", "75 s, 131 s, 180 s",
		"4.4BSD, Linux (tcp_syn_retries 6, tcp_syn_linear_timeouts 4), RFC 9293 §3.8.3", experiments.FromPrint,
		"within a tick", func(r *deadRow) bool { return r.d.what == opening },
		fmt.Sprintf("4.4BSD %s, Linux %s, default %s", seconds("SYN, 4.4BSD"), seconds("SYN, Linux"),
			seconds("SYN, default")))
}

// otherClaims judges R2 by RFC 9293, and the phases.
func otherClaims(all []deadRow, out *experiments.Outcome) {
	r2, syn := findDeath(all, "R2, default"), findDeath(all, "SYN, default")
	out.Claim(experiments.Claim{Name: "rfc9293", Class: experiments.Law,
		Text: "the default's R2 is at least 100 s, and 3 minutes for a SYN", Published: "100 s; 3 min",
		Source: "RFC 9293 §3.8.3 (MUST-23)", Tag: experiments.Standard,
		Measured:  experiments.MeasuredText("%s s; %s s", experiments.Number(r2.took), experiments.Number(syn.took)),
		Expected:  experiments.Whether(r2.took >= 100 && syn.took >= (3*time.Minute).Seconds(), "at least that"),
		Otherwise: "the policy gives up too soon"})
	uneven, samples := 0, 0
	for _, r := range all {
		if !r.isR2() {
			uneven, samples = uneven+r.uneven, samples+len(r.cells)
		}
	}
	out.Claim(experiments.Claim{Name: "even", Class: experiments.Law,
		Text:      "random phases make the excess over the rule an even share of a tick",
		Published: "[0, G); 4.4BSD (-G, 0]", Source: "definition of the timers", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%d of %d samples differ at p ≤ 0.01", uneven, samples),
		Expected: experiments.Whether(samples > 0 && float64(uneven) <= max(0.05*float64(samples), 1),
			"as few as chance gives: at most 5 %%"), Otherwise: "the phases do not decide"})
}

func deathFigures(all []deadRow) []figure.Figure {
	life := figure.Figure{
		Name: "lifetimes", Title: "How long a connection outlives its peer",
		X: figure.Axis{Label: "mechanism"}, Y: figure.Axis{Label: "seconds", Log: true, Lo: 0.1, Hi: 10000},
		Caption: "Keepalive of two hours takes hours to notice, R2 minutes; an application's own settings decide " +
			"the rest. The tick is visible in none of them.",
	}
	share := figure.Figure{
		Name: "phases", Title: "Effect of the tick",
		X: figure.Axis{Label: "end minus the sum of the timers, in ticks", Lo: -1, Hi: 1},
		Y: figure.Axis{Label: "share of connections", Lo: 0, Hi: 1},
		Caption: "An even share of a tick: after the sum where deadlines round up, before it where 4.4BSD counts " +
			"down its sweeps.",
	}
	fast := false // all ticks give nearly the same
	bars := figure.Series{Name: "mean over phases", Kind: figure.Bars}
	for i := range all {
		r := &all[i]
		if !fast || r.d.short != "fast" {
			life.X.Ticks = append(life.X.Ticks, r.d.short)
			bars.Add(float64(len(bars.X)), r.took)
		}
		fast = fast || r.d.short == "fast"
		if r.d.what != idle {
			continue
		}
		s := figure.Series{Name: r.d.name, Kind: figure.Steps}
		for _, c := range r.cells {
			for j, x := range c.Late {
				s.Add(x, float64(j+1)/float64(len(c.Late)))
			}
		}
		share.Series = append(share.Series, s)
	}
	life.Series = []figure.Series{bars}
	return []figure.Figure{life, share}
}
