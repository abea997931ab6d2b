package incast

import (
	"fmt"
	"math"
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/experiments/internal/stat"
)

const (
	randomisedMany  = 1000 // servers, above which randomising is said to help
	randomisedHelps = 1.1  // times the goodput: what is a help, for Vasudevan's position
	randomisedNone  = 1.05 // what is none, for Chen's
)

// randomisedPair is a seed without jitter and with it.
type randomisedPair struct{ without, with randomisedCell }

// randomisedGroup is all seeds of a network, a floor and a number of servers.
type randomisedGroup struct {
	network int
	floor   time.Duration
	servers int

	// Of settled connections, and of new ones: goodput in Mbit/s, and the ratio of that with jitter to that without.
	without, with stat.Interval
	ratio, fresh  stat.Interval

	ruled       float64 // share of servers whose timeout the floor has set, without jitter
	spread      float64 // the timeouts of servers without jitter: one in ten is above so many times that which one in ten is below
	most, least float64 // timeouts in a settled query of the server with the most, without jitter and with it; means
	again, less uint64  // segments that were sent again without jitter, and with it
}

// randomisedGroups are in the order of the cells, of which those of one seed stand beside each other.
func randomisedGroups(p *randomisedPlan, cells []randomisedCell) (all []randomisedGroup) {
	for len(cells) > 0 {
		n := 2 * p.Seeds
		of := cells[:n]
		cells = cells[n:]
		g := randomisedGroup{network: of[0].Network, floor: of[0].Floor, servers: of[0].Servers}
		seeds := make([][]randomisedPair, 0, p.Seeds)
		for i := 0; i < n; i += 2 {
			seeds = append(seeds, []randomisedPair{{of[i], of[i+1]}})
			g.ruled += of[i].Ruled / float64(p.Seeds)
			g.again, g.less = g.again+of[i].Rexmits, g.less+of[i+1].Rexmits
			g.spread += float64(of[i].High) / float64(of[i].Low) / float64(p.Seeds)
			for q := p.Unsettled; q < p.Queries; q++ {
				g.most, g.least = g.most+float64(of[i].Most[q]), g.least+float64(of[i+1].Most[q])
			}
		}
		queries := float64(p.Seeds * (p.Queries - p.Unsettled))
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
		bits := 8e-6 * float64(p.Octets*g.servers*(p.Queries-p.Unsettled)) // of a seed, in Mbit
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
	all := randomisedGroups(p, cells)
	out := &experiments.Outcome{}
	table := experiments.Table{
		Name: "goodput", Title: fmt.Sprintf("Goodput without a random part of the timeout, and with one up to %v of it", p.Jitter),
		Columns: []string{"Mbit/s", "floor, ms", "servers", "without, Mbit/s", "with, Mbit/s", "ratio", "95 %", "ratio, first query"},
	}
	why := experiments.Table{
		Name: "why", Title: "How much the servers' timeouts differ by themselves, and how many the server with the most has in a query, without a random part and with one",
		Columns: []string{"Mbit/s", "floor, ms", "servers", "set by the floor, %", "90th percentile, times the 10th", "most without", "most with", "ratio of goodput", "rule says"},
	}
	for _, g := range all {
		table.Add(p.Rates[g.network]/1e6, float64(g.floor)/1e6, g.servers, g.without.Value, g.with.Value, g.ratio.Value, fmt.Sprintf("%.2f to %.2f", g.ratio.Lo, g.ratio.Hi), g.fresh.Value)
		says := "no help"
		if p.rule(&g) {
			says = "a help"
		}
		why.Add(p.Rates[g.network]/1e6, float64(g.floor)/1e6, g.servers, 100*g.ruled, g.spread, g.most, g.least, g.ratio.Value, says)
	}
	resent := experiments.Table{
		Name: "resent", Title: "Segments sent again, of all seeds", Data: true, Columns: []string{"Mbit/s", "floor, ms", "servers", "without", "with"},
	}
	for _, g := range all {
		resent.Add(p.Rates[g.network]/1e6, float64(g.floor)/1e6, g.servers, int(g.again), int(g.less))
	}
	out.Tables = append(out.Tables, table, why, resent)
	p.figures(out, all)
	p.claims(out, all)
	out.Notes = append(out.Notes, fmt.Sprintf(
		"Both sides are right of a part. A random part of up to %v of the timeout helps where it sets the servers farther apart than they are by themselves, and where more than one "+
			"timeout in a row is needed: it takes away the later ones, which backoff makes the longest, so that it helps the more the more servers there are. Timeouts are alike where a "+
			"floor sets them, where connections are new, and behind a port that is short against the timeout. Behind a port that is long, senders have measured round trips of all lengths: "+
			"their timeouts differ by more than the random part, which only makes them longer. So it does where a single timeout is enough, whatever has set it.", p.Jitter))
	return out, nil
}

// rule reports whether a random part is to help: the timeouts differ by less than it would make them differ, and servers have more than one.
func (p *randomisedPlan) rule(g *randomisedGroup) bool {
	return g.spread < 1+p.Jitter && g.most >= randomisedInARow
}

// randomisedInARow is how many timeouts the server with the most has in a query, in the mean, where more than one is needed.
const randomisedInARow = 1.5

// exception tells of a setting that the rule does not tell.
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
			Caption: "Solid lines are without a random part of the timeout, and dashed ones with it. They part where the floor sets the timeout of most senders.",
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
					s.X, s.Y = append(s.X, float64(g.servers)), append(s.Y, in.Value)
					s.Lo, s.Hi = append(s.Lo, in.Lo), append(s.Hi, in.Hi)
				}
				f.Series = append(f.Series, s)
			}
		}
		out.Figures = append(out.Figures, f)
	}
}

