package incast

import (
	"fmt"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/wheel/stat"
)

// line is a curve over the numbers of servers.
type line struct{ name, timers string }

func (r *results) figures(out *experiments.Outcome) {
	for i, delack := range r.DelAcks {
		var lines []line
		for _, floor := range r.Floors {
			lines = append(lines, line{fmt.Sprintf("floor %v", floor), r.timers(floor, delack)})
		}
		how := "ACKs wait " + delack
		if delack == "off" {
			how = "no ACK waits"
		}
		r.panels(out, fmt.Sprintf("incast-%d", i+1), "Incast, "+how, lines,
			"Fig. 18 of the DCTCP paper has TCP with floors of 300 ms and 10 ms. Compare the distance of the curves past 20 servers.")
	}
	if len(r.Others) > 0 {
		lines := []line{{"2010, floor " + r.coarse().String(), r.timers(r.coarse(), r.DelAcks[0])}}
		for _, o := range r.Others {
			lines = append(lines, line{o.Text, o.Text})
		}
		for _, g := range r.gvisors() {
			lines = append(lines, line{g.String(), g.String()})
		}
		r.panels(out, "incast-stacks", "Incast today", lines, "RACK and TLP repair most losses that the timer repaired before, except where too few packets arrive to cause ACKs.")
	}
	if len(r.Windows) > 0 {
		lines := []line{{"the engine's own", r.timers(r.coarse(), r.DelAcks[0])}}
		for _, window := range r.Windows {
			lines = append(lines, line{fmt.Sprintf("%d bytes", window), r.with(windowOf(window), r.coarse(), r.DelAcks[0])})
		}
		r.panels(out, "incast-windows", fmt.Sprintf("Incast by receive window, floor %v", r.coarse()), lines,
			"As long as the windows of all servers fit into the port, nothing is lost under any timers. Timeouts begin where they no longer fit.")
	}
	if f := r.byTick(); len(f.Series) > 0 {
		out.Figures = append(out.Figures, f)
	}
}

// panels draws the two panels of Fig. 18.
func (r *results) panels(out *experiments.Outcome, name, title string, lines []line, caption string) {
	time := figure.Figure{
		Name: name + "-time", Title: title + ": mean time of a query",
		X: figure.Axis{Label: "servers"}, Y: figure.Axis{Label: "mean time of a query, ms", Log: true},
		Marks:   []figure.Mark{{Label: "8 ms, the least", At: r.wire(1)}, {Label: "10 servers", At: 10, Vertical: true}},
		Caption: caption,
	}
	share := figure.Figure{
		Name: name + "-timeouts", Title: title + ": queries with a timeout",
		X: figure.Axis{Label: "servers"}, Y: figure.Axis{Label: "share of queries with a timeout", Lo: 0, Hi: 1},
		Marks:   []figure.Mark{{Label: "10 servers", At: 10, Vertical: true}},
		Caption: "The second panel of Fig. 18. Published for 300 ms and 10 ms: timeouts of TCP begin above 10 servers.",
	}
	for _, l := range lines {
		time.Series = append(time.Series, r.curve(l, func(g *group) stat.Interval { return g.mean }))
		share.Series = append(share.Series, r.curve(l, func(g *group) stat.Interval { return g.share }))
	}
	out.Figures = append(out.Figures, time, share)
}

func (r *results) curve(l line, of func(*group) stat.Interval) figure.Series {
	s := figure.Series{Name: l.name, Kind: figure.Line}
	for _, n := range r.Servers {
		s.AddInterval(float64(n), of(r.at(l.timers, n)))
	}
	return s
}

func (r *results) byTick() figure.Figure {
	f := figure.Figure{
		Name: "incast-ticks", Title: fmt.Sprintf("A floor of %v needs a tick as fine", r.Fine),
		X: figure.Axis{Label: "tick, ms", Log: true}, Y: figure.Axis{Label: "shortest query with a timeout, ms", Log: true},
		Caption: "The shortest query with a timeout, at each tick. Where the tick is coarser than the floor, the tick decides: the law is max(floor, tick).",
	}
	for _, clock := range []bool{false, true} {
		s := figure.Series{Name: "tick of expiry alone", Kind: figure.Line}
		if clock {
			s.Name = "tick of clock and expiry"
		}
		for _, tick := range r.Ticks {
			if least, _ := r.leastTimed(r.ticked(tick, clock)); least > 0 {
				s.Add(float64(tick)/1e6, float64(least)/1e6)
			}
		}
		if len(s.X) > 0 {
			f.Series = append(f.Series, s)
		}
	}
	return f
}
