package incast

import (
	"fmt"
	"math"
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/wheel/stat"
)

const (
	randomisedMany  = 1000 // servers above which Vasudevan's position is judged
	randomisedHelps = 1.1  // times the goodput: a help, for Vasudevan's position
	randomisedNone  = 1.05 // times the goodput: no help, for Chen's position
)

// randomisedPair is a seed without jitter and with it.
type randomisedPair struct{ without, with randomisedCell }

// randomisedSetting is what the servers of a group meet.
type randomisedSetting struct {
	service time.Duration // 0 is the plan's
	network int
	floor   time.Duration
	servers int
}

// randomisedGroup is all seeds of a setting.
type randomisedGroup struct {
	randomisedSetting

	// Goodput in Mbit/s of settled connections, without jitter and with it, and the ratio; fresh is
	// the ratio of new connections.
	without, with stat.Interval
	ratio, fresh  stat.Interval

	ruled  float64 // share of servers whose timeout the floor set, without jitter
	spread float64 // 90th / 10th percentile of the servers' timeouts without jitter
	// Mean timeouts in a settled query of the server with the most, without jitter and with it.
	most, least float64
}

// randomisedGroups returns the groups in the order of the cells. The two cells of a seed are
// neighbours.
func randomisedGroups(p *randomisedPlan, cells []randomisedCell) (all []randomisedGroup) {
	for _, of := range experiments.GroupBy(cells, func(c *randomisedCell) randomisedSetting {
		return randomisedSetting{c.Service, c.Network, c.Floor, c.Servers}
	}) {
		var seeds [][]randomisedPair
		for i := 0; i < len(of.Items); i += 2 {
			seeds = append(seeds, []randomisedPair{{of.Items[i], of.Items[i+1]}})
		}
		g := randomisedGroup{randomisedSetting: of.Key}
		g.count(p, seeds)
		g.measure(p, seeds)
		all = append(all, g)
	}
	return all
}

// count fills in what is no time.
func (g *randomisedGroup) count(p *randomisedPlan, seeds [][]randomisedPair) {
	runs := float64(len(seeds))
	for _, seed := range seeds {
		without, with := &seed[0].without, &seed[0].with
		g.ruled += without.Ruled / runs
		g.spread += float64(without.High) / float64(without.Low) / runs
		for q := p.Unsettled; q < p.Queries; q++ {
			g.most, g.least = g.most+float64(without.Most[q]), g.least+float64(with.Most[q])
		}
	}
	queries := runs * float64(p.Queries-p.Unsettled)
	g.most, g.least = g.most/queries, g.least/queries
}

// measure fills in goodput and ratios.
func (g *randomisedGroup) measure(p *randomisedPlan, seeds [][]randomisedPair) {
	over := func(from, to int, of func(without, with, runs float64) float64) stat.Interval {
		return stat.Bootstrap(seeds, 1, func(all []randomisedPair) float64 {
			without, with := 0.0, 0.0
			for _, x := range all {
				for i := from; i < to; i++ {
					without, with = without+x.without.Took[i].Seconds(), with+x.with.Took[i].Seconds()
				}
			}
			return of(without, with, float64(len(all)))
		})
	}
	ratio := func(without, with, _ float64) float64 { return without / with }
	bits := 8e-6 * float64(p.Bytes*g.servers*(p.Queries-p.Unsettled)) // of a seed, in Mbit
	g.without = over(p.Unsettled, p.Queries, func(without, _, runs float64) float64 { return bits * runs / without })
	g.with = over(p.Unsettled, p.Queries, func(_, with, runs float64) float64 { return bits * runs / with })
	g.ratio, g.fresh = over(p.Unsettled, p.Queries, ratio), over(0, 1, ratio)
}

// among counts the settings where something holds. It is open where the interval of the ratio
// reaches over the border: other seeds may decide otherwise there.
type among struct{ hold, open, of int }

func (a *among) add(holds bool, in stat.Interval, border float64) {
	a.of++
	if holds {
		a.hold++
	}
	if in.Lo < border && border < in.Hi {
		a.open++
	}
}

// String is as "6 of 8 settings, 1 of them open".
func (a among) String() string {
	text := fmt.Sprintf("%d of %d settings", a.hold, a.of)
	if a.open > 0 {
		text += fmt.Sprintf("; %d are open, as the interval reaches over the border", a.open)
	}
	return text
}

// band expects all settings; in some it differs.
func (a among) band(format string, args ...any) experiments.Band {
	return experiments.Whether(a.hold == a.of, format, args...).OrDiffersIf(a.hold > 0, "some of them")
}

