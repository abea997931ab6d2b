package wheels

import (
	"fmt"
	"math"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/wheel/stat"
)

const locksPaper = "Varghese & Lauck, Appendix B"

// The bands of the schedules with the most processors, in processors' worth of work: the most with
// Scheme 2 under one lock, and the least with Schemes 6 and 7, as a share of all processors.
const (
	locksWantOne = 1.5
	locksWantAll = 0.75
)

func locksJudge(p *locksPlan, cells []locksCell) (*experiments.Outcome, error) {
	out := &experiments.Outcome{}
	locksShowHolds(p, cells, out)
	locksHoldClaims(cells, out)
	locksShowSpeedups(p, cells, out)
	locksSpeedupClaims(p, cells, out)
	locksShowRecords(out)
	return out, nil
}

func locksShowHolds(p *locksPlan, cells []locksCell, out *experiments.Outcome) {
	table := experiments.Table{
		Name: "holds", Title: "Steps under the lock with n timers running: START of the latest, STOP, a tick on which one expires",
		Columns: []string{"scheme", "timers", "START", "STOP", "tick"},
	}
	held := figure.Figure{
		Name: "holds", Title: "How long START holds the lock",
		X: figure.Axis{Label: "timers running", Log: true}, Y: figure.Axis{Label: "steps under the lock", Log: true},
		Caption: "Scheme 2 locks all other processors out while it searches, one step for each timer.",
	}
	for i, scheme := range p.Schemes {
		s := figure.Series{Name: scheme, Kind: figure.Line, Group: i + 1}
		for _, c := range cells {
			if c.Scheme != scheme || c.Seed != 0 {
				continue
			}
			for _, h := range c.Holds {
				table.Add(scheme, h.N, h.Start, h.Stop, h.Tick)
				if h.N > 0 {
					s.Add(float64(h.N), float64(h.Start))
				}
			}
		}
		if len(s.X) > 0 {
			held.Series = append(held.Series, s)
		}
	}
	out.Tables, out.Figures = append(out.Tables, table), append(out.Figures, held)
}

func locksHoldClaims(cells []locksCell, out *experiments.Outcome) {
	linear, constant := true, true
	var two, others string
	for _, c := range cells {
		for _, h := range c.Holds {
			switch c.Scheme {
			case "scheme2":
				linear = linear && h.Start == uint64(h.N)+1 && h.Stop == 1
				two = fmt.Sprintf("%d steps with %d timers", h.Start, h.N)
			case "scheme6", "scheme7":
				constant = constant && h.Start == 1 && h.Stop == 1
				others = fmt.Sprintf("%d step with %d timers", h.Start, h.N)
			}
		}
	}
	if two != "" {
		out.Claim(experiments.Claim{Name: "scheme2-hold", Class: experiments.Law, Text: "Scheme 2 holds the lock during its whole search", Published: "others wait until it is released", Source: locksPaper, Tag: experiments.FromSource,
			Measured: experiments.MeasuredText("%s", two), Expected: experiments.Whether(linear, "n+1 steps, exactly"), Otherwise: "the list is not searched"})
	}
	if others != "" {
		out.Claim(experiments.Claim{Name: "constant-hold", Class: experiments.Law, Text: "Schemes 6 and 7 hold it for one step at any n", Source: "count of steps, after " + locksPaper, Tag: experiments.Computed,
			Measured: experiments.MeasuredText("%s", others), Expected: experiments.Whether(constant, "one step for START and STOP, exactly"), Otherwise: "START searches"})
	}
}

// locksSpeedup returns the work of n processors under one lock, and under a lock each, relative to
// one processor under the same seed, and the longest hold under one lock.
func locksSpeedup(cells []locksCell, scheme string, n int) (one, each stat.Interval, longest uint64) {
	var ones, eaches []float64
	for _, c := range cells {
		if c.Scheme != scheme || c.Seed == 0 {
			continue
		}
		alone := c.Schedules[0].Rate
		for _, of := range c.Schedules {
			if of.Processors != n {
				continue
			}
			if of.Shards == 1 {
				ones, longest = append(ones, of.Rate/alone), max(longest, of.Longest)
			}
			if of.Shards == n { // fewer timers in each shard make a search shorter, as on a machine
				eaches = append(eaches, of.Rate/alone)
			}
		}
	}
	return stat.BootstrapMean(ones, 1), stat.BootstrapMean(eaches, 1), longest
}

func locksShowSpeedups(p *locksPlan, cells []locksCell, out *experiments.Outcome) {
	table := experiments.Table{
		Name: "speedup", Title: fmt.Sprintf("Work done, in processors' worth, with %d timers running", p.Running),
		Columns: []string{"scheme", "processors", "one lock", "95 % from", "to", "a lock each", "each, 95 % from", "each, to", "longest hold, one lock"},
	}
	fig := figure.Figure{
		Name: "speedup", Title: "What contention leaves of several processors",
		X: figure.Axis{Label: "processors"}, Y: figure.Axis{Label: "processors' worth of work"},
		Caption: fmt.Sprintf("Each processor has %d steps of other work in the mean between two calls. Dashed: a lock per processor's shard, picked at random.", p.Work),
	}
	for i, scheme := range p.Schemes {
		one := figure.Series{Name: scheme + ", one lock", Kind: figure.Line, Group: i + 1}
		each := figure.Series{Name: scheme + ", a lock each", Kind: figure.Line, Group: i + 1, Dashed: true}
		for _, n := range p.Processors {
			a, b, longest := locksSpeedup(cells, scheme, n)
			table.Add(scheme, n, a.Value, a.Lo, a.Hi, b.Value, b.Lo, b.Hi, longest)
			one.Add(float64(n), a.Value)
			each.Add(float64(n), b.Value)
		}
		fig.Series = append(fig.Series, one, each)
	}
	out.Tables, out.Figures = append(out.Tables, table), append(out.Figures, fig)
}

func locksSpeedupClaims(p *locksPlan, cells []locksCell, out *experiments.Outcome) {
	most := p.Processors[len(p.Processors)-1]
	least := stat.Interval{Value: math.Inf(1)}
	for _, scheme := range p.Schemes {
		one, each, _ := locksSpeedup(cells, scheme, most)
		switch scheme {
		case "scheme2":
			out.Claim(experiments.Claim{Name: "scheme2-speedup", Class: experiments.Law, Text: fmt.Sprintf("under one lock, %d processors with Scheme 2 do hardly more than one", most), Source: locksPaper, Tag: experiments.FromSource,
				Measured: experiments.MeasuredWithin(one, "processors"), Expected: experiments.Below(locksWantOne, ""), Basis: "set for this project", Otherwise: "searches are short compared with the other work"})
		case "scheme6", "scheme7":
			if each.Value < least.Value {
				least = each
			}
		}
	}
	if !math.IsInf(least.Value, 1) {
		out.Claim(experiments.Claim{Name: "sharded-speedup", Class: experiments.Law, Text: fmt.Sprintf("with a lock each, %d processors do nearly all of their work in Schemes 6 and 7", most), Source: "sharded wheels of this project; the paper speaks of locks for parts of one", Tag: experiments.Computed, Measured: experiments.MeasuredWithin(least, "processors"),
			Expected: experiments.Above(locksWantAll*float64(most), ""), Basis: "set for this project", Otherwise: "locks are held for longer than other work takes"})
	}
}
