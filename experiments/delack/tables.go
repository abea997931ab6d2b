package delack

import (
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/wheel/stat"
)

func tables(p *Plan, cells []Cell) []experiments.Table {
	all := []experiments.Table{delayTable(p, cells), waitTable(p, cells), gridTable(p, cells), policyTable(p, cells)}
	if len(p.OddBursts) > 0 {
		all = append(all, oddTable(p, cells))
	}
	return all
}

// peers returns the delays of all receivers; 0 is the heartbeat.
func (p *Plan) peers() []time.Duration { return append([]time.Duration{0}, p.Delays...) }

func delayTable(p *Plan, cells []Cell) experiments.Table {
	t := experiments.Table{
		Name: "delays", Title: "Delay of the last ACK of a burst; means over seeds",
		Columns: []string{"receiver", "segments", "bursts", "least, ms", "mean, ms", "p99, ms", "greatest, ms"},
	}
	for _, delay := range p.peers() {
		for _, burst := range p.Bursts {
			of := experiments.Select(cells, func(c *Cell) bool { return c.Kind == kindArrivals && c.Delay == delay && c.Burst == burst })
			values := func(of []Cell, f func(*Cell) float64) []float64 { return experiments.Values(of, f) }
			t.Add(peerName(p, delay), burst, len(of)*p.Arrivals, stat.Quantile(values(of, func(c *Cell) float64 { return c.Least }), 0), stat.Mean(values(of, func(c *Cell) float64 { return c.Mean })),
				stat.Mean(values(of, func(c *Cell) float64 { return c.P99 })), stat.Quantile(values(of, func(c *Cell) float64 { return c.Greatest }), 1))
		}
	}
	return t
}

func waitTable(p *Plan, cells []Cell) experiments.Table {
	t := experiments.Table{
		Name: "waiting", Title: "A sender that waits for each ACK", Columns: []string{"receiver", "round trip, ms", "period, ms", "rule, ms", "segments/s"},
	}
	for _, delay := range p.peers() {
		for _, c := range of(cells, kindWait) {
			if c.Delay == delay && c.Seed == 1 {
				t.Add(peerName(p, delay), ms(c.RTT), ms(c.Period), ms(lawPeriod(p, &c)), 1/c.Period.Seconds())
			}
		}
	}
	return t
}

// share returns the percentage of spurious retransmissions among points.
func share(points []Point) float64 {
	spurious, all := 0, 0
	for _, x := range points {
		spurious, all = spurious+x.Spurious, all+x.Tails
	}
	return 100 * float64(spurious) / float64(all)
}

// points returns the points of cells that keep accepts.
func points(cells []Cell, keep func(c *Cell, x *Point) bool) (all []Point) {
	for i := range cells {
		c := &cells[i]
		all = append(all, experiments.Select(c.Grid, func(x *Point) bool { return keep(c, x) })...)
	}
	return all
}

func gridTable(p *Plan, cells []Cell) experiments.Table {
	t := experiments.Table{
		Name: "vain", Title: "Tails with a spurious retransmission, over all floors and delays of the grid, in percent",
		Columns: []string{"floor", "segments of the tail", "one timer, %", "timer per segment, %"},
	}
	for _, second := range []bool{false, true} {
		for _, tail := range p.GridTails {
			row := []any{floorName(second), tail}
			for _, each := range []bool{false, true} {
				row = append(row, share(points(of(cells, kindGrid), func(c *Cell, x *Point) bool {
					return c.Second == second && c.Burst == tail && c.Delay > 0 && x.Each == each
				})))
			}
			t.Add(row...)
		}
	}
	return t
}