// randomisedVerdict is Reproduced if all hold, and NotReproduced if none does.
func randomisedVerdict(hold, of int) experiments.Verdict {
	switch {
	case hold == of:
		return experiments.Reproduced
	case hold == 0:
		return experiments.NotReproduced
	}
	return experiments.Differs
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
	whose := fmt.Sprintf("the last claim tells in %d of %d settings which of the two holds", ruled, len(all))
	out.Claim(experiments.Claim{
		Name: "vasudevan", Text: "above 1000 servers, randomised timeouts help", Published: "(RTO + rand(0.5)·RTO)·2^backoff helps",
		Source: "Vasudevan et al., SIGCOMM 2009, summary", Tag: experiments.FromPrint,
		Measured:  experiments.MeasuredText("goodput times %s to %s; a help in %d of %d settings", experiments.Number(least), experiments.Number(most), helped, of),
		Expected:  experiments.Decided(randomisedVerdict(helped, of), "goodput times 1.1 or more at each floor and in each network"),
		Otherwise: whose,
	})
	out.Claim(experiments.Claim{
		Name: "chen", Text: "randomised timeouts do not help", Published: "randomising does not help",
		Source: "Chen et al., WREN 2009, summary", Tag: experiments.FromPrint,
		Measured:  experiments.MeasuredText("no help in %d of %d settings", quiet, len(all)),
		Expected:  experiments.Decided(randomisedVerdict(quiet, len(all)), "goodput times 1.05 or less in all settings"),
		Otherwise: whose,
	})
	out.Claim(experiments.Claim{
		Name: "rule", Text: "they help just where servers need more than one timeout in a row, and their timeouts differ by less than the random part makes them differ",
		Source: "found here, with ten seeds and floors up to 10 ms", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("so in %d of %d settings", ruled, len(all)),
		Expected: experiments.Decided(randomisedVerdict(ruled, len(all)), fmt.Sprintf("in all: goodput times %v or more just where the 90th percentile of timeouts is below %v times the 10th, and the server with the most has %v or more in a query",
			randomisedHelps, 1+p.Jitter, randomisedInARow)),
		Otherwise: "these are the others: " + strings.Join(exceptions, "; "),
	})
}
