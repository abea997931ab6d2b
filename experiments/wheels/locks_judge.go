package wheels

import (
	"fmt"
	"math"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/experiments/internal/stat"
)

const locksPaper = "Varghese & Lauck, Appendix B"

// The bands of the schedules, in processors' worth of work with the most processors: what Scheme 2 under one lock leaves
// at most, and Schemes 6 and 7 at least, as a share of all.
const (
	locksWantOne = 1.5
	locksWantAll = 0.75
)

func locksJudge(p *locksPlan, cells []locksCell) (*experiments.Outcome, error) {
	out := &experiments.Outcome{}
	holdsTable := experiments.Table{
		Name: "holds", Title: "Steps under the lock beside n timers: START of the latest, STOP, a tick on which one expires",
		Columns: []string{"scheme", "timers", "START", "STOP", "tick"},
	}
	held := figure.Figure{
		Name: "holds", Title: "For how long START holds the lock",
		X: figure.Axis{Label: "timers running", Log: true}, Y: figure.Axis{Label: "steps under the lock", Log: true},
		Caption: "Scheme 2 locks all others out for its search, whose length is the number of timers.",
	}
	work := experiments.Table{
		Name: "speedup", Title: fmt.Sprintf("How many processors' worth of work is done, %d timers running", p.Running),
		Columns: []string{"scheme", "processors", "one lock", "95 % from", "to", "a lock each", "each, 95 % from", "each, to", "longest hold, one lock"},
	}
	speed := figure.Figure{
		Name: "speedup", Title: "What contention leaves of several processors",
		X: figure.Axis{Label: "processors"}, Y: figure.Axis{Label: "processors' worth of work"},
		Caption: fmt.Sprintf("Each processor has %d steps of other work in the mean between two calls. Dashed: a lock per processor's shard, picked at random.", p.Work),
	}
	most := p.Processors[len(p.Processors)-1]
	linear, constant := true, true
	var measured [2]string
	shares := map[string]stat.Interval{} // with the most processors: of one lock, and of many
	for i, scheme := range p.Schemes {
		s := figure.Series{Name: scheme, Kind: figure.Line, Group: i + 1}
		for _, c := range cells {
			if c.Scheme != scheme || c.Seed != 0 {
				continue
			}
			for _, h := range c.Holds {
				holdsTable.Add(scheme, h.N, h.Start, h.Stop, h.Tick)
				if h.N > 0 {
					s.X, s.Y = append(s.X, float64(h.N)), append(s.Y, float64(h.Start))
				}
				switch scheme {
				case "scheme2":
					linear = linear && h.Start == uint64(h.N)+1 && h.Stop == 1
					measured[0] = fmt.Sprintf("%d steps beside %d timers", h.Start, h.N)
				case "scheme6", "scheme7":
					constant = constant && h.Start == 1 && h.Stop == 1
					measured[1] = fmt.Sprintf("%d step beside %d timers", h.Start, h.N)
				}
			}
		}
		if len(s.X) > 0 {
			held.Series = append(held.Series, s)
		}
		one := figure.Series{Name: scheme + ", one lock", Kind: figure.Line, Group: i + 1}
		each := figure.Series{Name: scheme + ", a lock each", Kind: figure.Line, Group: i + 1, Dashed: true}
		for _, n := range p.Processors {
			// Relative to one processor under the same seed.
			var speedups [2][]float64
			longest := uint64(0)
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
						speedups[0] = append(speedups[0], of.Rate/alone)
						longest = max(longest, of.Longest)
					}
					// Fewer timers in each shard make a search shorter; that counts too, as it does on a machine.
					if of.Shards == n {
						speedups[1] = append(speedups[1], of.Rate/alone)
					}
				}
			}
			a, b := stat.BootstrapMean(speedups[0], 1), stat.BootstrapMean(speedups[1], 1)
			work.Add(scheme, n, a.Value, a.Lo, a.Hi, b.Value, b.Lo, b.Hi, longest)
			one.X, one.Y = append(one.X, float64(n)), append(one.Y, a.Value)
			each.X, each.Y = append(each.X, float64(n)), append(each.Y, b.Value)
			if n == most {
				shares[scheme+" one"], shares[scheme+" each"] = a, b
			}
		}
		speed.Series = append(speed.Series, one, each)
	}
	out.Tables, out.Figures = append(out.Tables, holdsTable, work), append(out.Figures, held, speed)

	if measured[0] != "" {
		out.Claim(experiments.Claim{
			Name: "scheme2-hold", Text: "Scheme 2 holds the lock for the whole of its search", Published: "others wait until it is released", Source: locksPaper, Tag: experiments.FromSource,
			Measured: experiments.MeasuredText("%s", measured[0]), Expected: experiments.Whether(linear, "n+1 steps, exactly"),
			Otherwise: "the list is not searched",
		})
		of := shares["scheme2 one"]
		out.Claim(experiments.Claim{
			Name: "scheme2-speedup", Text: fmt.Sprintf("under one lock, %d processors with Scheme 2 do hardly more than one", most), Source: locksPaper, Tag: experiments.FromSource,
			Measured: experiments.MeasuredWithin(of, "processors"), Expected: experiments.Whether(of.Value < locksWantOne, "below %v", locksWantOne),
			Otherwise: "searches are short beside the other work",
		})
	}
	if measured[1] != "" {
		out.Claim(experiments.Claim{
			Name: "constant-hold", Text: "Schemes 6 and 7 hold it for a step, whatever n", Published: "5 to 7 suited for multiprocessors", Source: locksPaper, Tag: experiments.FromSource,
			Measured: experiments.MeasuredText("%s", measured[1]), Expected: experiments.Whether(constant, "one step for START and STOP, exactly"),
			Otherwise: "START searches",
		})
	}
	least, name := stat.Interval{Value: math.Inf(1)}, ""
	for _, scheme := range p.Schemes {
		if of, ok := shares[scheme+" each"]; ok && (scheme == "scheme6" || scheme == "scheme7") && of.Value < least.Value {
			least, name = of, scheme
		}
	}
	if name != "" {
		out.Claim(experiments.Claim{
			Name: "sharded-speedup", Text: fmt.Sprintf("with locks of their own, %d processors do nearly all of their work in Schemes 6 and 7", most), Published: "5 to 7 suited for multiprocessors",
			Source: locksPaper, Tag: experiments.FromSource, Measured: experiments.MeasuredWithin(least, "processors"),
			Expected:  experiments.Whether(least.Value > locksWantAll*float64(most), "above %v", locksWantAll*float64(most)),
			Otherwise: "locks are held for longer than other work takes",
		})
	}
	return out, nil
}
