package delack

import (
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/experiments/internal/stat"
)

func tables(p *Plan, cells []Cell) []experiments.Table {
	peers := append([]time.Duration{0}, p.Delays...)
	put := experiments.Table{
		Name: "delays", Title: "How long the last ACK of a burst was put off; means over seeds",
		Columns: []string{"receiver", "segments", "bursts", "least, ms", "mean, ms", "p99, ms", "greatest, ms"},
	}
	for _, delay := range peers {
		for _, burst := range p.Bursts {
			var least, mean, p99, greatest []float64
			for _, c := range cells {
				if c.Kind == kindArrivals && c.Delay == delay && c.Burst == burst {
					least, mean, p99, greatest = append(least, c.Least), append(mean, c.Mean), append(p99, c.P99), append(greatest, c.Greatest)
				}
			}
			put.Add(peerName(p, delay), burst, len(mean)*p.Arrivals, stat.Quantile(least, 0), stat.Mean(mean), stat.Mean(p99), stat.Quantile(greatest, 1))
		}
	}
	lock := experiments.Table{
		Name: "waiting", Title: "A sender that waits for each ACK", Columns: []string{"receiver", "round trip, ms", "period, ms", "rule, ms", "segments/s"},
	}
	for _, delay := range peers {
		for i := range cells {
			if c := &cells[i]; c.Kind == kindWait && c.Delay == delay && c.Seed == 1 {
				lock.Add(peerName(p, delay), ms(c.RTT), ms(c.Period), ms(lawPeriod(p, c)), 1/c.Period.Seconds())
			}
		}
	}
	price := experiments.Table{
		Name: "vain", Title: "Tails sent again in vain, over all floors and delays of the grid, in percent",
		Columns: []string{"floor", "tail", "one timer, %", "timer per segment, %"},
	}
	for _, second := range []bool{false, true} {
		for _, tail := range p.GridTails {
			var vain, all [2]int
			for _, c := range cells {
				if c.Kind == kindGrid && c.Second == second && c.Burst == tail && c.Delay > 0 {
					for _, x := range c.Grid {
						i := 0
						if x.Each {
							i = 1
						}
						vain[i], all[i] = vain[i]+x.Spurious, all[i]+x.Tails
					}
				}
			}
			price.Add(floorName(second), tail, 100*float64(vain[0])/float64(all[0]), 100*float64(vain[1])/float64(all[1]))
		}
	}
	whole := experiments.Table{
		Name: "policies", Title: "Tails that whole policies, with their probes, send again in vain, in percent",
		Columns: []string{"policy", "tail"},
	}
	for _, delay := range peers {
		whole.Columns = append(whole.Columns, peerName(p, delay)+", %")
	}
	for _, policy := range p.Policies {
		for _, tail := range p.GridTails {
			row := []any{policy, tail}
			for _, delay := range peers {
				vain, all := 0, 0
				for _, c := range cells {
					if c.Kind == kindPolicy && c.Policy == policy && c.Burst == tail && c.Delay == delay {
						vain, all = vain+c.Grid[0].Spurious, all+c.Grid[0].Tails
					}
				}
				row = append(row, 100*float64(vain)/float64(all))
			}
			whole.Add(row...)
		}
	}
	return []experiments.Table{put, lock, price, whole}
}

func floorName(second bool) string {
	if second {
		return "on the timeout"
	}
	return "on the variation"
}