func randomisedJudge(p *randomisedPlan, cells []randomisedCell) (*experiments.Outcome, error) {
	plain := experiments.Select(cells, func(c *randomisedCell) bool { return c.Service == 0 })
	all := randomisedGroups(p, plain)
	spread := randomisedGroups(p, experiments.Select(cells, func(c *randomisedCell) bool { return c.Service > 0 }))
	out := &experiments.Outcome{Tables: p.tables(all), Notes: []string{fmt.Sprintf(
		"Both sides are right in part. A random part of up to %v of the timeout helps where it spreads the servers farther than they are spread already, and where more than one "+
			"timeout in a row is needed. It avoids the later ones, which backoff makes the longest, so it helps more with more servers. Timeouts are alike where a "+
			"floor sets them, where connections are new, and with a port that is short compared with the timeout. With a long port, senders have measured round trips of all lengths: "+
			"their timeouts differ by more than the random part, which only makes them longer. It also only makes them longer where a single timeout is enough.", p.Jitter)}}
	p.figures(out, all)
	p.claims(out, all)
	p.spreadClaim(out, all, spread)
	return out, nil
}

func (p *randomisedPlan) tables(all []randomisedGroup) []experiments.Table {
	goodput := experiments.Table{
		Name: "goodput", Title: fmt.Sprintf("Goodput without a random part of the timeout, and with one of up to %v times it", p.Jitter),
		Columns: []string{"Mbit/s", "floor, ms", "servers", "without, Mbit/s", "with, Mbit/s", "ratio", "95 %", "ratio, first query"},
	}
	why := experiments.Table{
		Name: "why", Title: "The spread of the servers' timeouts, and the most timeouts of a server in a query, without a random part and with one",
		Columns: []string{"Mbit/s", "floor, ms", "servers", "set by the floor, %", "90th percentile, relative to the 10th", "most without", "most with", "ratio of goodput", "the rule predicts"},
	}
	for _, g := range all {
		setting := []any{p.Rates[g.network] / 1e6, float64(g.floor) / 1e6, g.servers}
		goodput.Add(append(setting, g.without.Value, g.with.Value, g.ratio.Value, fmt.Sprintf("%.2f to %.2f", g.ratio.Lo, g.ratio.Hi), g.fresh.Value)...)
		predicts := "no help"
		if p.rule(&g) {
			predicts = "a help"
		}
		why.Add(append(setting, 100*g.ruled, g.spread, g.most, g.least, g.ratio.Value, predicts)...)
	}
	return []experiments.Table{goodput, why}
}

// rule reports whether a random part should help: the timeouts are spread less than it would spread
// them, and servers have more than one.
func (p *randomisedPlan) rule(g *randomisedGroup) bool {
	return g.spread < 1+p.Jitter && g.most >= randomisedInARow
}

// randomisedInARow is the mean timeouts of the server with the most, above which more than one is
// needed.
const randomisedInARow = 1.5

// exception describes a setting that the rule does not predict.
func (p *randomisedPlan) exception(g *randomisedGroup) string {
	return fmt.Sprintf("%d servers at %d Mbit/s and a floor of %v, goodput times %s (%.2f to %.2f), the 90th percentile %s times the 10th, %s timeouts",
		g.servers, p.Rates[g.network]/1e6, g.floor, experiments.Number(g.ratio.Value), g.ratio.Lo, g.ratio.Hi, experiments.Number(g.spread), experiments.Number(g.most))
}

func (p *randomisedPlan) figures(out *experiments.Outcome, all []randomisedGroup) {
	for network, rate := range p.Rates {
		f := figure.Figure{
			Name: fmt.Sprintf("randomised-%d", network+1), Title: fmt.Sprintf("Randomised timeouts, %d Gbit/s, round trip %v", rate/1e9, p.RoundTrips[network]),
			X:       figure.Axis{Label: "servers", Log: true},
			Y:       figure.Axis{Label: "goodput, Mbit/s", Log: true},
			Marks:   []figure.Mark{{Label: "1000 servers", At: randomisedMany, Vertical: true}},
			Caption: "Solid lines are without a random part of the timeout, and dashed lines with it. They differ where the floor sets the timeout of most senders.",
		}
		for i, floor := range p.Floors {
			for _, jitter := range []bool{false, true} {
				s := figure.Series{Name: fmt.Sprintf("floor %v", floor), Kind: figure.Line, Group: i + 1, Dashed: jitter}
				if jitter {
					s.Name += ", randomised"
				}
				for _, g := range all {
					if g.network != network || g.floor != floor {
						continue
					}
					in := g.without
					if jitter {
						in = g.with
					}
					s.AddInterval(float64(g.servers), in)
				}
				f.Series = append(f.Series, s)
			}
		}
		out.Figures = append(out.Figures, f)
	}
}

