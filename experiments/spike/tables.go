package spike

import (
	"fmt"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
)

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

func again(s *Spike) float64 { return float64(s.Again) }

func tables(p *Plan, all []row) []experiments.Table {
	vain := experiments.Table{
		Name: "vain", Title: "Segments sent again in vain in a spike, without a response, and the wait for what is lost; means over seeds",
		Columns: []string{"timers", "wait, ms"},
	}
	for _, peak := range p.Peaks {
		vain.Columns = append(vain.Columns, fmt.Sprintf("%v", peak))
	}
	for i := range all {
		r := &all[i]
		line := []any{r.name, r.wait.Value}
		for _, peak := range p.Peaks {
			line = append(line, r.mean(peak, none, again).Value)
		}
		vain.Add(line...)
	}
	saved := experiments.Table{
		Name: "responses", Title: "Spikes in which timers had a timeout without a response: what responses make of them",
		Columns: []string{"response", "spikes", "window back, %", "window after, %", "with one timeout", "of them back, %", "again in vain, segments"},
	}
	for _, response := range responses {
		r := rescues(p, all, response)
		n, single := float64(r.n), float64(max(r.single, 1))
		saved.Add(response, r.n, 100*float64(r.back)/n, 100*r.window/n, r.single, 100*float64(r.singleBack)/single, float64(r.again)/n)
	}
	detail := experiments.Table{
		Name: "spikes", Title: "All timers, spikes and responses; means over seeds", Data: true,
		Columns: []string{"timers", "peak, ms", "response", "again", "timeouts", "undone", "window after/before", "octets while watched"},
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
				detail.Add(r.name, ms(peak), response, mean(again), mean(func(s *Spike) float64 { return float64(s.Timeouts) }), undone, window,
					mean(func(s *Spike) float64 { return float64(s.Octets) }))
			}
		}
	}
	return []experiments.Table{vain, saved, detail}
}

func figures(p *Plan, all []row) []figure.Figure {
	peak := p.Peaks[len(p.Peaks)-1]
	front := figure.Figure{
		Name: "pareto", Title: fmt.Sprintf("What coarse timers save in a spike to %v, and what they cost", peak),
		X: figure.Axis{Label: "wait for a segment that is lost, ms", Log: true}, Y: figure.Axis{Label: "segments sent again in vain in a spike"},
		Caption: "Granularity and floors move along one curve: less in vain, more waiting. Responses to spurious timeouts leave it, down to the ground, without waiting.",
	}
	grid := &figure.Map{}
	for _, peak := range p.Peaks {
		grid.Columns = append(grid.Columns, experiments.Number(ms(peak)))
	}
	series := map[family]*figure.Series{
		ofTick:  {Name: "granularity G, no response", Kind: figure.Points, Group: 1, Marker: 1},
		ofFloor: {Name: "floor, no response", Kind: figure.Points, Group: 2, Marker: 2},
	}
	saved := figure.Series{Name: "whole policies, all three responses", Kind: figure.Points, Group: 3, Marker: 3}
	stack := figure.Series{Name: "gVisor, no response and all", Kind: figure.Points, Group: 5, Marker: 5}
	bare := figure.Series{Name: "whole policies, no response", Kind: figure.Points, Group: 4, Marker: 4}
	for i := range all {
		r := &all[i]
		if r.family == ofTick {
			var values []float64
			var text []string
			for _, peak := range p.Peaks {
				v := r.mean(peak, none, again).Value
				values, text = append(values, v), append(text, fmt.Sprintf("%.0f", v))
			}
			grid.Rows, grid.Value, grid.Text = append(grid.Rows, experiments.Number(ms(r.size))), append(grid.Value, values), append(grid.Text, text)
		}
		s := series[r.family]
		if r.family == ofStack {
			v := r.mean(peak, every, again)
			stack.X, stack.Y, stack.Lo, stack.Hi = append(stack.X, r.wait.Value), append(stack.Y, v.Value), append(stack.Lo, v.Lo), append(stack.Hi, v.Hi)
			s = &stack
		}
		if s == nil {
			s = &bare
			v := r.mean(peak, every, again)
			saved.X, saved.Y, saved.Lo, saved.Hi = append(saved.X, r.wait.Value), append(saved.Y, v.Value), append(saved.Lo, v.Lo), append(saved.Hi, v.Hi)
		}
		s.X, s.Y, s.Lo, s.Hi = append(s.X, r.wait.Value), append(s.Y, r.vain.Value), append(s.Lo, r.vain.Lo), append(s.Hi, r.vain.Hi)
	}
	front.Series = []figure.Series{*series[ofTick], *series[ofFloor], bare, saved}
	if len(stack.X) > 0 {
		front.Series = append(front.Series, stack)
	}
	sleep := figure.Figure{
		Name: "hidden", Title: "Segments sent again in vain, by the height of the spike and the granularity of the timers",
		X: figure.Axis{Label: fmt.Sprintf("round trip in the spike, ms; %v before", p.RTT)}, Y: figure.Axis{Label: "granularity G, ms"}, Map: grid,
		Caption: "A rise below G is slept through: nothing is sent again above the diagonal.",
	}
	window := figure.Figure{
		Name: "window", Title: "The window a round trip after the spike, as a share of what it was", X: figure.Axis{Label: "response", Ticks: responses},
		Y:       figure.Axis{Label: "window after the spike, %", Lo: 0, Hi: 105},
		Caption: "Of the spikes in which timers without a response had a timeout. Timestamps tell at the first ACK; F-RTO not if the timer expires twice; DSACKs a round trip late.",
	}
	bars := figure.Series{Name: "mean", Kind: figure.Bars}
	for i, response := range responses {
		if r := rescues(p, all, response); r.n > 0 {
			bars.X, bars.Y = append(bars.X, float64(i)), append(bars.Y, 100*r.window/float64(r.n))
		}
	}
	window.Series = []figure.Series{bars}
	return []figure.Figure{front, sleep, window}
}