func figures(p *Plan, cells []Cell) (all []figure.Figure) {
	for _, second := range []bool{false, true} {
		all = append(all, mapFigure(p, cells, second))
	}
	rate := figure.Figure{
		Name: "lock", Title: "A sender that waits for each ACK locks to the receiver's heartbeat",
		X: figure.Axis{Label: "round trip, ms"}, Y: figure.Axis{Label: "segments per second", Log: true},
		Caption: "With a heartbeat the rate is a step: 5 a second for every round trip below a beat. A timer of 40 ms gives five times as much on short paths, and less on none.",
	}
	put := figure.Figure{
		Name: "delays", Title: "How long ACKs wait", X: figure.Axis{Label: "ACK put off by, ms"}, Y: figure.Axis{Label: "share of lone segments", Lo: 0, Hi: 1},
		Marks:   []figure.Mark{{Label: "mean of the heartbeat", At: ms(p.Heartbeat) / 2, Vertical: true}},
		Caption: "To random arrivals the heartbeat is an even distribution; a timer is a step.",
	}
	for i, delay := range append([]time.Duration{0}, p.Delays...) {
		s := figure.Series{Name: peerName(p, delay), Kind: figure.Points, Group: i + 1, Marker: 1}
		law := figure.Series{Name: "rule, " + peerName(p, delay), Kind: figure.Line, Dashed: true, Group: i + 1}
		if delay == 0 {
			law.Kind = figure.Steps
		}
		for rtt := slices.Min(p.WaitRTTs); rtt <= slices.Max(p.WaitRTTs); rtt += time.Millisecond {
			law.X = append(law.X, ms(rtt))
			law.Y = append(law.Y, 1/lawPeriod(p, &Cell{Delay: delay, RTT: rtt}).Seconds())
		}
		cdf := figure.Series{Name: peerName(p, delay), Kind: figure.Steps, Group: i + 1}
		for j := range cells {
			c := &cells[j]
			if c.Delay != delay || c.Seed != 1 {
				continue
			}
			if c.Kind == kindWait {
				s.X, s.Y = append(s.X, ms(c.RTT)), append(s.Y, 1/c.Period.Seconds())
			}
			if c.Kind == kindArrivals && c.Burst == p.Bursts[0] {
				for q, x := range c.Quantiles {
					cdf.X, cdf.Y = append(cdf.X, x), append(cdf.Y, float64(q)/float64(len(c.Quantiles)-1))
				}
			}
		}
		rate.Series = append(rate.Series, s, law)
		put.Series = append(put.Series, cdf)
	}
	return append(all, rate, put)
}

// mapFigure is which lone segments a timer per segment sends again in vain.
func mapFigure(p *Plan, cells []Cell, second bool) figure.Figure {
	m := &figure.Map{}
	for _, floor := range p.Floors {
		m.Rows = append(m.Rows, experiments.Number(ms(floor)))
	}
	m.Value, m.Text = make([][]float64, len(p.Floors)), make([][]string, len(p.Floors))
	for _, delay := range append(append([]time.Duration{}, p.GridDelays...), 0) {
		name := "beat"
		if delay > 0 {
			name = experiments.Number(ms(delay))
		}
		m.Columns = append(m.Columns, name)
		for row, floor := range p.Floors {
			vain, all := 0, 0
			for _, c := range cells {
				if c.Kind != kindGrid || c.Delay != delay || c.Second != second || c.Burst != p.GridTails[0] {
					continue
				}
				for _, x := range c.Grid {
					if x.Floor == floor && x.Each {
						vain, all = vain+x.Spurious, all+x.Tails
					}
				}
			}
			share := 100 * float64(vain) / float64(all)
			m.Value[row] = append(m.Value[row], share)
			m.Text[row] = append(m.Text[row], fmt.Sprintf("%.0f", share))
		}
	}
	name := "vain-variation"
	if second {
		name = "vain-timeout"
	}
	return figure.Figure{
		Name: name, Title: "Lone segments sent again in vain, in percent; floor " + floorName(second),
		X: figure.Axis{Label: fmt.Sprintf("the peer's delay of ACKs, ms; the beat is of %v ms", ms(p.Heartbeat))}, Y: figure.Axis{Label: "floor " + floorName(second) + ", ms"}, Map: m,
		Caption: fmt.Sprintf("All or none, by RTO < RTT + delay at a round trip of %v. Against the heartbeat it is a lottery that the phase decides.", p.GridRTT),
	}
}
