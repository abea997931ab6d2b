package wheels

import (
	"fmt"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/experiments/internal/stat"
)

const fig9Paper = "Varghese & Lauck, Fig. 9"

func fig9Judge(p *fig9Plan, cells []fig9Cell) (*experiments.Outcome, error) {
	out := &experiments.Outcome{}
	visits := map[string]map[int]fig9Cell{}
	for _, c := range cells {
		if visits[c.Kernel] == nil {
			visits[c.Kernel] = map[int]fig9Cell{}
		}
		visits[c.Kernel][c.N] = c
	}
	table := experiments.Table{
		Name: "visits", Title: fmt.Sprintf("Timer records looked at in %s iterations of set and cancel", experiments.Number(float64(p.Iterations))),
		Columns: []string{"timers outstanding"},
	}
	fig := figure.Figure{
		Name: "visits", Title: "Fig. 9 in exact counts: the old list searches, the new interfaces do not",
		X: figure.Axis{Label: "timers outstanding, n"}, Y: figure.Axis{Label: "records looked at, millions"},
		Caption: "The callout list passes n records to set and n to cancel; Scheme 2 with handles still n to set. All the others " +
			"lie on the axis, and stay there to a million timers.",
	}
	for i := range fig9Kernels {
		k := &fig9Kernels[i]
		table.Columns = append(table.Columns, k.name)
		s := figure.Series{Name: k.about, Kind: figure.Line, Group: i + 1}
		for _, n := range p.Outstanding {
			c := visits[k.name][n]
			s.X, s.Y = append(s.X, float64(n)), append(s.Y, float64(c.Start+c.Stop)/1e6)
		}
		fig.Series = append(fig.Series, s)
	}
	for _, n := range append(append([]int(nil), p.Outstanding...), p.Beyond...) {
		row := []any{n}
		for i := range fig9Kernels {
			if c, ok := visits[fig9Kernels[i].name][n]; ok {
				row = append(row, c.Start+c.Stop)
			} else {
				row = append(row, "")
			}
		}
		table.Add(row...)
	}
	out.Tables, out.Figures = append(out.Tables, table), append(out.Figures, fig)

	most := p.Outstanding[len(p.Outstanding)-1]
	for i := range fig9Kernels {
		k := &fig9Kernels[i]
		if k.linear > 0 {
			exact, both := true, true
			for _, n := range p.Outstanding {
				c := visits[k.name][n]
				exact = exact && c.Start+c.Stop == uint64(k.linear*n*p.Iterations)
				both = both && c.Start == uint64(n*p.Iterations)
			}
			c := visits[k.name][most]
			cl := experiments.Claim{
				Name: k.name + "-linear", Text: fmt.Sprintf("%s: %d·n records per iteration", k.about, k.linear),
				Source: "definition of the list, counted", Tag: experiments.Computed,
				Measured:  experiments.MeasuredText("%s at n = %d", experiments.Number(float64(c.Start+c.Stop)), most),
				Expected:  experiments.Whether(exact && both, "%d·n·%d at each n, exactly", k.linear, p.Iterations),
				Otherwise: "the list is searched otherwise than 4.4BSD's",
			}
			if k.name == "callout" {
				cl.Source, cl.Tag, cl.Published = fig9Paper, experiments.FromSource, "linear in n"
			}
			out.Claim(cl)
			continue
		}
		var x, y []float64
		flat := uint64(0)
		for _, n := range p.counts(k) {
			c := visits[k.name][n]
			x, y = append(x, float64(n)), append(y, float64(c.Start+c.Stop))
			flat = max(flat, c.Start+c.Stop)
		}
		slope, _, _ := stat.Line(x, y)
		cl := experiments.Claim{
			Name: k.name + "-flat", Text: fmt.Sprintf("%s: visits do not grow with n", k.about),
			Source: "Table II: START and STOP are O(1)", Tag: experiments.FromSource,
			Measured:  experiments.MeasuredText("%s at most, to n = %s", experiments.Number(float64(flat)), experiments.Number(x[len(x)-1])),
			Expected:  experiments.Whether(flat <= uint64(p.Iterations) && slope <= 1e-3*float64(p.Iterations), "at most a record per iteration at each n, slope below 1e-3 of %d per timer", p.Iterations),
			Otherwise: "START or STOP searches",
		}
		if k.scheme == "scheme6-list" {
			cl.Source, cl.Published = fig9Paper, "flat in n"
		}
		if k.name == "heap" {
			cl.Text += ", as the farthest timer belongs at the end"
			cl.Source, cl.Tag = "a heap's push and pop of its last entry", experiments.Computed
		}
		out.Claim(cl)
	}
	return out, nil
}
