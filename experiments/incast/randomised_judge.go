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

// randomisedGroup is all seeds of a network, a floor and a number of servers.
type randomisedGroup struct {
	service time.Duration // 0 is the plan's
	network int
	floor   time.Duration
	servers int

	// Goodput in Mbit/s of settled connections, without jitter and with it, and the ratio; fresh is
	// the ratio of new connections.
	without, with stat.Interval
	ratio, fresh  stat.Interval

	ruled  float64 // share of servers whose timeout the floor set, without jitter
	spread float64 // 90th / 10th percentile of the servers' timeouts without jitter
	// Mean timeouts in a settled query of the server with the most, without jitter and with it.
	most, least float64
	again, less uint64 // retransmissions without jitter, and with it
}

// randomisedGroups returns the groups in the order of the cells. The two cells of a seed are
// neighbours.
func randomisedGroups(p *randomisedPlan, cells []randomisedCell, runs int) (all []randomisedGroup) {
	for len(cells) > 0 {
		n := 2 * runs
		of := cells[:n]
		cells = cells[n:]
		g := randomisedGroup{service: of[0].Service, network: of[0].Network, floor: of[0].Floor, servers: of[0].Servers}
		seeds := make([][]randomisedPair, 0, runs)
		for i := 0; i < n; i += 2 {
			seeds = append(seeds, []randomisedPair{{of[i], of[i+1]}})
			g.ruled += of[i].Ruled / float64(runs)
			g.again, g.less = g.again+of[i].Retransmissions, g.less+of[i+1].Retransmissions
			g.spread += float64(of[i].High) / float64(of[i].Low) / float64(runs)
			for q := p.Unsettled; q < p.Queries; q++ {
				g.most, g.least = g.most+float64(of[i].Most[q]), g.least+float64(of[i+1].Most[q])
			}
		}
		queries := float64(runs * (p.Queries - p.Unsettled))
		g.most, g.least = g.most/queries, g.least/queries
		took := func(all []randomisedPair, from, to int) (without, with float64) {
			for _, x := range all {
				for i := from; i < to; i++ {
					without, with = without+x.without.Took[i].Seconds(), with+x.with.Took[i].Seconds()
				}
			}
			return without, with
		}
		settled := func(all []randomisedPair) (without, with float64) { return took(all, p.Unsettled, p.Queries) }
		bits := 8e-6 * float64(p.Bytes*g.servers*(p.Queries-p.Unsettled)) // of a seed, in Mbit
		g.without = stat.Bootstrap(seeds, 1, func(all []randomisedPair) float64 {
			without, _ := settled(all)
			return bits * float64(len(all)) / without
		})
		g.with = stat.Bootstrap(seeds, 1, func(all []randomisedPair) float64 {
			_, with := settled(all)
			return bits * float64(len(all)) / with
		})
		g.ratio = stat.Bootstrap(seeds, 1, func(all []randomisedPair) float64 {
			without, with := settled(all)
			return without / with
		})
		g.fresh = stat.Bootstrap(seeds, 1, func(all []randomisedPair) float64 {
			without, with := took(all, 0, 1)
			return without / with
		})
		all = append(all, g)
	}
	return all
}

func randomisedJudge(p *randomisedPlan, cells []randomisedCell) (*experiments.Outcome, error) {
	plain := experiments.Select(cells, func(c *randomisedCell) bool { return c.Service == 0 })
	all := randomisedGroups(p, plain, p.Seeds)
	spread := randomisedGroups(p, experiments.Select(cells, func(c *randomisedCell) bool { return c.Service > 0 }), p.SpreadSeeds)
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
	data := experiments.Table{
		Name: "resent", Title: "Retransmissions of all seeds", Data: true, Columns: []string{"Mbit/s", "floor, ms", "servers", "without", "with"},
	}
	for _, g := range all {
		setting := []any{p.Rates[g.network] / 1e6, float64(g.floor) / 1e6, g.servers}
		goodput.Add(append(setting, g.without.Value, g.with.Value, g.ratio.Value, fmt.Sprintf("%.2f to %.2f", g.ratio.Lo, g.ratio.Hi), g.fresh.Value)...)
		predicts := "no help"
		if p.rule(&g) {
			predicts = "a help"
		}
		why.Add(append(setting, 100*g.ruled, g.spread, g.most, g.least, g.ratio.Value, predicts)...)
		data.Add(append(setting, int(g.again), int(g.less))...)
	}
	return []experiments.Table{goodput, why, data}
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

// inAll expects a condition in all settings; in some it differs.
func inAll(hold, of int, format string, args ...any) experiments.Band {
	return experiments.Whether(hold == of, format, args...).OrDiffersIf(hold > 0, "some of them")
}

func (p *randomisedPlan) claims(out *experiments.Outcome, all []randomisedGroup) {
	helped, of := 0, 0
	least, most := math.Inf(1), 0.0
	quiet, ruled := 0, 0
	var exceptions []string
	for _, g := range all {
		if p.rule(&g) == (g.ratio.Value >= randomisedHelps) {
			ruled++
		} else {
			exceptions = append(exceptions, p.exception(&g))
		}
		if g.ratio.Value <= randomisedNone {
			quiet++
		}
		if g.servers <= randomisedMany {
			continue
		}
		of++
		if g.ratio.Value >= randomisedHelps {
			helped++
		}
		least, most = min(least, g.ratio.Value), max(most, g.ratio.Value)
	}
	whose := fmt.Sprintf("the last claim predicts in %d of %d settings which of the two positions holds", ruled, len(all))
	out.Claim(experiments.Claim{Name: "vasudevan", Class: experiments.OfOthers, Text: "above 1000 servers, randomised timeouts help", Published: "(RTO + rand(0.5)·RTO)·2^backoff helps",
		Source: "Vasudevan et al., SIGCOMM 2009, summary", Tag: experiments.FromPrint,
		Measured: experiments.MeasuredText("goodput times %s to %s; a help in %d of %d settings", experiments.Number(least), experiments.Number(most), helped, of),
		Expected: inAll(helped, of, "goodput times %v or more at each floor and in each network", randomisedHelps), Basis: "ours: the summary gives no number", Otherwise: whose})
	out.Claim(experiments.Claim{Name: "chen", Class: experiments.OfOthers, Text: "randomised timeouts do not help", Published: "randomising does not help",
		Source: "Chen et al., WREN 2009, summary", Tag: experiments.FromPrint,
		Measured: experiments.MeasuredText("no help in %d of %d settings", quiet, len(all)),
		Expected: inAll(quiet, len(all), "goodput times %v or less in all settings", randomisedNone), Basis: "ours: the summary gives no number", Otherwise: whose})
	out.Claim(experiments.Claim{Name: "rule", Class: experiments.Law, Text: "they help just where servers need more than one timeout in a row, and the random part spreads their timeouts farther than they are spread already",
		Source: "found here, with ten seeds and floors up to 10 ms", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("so in %d of %d settings", ruled, len(all)),
		Expected: inAll(ruled, len(all), "in all: goodput times %v or more just where the 90th percentile of timeouts is below %v times the 10th, and the server with the most has %v or more in a query",
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