func policyTable(p *Plan, cells []Cell) experiments.Table {
	t := experiments.Table{
		Name: "policies", Title: "Tails with a spurious retransmission under whole policies, with their probes, in percent",
		Columns: []string{"policy", "segments of the tail"},
	}
	for _, delay := range p.peers() {
		t.Columns = append(t.Columns, peerName(p, delay)+", %")
	}
	for _, policy := range p.Policies {
		for _, tail := range p.GridTails {
			row := []any{policy, tail}
			for _, delay := range p.peers() {
				row = append(row, share(points(of(cells, kindPolicy), func(c *Cell, _ *Point) bool {
					return c.Policy == policy && c.Burst == tail && c.Delay == delay
				})))
			}
			t.Add(row...)
		}
	}
	return t
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
		Caption: "With a heartbeat the rate is a step: 5 per second at every round trip below a beat. A timer of 40 ms gives five times as much on short paths, and never less.",
	}
	delays := figure.Figure{
		Name: "delays", Title: "Delays of ACKs", X: figure.Axis{Label: "delay of the ACK, ms"}, Y: figure.Axis{Label: "share of lone segments", Lo: 0, Hi: 1},
		Marks:   []figure.Mark{{Label: "mean of the heartbeat", At: ms(p.Heartbeat) / 2, Vertical: true}},
		Caption: "For random arrivals the heartbeat is an even distribution; a timer is a step.",
	}
	for i, delay := range p.peers() {
		s := figure.Series{Name: peerName(p, delay), Kind: figure.Points, Group: i + 1, Marker: 1}
		law := figure.Series{Name: "rule, " + peerName(p, delay), Kind: figure.Line, Dashed: true, Group: i + 1}
		if delay == 0 {
			law.Kind = figure.Steps
		}
		for rtt := slices.Min(p.WaitRTTs); rtt <= slices.Max(p.WaitRTTs); rtt += time.Millisecond {
			law.Add(ms(rtt), 1/lawPeriod(p, &Cell{Delay: delay, RTT: rtt}).Seconds())
		}
		cdf := figure.Series{Name: peerName(p, delay), Kind: figure.Steps, Group: i + 1}
		for _, c := range experiments.Select(cells, func(c *Cell) bool { return c.Delay == delay && c.Seed == 1 }) {
			if c.Kind == kindWait {
				s.Add(ms(c.RTT), 1/c.Period.Seconds())
			}
			if c.Kind == kindArrivals && c.Burst == p.Bursts[0] {
				for q, x := range c.Quantiles {
					cdf.Add(x, float64(q)/float64(len(c.Quantiles)-1))
				}
			}
		}
		rate.Series = append(rate.Series, s, law)
		delays.Series = append(delays.Series, cdf)
	}
	if len(p.OddBursts) > 0 {
		all = append(all, oddFigure(p, cells))
	}
	return append(all, rate, delays)
}

// mapFigure maps which lone segments have a spurious retransmission with a timer per segment.
func mapFigure(p *Plan, cells []Cell, second bool) figure.Figure {
	m := &figure.Map{Value: make([][]float64, len(p.Floors)), Text: make([][]string, len(p.Floors))}
	for _, floor := range p.Floors {
		m.Rows = append(m.Rows, experiments.Number(ms(floor)))
	}
	for _, delay := range append(append([]time.Duration{}, p.GridDelays...), 0) {
		name := "beat"
		if delay > 0 {
			name = experiments.Number(ms(delay))
		}
		m.Columns = append(m.Columns, name)
		for row, floor := range p.Floors {
			percent := share(points(of(cells, kindGrid), func(c *Cell, x *Point) bool {
				return c.Delay == delay && c.Second == second && c.Burst == p.GridTails[0] && x.Floor == floor && x.Each
			}))
			m.Value[row] = append(m.Value[row], percent)
			m.Text[row] = append(m.Text[row], fmt.Sprintf("%.0f", percent))
		}
	}
	name := "vain-variation"
	if second {
		name = "vain-timeout"
	}
	return figure.Figure{
		Name: name, Title: "Lone segments with a spurious retransmission, in percent; floor " + floorName(second),
		X: figure.Axis{Label: fmt.Sprintf("the peer's delay of ACKs, ms; the beat is of %v ms", ms(p.Heartbeat))}, Y: figure.Axis{Label: "floor " + floorName(second) + ", ms"}, Map: m,
		Caption: fmt.Sprintf("All or none, by RTO < RTT + delay at a round trip of %v. With the heartbeat, the phase decides.", p.GridRTT),
	}
}
