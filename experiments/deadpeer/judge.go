package deadpeer

import (
	"fmt"
	"math"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/experiments/internal/stat"
)

// row is a case over all seeds.
type row struct {
	d           death
	cells       []Cell
	off, n      int
	least, most float64 // end less rule, in ticks
	mean, took  float64
	rule        time.Duration
	uneven      int // seeds whose sample is not even
}

func rows(p *Plan, cells []Cell) (all []row) {
	for _, d := range deaths(p) {
		r := row{d: d, least: math.Inf(1), most: math.Inf(-1)}
		var means, took []float64
		var rules []time.Duration
		for _, c := range cells {
			if c.Case != d.name {
				continue
			}
			r.cells = append(r.cells, c)
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

// isR2 reports whether the rule is exact, so that nothing is to be even.
func (r *row) isR2() bool { return r.d.what == data && r.d.user == 0 }

func judge(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	all := rows(p, cells)
	out := &experiments.Outcome{Figures: figures(all)}
	t := experiments.Table{
		Name: "deaths", Title: "How long a connection outlives its peer; all phases and seeds",
		Columns: []string{"case", "tick, ms", "deaths", "rule, s", "mean, s", "least off, ticks", "mean off", "most off", "out of the rule"},
	}
	group := func(pick func(r *row) bool) (off, n int) {
		for i := range all {
			if pick(&all[i]) {
				off, n = off+all[i].off, n+all[i].n
			}
		}
		return off, n
	}
	uneven, samples := 0, 0
	byName := map[string]*row{}
	for i := range all {
		r := &all[i]
		byName[r.d.name] = r
		t.Add(r.d.name, float64(r.cells[0].Tick)/1e6, r.n, r.rule.Seconds(), r.took, r.least, r.mean, r.most, r.off)
		if !r.isR2() {
			uneven, samples = uneven+r.uneven, samples+len(r.cells)
		}
	}
	out.Tables = append(out.Tables, t)
	claim := func(name, text, published, source string, tag experiments.Tag, m experiments.Measure, expected string, v experiments.Verdict, why string) {
		out.Claim(experiments.Claim{Name: name, Text: text, Published: published, Source: source, Tag: tag, Measured: m, Expected: experiments.Decided(v, expected),
			Otherwise: why})
	}
	const why = "a timer of the connection is not the one that the rule has"
	exact := func(name, text, published, source string, tag experiments.Tag, expected string, pick func(r *row) bool, measured string) {
		off, n := group(pick)
		claim(name, text, published, source, tag, experiments.MeasuredText("%s; %d of %d off", measured, off, n), expected, experiments.Holds(n > 0 && off == 0), why)
	}
	seconds := func(name string) string { return experiments.Number(byName[name].took) + " s" }
	is := func(name string) func(r *row) bool { return func(r *row) bool { return r.d.name == name } }
	bsd, linux := "keepalive, 4.4BSD", "keepalive, Linux and gVisor"
	exact("bsd", "under 4.4BSD's keepalive a dead peer is noticed after 7800 s", "7200 s + 8·75 s", "4.4BSD, tcp_timer.h", experiments.FromPrint,
		"up to a tick of 500 ms less", is(bsd), seconds(bsd))
	exact("linux", "under Linux's and gVisor's after 7875 s", "7200 s + 9·75 s", "Linux, include/net/tcp.h, and gVisor, tcp/endpoint.go", experiments.FromPrint,
		"up to a tick more", is(linux), seconds(linux))
	exact("fast", fmt.Sprintf("under keepalive of %v, %v and %d after their sum, over ticks of any size", p.FastIdle, p.FastInterval, p.FastCount), "13 s",
		"definition of the timers", experiments.Computed, "up to a tick more", func(r *row) bool {
			return r.d.what == idle && r.d.name != bsd && r.d.name != linux
		}, fmt.Sprintf("%d ticks", len(p.Ticks)))
	exact("user-timeout", "with data under way the user timeout decides", "", "RFC 9293 §3.8.3 and RFC 5482", experiments.Standard, "up to a tick more",
		func(r *row) bool { return r.d.user > 0 }, fmt.Sprintf("%d timeouts", len(p.UserTimeouts)))
	exact("r2", "without one it is R2, at the end of a timeout that has doubled each time", "", "RFC 6298 §5 and RFC 9293 §3.8.3", experiments.Standard,
		"to the nanosecond", (*row).isR2, fmt.Sprintf("4.4BSD %s, Linux %s, default %s", seconds("R2, 4.4BSD"), seconds("R2, Linux"), seconds("R2, default")))
	exact("syn", "a SYN to a dead peer is given up at its own R2", "75 s, 131 s, 180 s", "4.4BSD, Linux (tcp_syn_retries 6, tcp_syn_linear_timeouts 4), RFC 9293 §3.8.3", experiments.FromPrint,
		"within a tick", func(r *row) bool { return r.d.what == opening },
		fmt.Sprintf("4.4BSD %s, Linux %s, default %s", seconds("SYN, 4.4BSD"), seconds("SYN, Linux"), seconds("SYN, default")))
	r2, syn := byName["R2, default"], byName["SYN, default"]
	claim("rfc9293", "the default keeps to R2 of 100 s at least, and of 3 minutes for a SYN", "100 s; 3 min", "RFC 9293 §3.8.3 (MUST-23)", experiments.Standard,
		experiments.MeasuredText("%s s; %s s", experiments.Number(r2.took), experiments.Number(syn.took)), "at least that",
		experiments.Holds(r2.took >= 100 && syn.took >= (3*time.Minute).Seconds()), "the policy gives up too soon")
	claim("even", "phases that are drawn by chance make the rest an even share of a tick", "[0, G); 4.4BSD (-G, 0]", "definition of the timers", experiments.Computed,
		experiments.MeasuredText("%d of %d samples differ at p ≤ 0.01", uneven, samples), "as few as chance gives: at most 5 %",
		experiments.Holds(samples > 0 && float64(uneven) <= max(0.05*float64(samples), 1)), "the phases are not what decides")
	out.Notes = append(out.Notes, "4.4BSD's 75 s and Linux's 131 s for a SYN are less than the 3 minutes of RFC 9293 §3.8.3 (MUST-23), as the policies of these names document.")
	judgeGVisor(p, cells, out)
	return out, nil
}

func figures(all []row) []figure.Figure {
	life := figure.Figure{
		Name: "lifetimes", Title: "How long a connection outlives its peer",
		X: figure.Axis{Label: "what notices"}, Y: figure.Axis{Label: "seconds", Log: true, Lo: 0.1, Hi: 10000},
		Caption: "Keepalive of two hours leaves a dead peer for hours, R2 for minutes; what an application sets decides the rest. The tick shows in none of them.",
	}
	share := figure.Figure{
		Name: "phases", Title: "What the tick adds", X: figure.Axis{Label: "end less the sum of the timers, in ticks", Lo: -1, Hi: 1},
		Y:       figure.Axis{Label: "share of connections", Lo: 0, Hi: 1},
		Caption: "An even share of a tick: after the sum where deadlines round up, before it where 4.4BSD counts its sweeps down.",
	}
	fast := false // over one tick it is much as over another
	bars := figure.Series{Name: "mean over phases", Kind: figure.Bars}
	for i := range all {
		r := &all[i]
		if !fast || r.d.short != "fast" {
			life.X.Ticks = append(life.X.Ticks, r.d.short)
			bars.X, bars.Y = append(bars.X, float64(len(bars.X))), append(bars.Y, r.took)
		}
		fast = fast || r.d.short == "fast"
		if r.d.what != idle {
			continue
		}
		s := figure.Series{Name: r.d.name, Kind: figure.Steps}
		for _, c := range r.cells {
			for j, x := range c.Late {
				s.X, s.Y = append(s.X, x), append(s.Y, float64(j+1)/float64(len(c.Late)))
			}
		}
		share.Series = append(share.Series, s)
	}
	life.Series = []figure.Series{bars}
	return []figure.Figure{life, share}
}
