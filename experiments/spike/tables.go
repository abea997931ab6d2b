package spike

import (
	"fmt"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
)

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

func retransmissions(s *Spike) float64 { return float64(s.Retransmissions) }

func tables(p *Plan, all []row) []experiments.Table {
	spurious := experiments.Table{
		Name: "vain", Title: "Spurious retransmissions in a spike, in segments, without a response, and the wait of a lost segment; means over seeds",
		Columns: []string{"timers", "wait, ms"},
	}
	for _, peak := range p.Peaks {
		spurious.Columns = append(spurious.Columns, "peak "+peak.String())
	}
	for i := range all {
		r := &all[i]
		line := []any{r.name, r.wait.Value}
		for _, peak := range p.Peaks {
			line = append(line, r.mean(peak, none, retransmissions).Value)
		}
		spurious.Add(line...)
	}
	rescued := experiments.Table{
		Name: "responses", Title: "Effect of responses on the spikes that cause a timeout without one",
		Columns: []string{"response", "spikes", "window back, %", "window after, % of before", "with one timeout", "of them back, %", "spurious retransmissions, segments"},
	}
	for _, response := range responses {
		r := rescues(p, all, response)
		n, single := float64(r.n), float64(max(r.single, 1))
		rescued.Add(response, r.n, 100*float64(r.back)/n, 100*r.window/n, r.single, 100*float64(r.singleBack)/single, float64(r.retransmissions)/n)
	}
	return []experiments.Table{spurious, rescued, details(p, all)}
}

func details(p *Plan, all []row) experiments.Table {
	t := experiments.Table{
		Name: "spikes", Title: "All timers, spikes and responses; means over seeds", Data: true,
		Columns: []string{"timers", "peak, ms", "response", "retransmissions", "timeouts", "undone", "window after/before", "bytes while watched"},
	}
	for i := range all {
		r := &all[i]
		for _, peak := range append([]time.Duration{p.RTT}, p.Peaks...) {
			for _, response := range responses {
				n := 0
				r.each(peak, response, func(*Spike) { n++ })
				if n == 0 {
					continue
				}
				mean := func(of func(s *Spike) float64) float64 { return r.mean(peak, response, of).Value }
				var undone, window any = "", ""
				if r.family != ofStack {
					undone = mean(func(s *Spike) float64 { return float64(s.Undone) })
					window = mean(func(s *Spike) float64 { return float64(s.After) / float64(s.Before) })
				}
				t.Add(r.name, ms(peak), response, mean(retransmissions), mean(func(s *Spike) float64 { return float64(s.Timeouts) }), undone, window,
					mean(func(s *Spike) float64 { return float64(s.Bytes) }))
			}
		}
	}
	return t
}

func figures(p *Plan, all []row) []figure.Figure {
	window := figure.Figure{
		Name: "window", Title: "The window a round trip after the spike, relative to before", X: figure.Axis{Label: "response", Ticks: responses},
		Y:       figure.Axis{Label: "window after the spike, %", Lo: 0, Hi: 105},
		Caption: "Spikes that cause a timeout without a response. Timestamps reveal it at the first ACK, F-RTO not if the timer expires twice, DSACKs a round trip late.",
	}
	bars := figure.Series{Name: "mean", Kind: figure.Bars}
	for i, response := range responses {
		if r := rescues(p, all, response); r.n > 0 {
			bars.Add(float64(i), 100*r.window/float64(r.n))
		}
	}
	window.Series = []figure.Series{bars}
	return []figure.Figure{tradeOff(p, all), byHeight(p, all), window}
}

// tradeOff draws spurious retransmissions against waiting.
func tradeOff(p *Plan, all []row) figure.Figure {
	fig := figure.Figure{
		Name: "pareto", Title: fmt.Sprintf("Gain and cost of coarse timers in a spike to %v", p.greatest()),
		X: figure.Axis{Label: "wait of a lost segment, ms", Log: true}, Y: figure.Axis{Label: "spurious retransmissions in a spike, segments"},
		Caption: "Granularity and floors move along one curve: fewer spurious retransmissions, more waiting. Responses to spurious timeouts leave it, downwards, without waiting.",
	}
	ticks := figure.Series{Name: "granularity G, no response", Kind: figure.Points, Group: 1, Marker: 1}
	floors := figure.Series{Name: "floor, no response", Kind: figure.Points, Group: 2, Marker: 2}
	bare := figure.Series{Name: "whole policies, no response", Kind: figure.Points, Group: 4, Marker: 4}
	rescued := figure.Series{Name: "whole policies, all three responses", Kind: figure.Points, Group: 3, Marker: 3}
	stack := figure.Series{Name: "gVisor, no response and all", Kind: figure.Points, Group: 5, Marker: 5}
	for i := range all {
		r := &all[i]
		s, with := map[family]*figure.Series{ofTick: &ticks, ofFloor: &floors, ofPolicy: &bare, ofStack: &stack}[r.family], (*figure.Series)(nil)
		switch r.family {
		case ofStack:
			with = &stack
		case ofPolicy:
			with = &rescued
		}
		if with != nil {
			with.AddInterval(r.wait.Value, r.mean(p.greatest(), every, retransmissions))
		}
		s.AddInterval(r.wait.Value, r.spurious)
	}
	fig.Series = []figure.Series{ticks, floors, bare, rescued}
	if len(stack.X) > 0 {
		fig.Series = append(fig.Series, stack)
	}
	return fig
}

// byHeight maps spurious retransmissions by granularity and peak.
func byHeight(p *Plan, all []row) figure.Figure {
	grid := &figure.Map{}
	for _, peak := range p.Peaks {
		grid.Columns = append(grid.Columns, experiments.Number(ms(peak)))
	}
	for i := range all {
		r := &all[i]
		if r.family != ofTick {
			continue
		}
		var values []float64
		var text []string
		for _, peak := range p.Peaks {
			v := r.mean(peak, none, retransmissions).Value
			values, text = append(values, v), append(text, fmt.Sprintf("%.0f", v))
		}
		grid.Rows, grid.Value, grid.Text = append(grid.Rows, experiments.Number(ms(r.size))), append(grid.Value, values), append(grid.Text, text)
	}
	return figure.Figure{
		Name: "hidden", Title: "Spurious retransmissions in segments, by the height of the spike and the granularity of the timers",
		X: figure.Axis{Label: fmt.Sprintf("round trip in the spike, ms; %v before", p.RTT)}, Y: figure.Axis{Label: "granularity G, ms"}, Map: grid,
		Caption: "A rise below G causes no timeout: there are no retransmissions above the diagonal.",
	}
}