func (p *randomisedPlan) claims(out *experiments.Outcome, all []randomisedGroup) {
	var helped, quiet, ruled among
	least, most := math.Inf(1), 0.0
	var exceptions []string
	for _, g := range all {
		helps := g.ratio.Value >= randomisedHelps
		quiet.add(g.ratio.Value <= randomisedNone, g.ratio, randomisedNone)
		ruled.add(p.rule(&g) == helps, g.ratio, randomisedHelps)
		if p.rule(&g) != helps {
			exceptions = append(exceptions, p.exception(&g))
		}
		if g.servers > randomisedMany {
			helped.add(helps, g.ratio, randomisedHelps)
			least, most = min(least, g.ratio.Value), max(most, g.ratio.Value)
		}
	}
	whose := fmt.Sprintf("the last claim predicts in %d of %d settings which of the two positions holds", ruled.hold, ruled.of)
	const basis = "ours: the summary gives no number"
	out.Claim(experiments.Claim{Name: "vasudevan", Class: experiments.OfOthers, Text: "above 1000 servers, randomised timeouts help", Published: "(RTO + rand(0.5)·RTO)·2^backoff helps",
		Source: "Vasudevan et al., SIGCOMM 2009, summary", Tag: experiments.FromPrint,
		Measured: experiments.MeasuredText("%s to %s, a help in %v", experiments.Number(least), experiments.Number(most), helped),
		Expected: helped.band("goodput times %v or more at each floor and in each network", randomisedHelps), Basis: basis, Otherwise: whose})
	out.Claim(experiments.Claim{Name: "chen", Class: experiments.OfOthers, Text: "randomised timeouts do not help", Published: "randomising does not help",
		Source: "Chen et al., WREN 2009, summary", Tag: experiments.FromPrint,
		Measured: experiments.MeasuredText("no help in %v", quiet),
		Expected: quiet.band("goodput times %v or less in all settings", randomisedNone), Basis: basis, Otherwise: whose})
	out.Claim(experiments.Claim{Name: "rule", Class: experiments.Law, Text: "they help just where servers need more than one timeout in a row, and the random part spreads their timeouts farther than they are spread already",
		Source: "found here, with ten seeds and floors up to 10 ms", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("so in %v", ruled),
		Expected: ruled.band("in all: goodput times %v or more just where the 90th percentile of timeouts is below %v times the 10th, and the server with the most has %v or more in a query",
			randomisedHelps, 1+p.Jitter, randomisedInARow),
		Basis:     "set for this project, after ten seeds",
		Otherwise: "the exceptions are: " + strings.Join(exceptions, "; ")})
}

// spreadClaim judges whether the spread of service times takes the gain away: it spreads the
// servers as a random part of the timeout would.
func (p *randomisedPlan) spreadClaim(out *experiments.Outcome, all, spread []randomisedGroup) {
	if len(spread) == 0 {
		return
	}
	t := experiments.Table{Name: "services", Title: fmt.Sprintf("Goodput with a random part, relative to without, by the spread of service times: %d servers", p.SpreadServers),
		Columns: []string{"Mbit/s", "floor, ms", fmt.Sprintf("%v", p.Service)}}
	for _, service := range p.Services {
		t.Columns = append(t.Columns, service.String(), "95 %")
	}
	gains, ended := 0, 0
	for _, g := range all {
		if g.servers != p.SpreadServers {
			continue
		}
		row := []any{p.Rates[g.network] / 1e6, float64(g.floor) / 1e6, g.ratio.Value}
		last := g.ratio
		for _, s := range spread {
			if s.network == g.network && s.floor == g.floor {
				row = append(row, s.ratio.Value, fmt.Sprintf("%.2f to %.2f", s.ratio.Lo, s.ratio.Hi))
				last = s.ratio
			}
		}
		t.Add(row...)
		if g.ratio.Value >= randomisedHelps {
			gains++
			if last.Value < randomisedHelps {
				ended++
			}
		}
	}
	out.Tables = append(out.Tables, t)
	longest := p.Services[len(p.Services)-1]
	out.Claim(experiments.Claim{Name: "spread", Class: experiments.Law, Text: fmt.Sprintf("where %d servers gain from a random part, service times spread over %v end the gain", p.SpreadServers, longest),
		Source: "the jitter of hosts spreads the servers already: it may be what reconciles the two papers", Tag: experiments.Computed,
		Measured:  experiments.MeasuredText("in %d of %d settings", ended, gains),
		Expected:  experiments.Whether(gains > 0 && ended == gains, "in all").OrDiffersIf(ended > 0, "some of them"),
		Otherwise: "the floor is longer than the spread: servers that time out still do so together"})
}
