package wheels

import (
	"fmt"
	"slices"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/wheel/stat"
)

const fig9Paper = "Varghese & Lauck, Fig. 9"

// fig9Key names a cell.
type fig9Key struct {
	kernel string
	n      int
}

func fig9Judge(p *fig9Plan, cells []fig9Cell) (*experiments.Outcome, error) {
	at := map[fig9Key]fig9Cell{}
	for _, c := range cells {
		at[fig9Key{c.Kernel, c.N}] = c
	}
	out := &experiments.Outcome{Tables: []experiments.Table{fig9Visits(p, at)}, Figures: []figure.Figure{fig9Plot(p, at)}}
	for i := range fig9Kernels {
		k := &fig9Kernels[i]
		if k.linear > 0 {
			out.Claim(k.linearClaim(p, at))
		} else {
			out.Claim(k.flatClaim(p, at))
		}
	}
	return out, nil
}

// visits returns the records that START and STOP look at.
func (c fig9Cell) visits() uint64 { return c.Start + c.Stop }

func fig9Visits(p *fig9Plan, at map[fig9Key]fig9Cell) experiments.Table {
	t := experiments.Table{
		Name: "visits", Title: fmt.Sprintf("Timer records visited in %s iterations of set and cancel", experiments.Number(p.Iterations)),
		Columns: []string{"timers outstanding"},
	}
	for _, k := range fig9Kernels {
		t.Columns = append(t.Columns, k.name)
	}
	for _, n := range slices.Concat(p.Outstanding, p.Beyond) {
		row := []any{n}
		for _, k := range fig9Kernels {
			var visits any = ""
			if c, ok := at[fig9Key{k.name, n}]; ok {
				visits = c.visits()
			}
			row = append(row, visits)
		}
		t.Add(row...)
	}
	return t
}

func fig9Plot(p *fig9Plan, at map[fig9Key]fig9Cell) figure.Figure {
	fig := figure.Figure{
		Name: "visits", Title: "Fig. 9 in exact counts: the old list searches, the new interfaces do not",
		X: figure.Axis{Label: "timers outstanding, n"}, Y: figure.Axis{Label: "records visited, millions"},
		Caption: "The callout list passes n records to set and n to cancel; Scheme 2 with handles passes n to set. All others " +
			"are on the axis, up to a million timers.",
	}
	for i, k := range fig9Kernels {
		s := figure.Series{Name: k.about, Kind: figure.Line, Group: i + 1}
		for _, n := range p.Outstanding {
			s.Add(float64(n), float64(at[fig9Key{k.name, n}].visits())/1e6)
		}
		fig.Series = append(fig.Series, s)
	}
	return fig
}

// linearClaim is about a list that each iteration searches.
func (k *fig9Kernel) linearClaim(p *fig9Plan, at map[fig9Key]fig9Cell) experiments.Claim {
	exact := true
	for _, n := range p.Outstanding {
		c := at[fig9Key{k.name, n}]
		exact = exact && c.visits() == uint64(k.linear*n*p.Iterations) && c.Start == uint64(n*p.Iterations)
	}
	most := p.Outstanding[len(p.Outstanding)-1]
	c := experiments.Claim{
		Name: k.name + "-linear", Class: experiments.Law, Text: fmt.Sprintf("%s: %d·n records per iteration", k.about, k.linear),
		Source: "definition of the list, counted", Tag: experiments.Computed,
		Measured:  experiments.MeasuredText("%s at n = %d", experiments.Number(at[fig9Key{k.name, most}].visits()), most),
		Expected:  experiments.Whether(exact, "%d·n·%d at each n, exactly", k.linear, p.Iterations),
		Otherwise: "the list is not searched like 4.4BSD's",
	}
	if k.name == "callout" {
		c.Source, c.Tag, c.Published, c.Class, c.Basis = fig9Paper, experiments.FromSource, "linear in n", experiments.OfOthers, "the shape as printed, counted"
	}
	return c
}

// flatClaim is about a facility that no iteration searches.
func (k *fig9Kernel) flatClaim(p *fig9Plan, at map[fig9Key]fig9Cell) experiments.Claim {
	var x, y []float64
	for _, n := range p.counts(k) {
		x, y = append(x, float64(n)), append(y, float64(at[fig9Key{k.name, n}].visits()))
	}
	most := slices.Max(y)
	slope, _, _ := stat.Line(x, y)
	iterations := float64(p.Iterations)
	c := experiments.Claim{
		Name: k.name + "-flat", Class: experiments.Law, Text: fmt.Sprintf("%s: visits do not grow with n", k.about),
		Source: "Table II: START and STOP are O(1)", Tag: experiments.FromSource,
		Measured:  experiments.MeasuredText("%s at most, to n = %s", experiments.Number(most), experiments.Number(x[len(x)-1])),
		Expected:  experiments.Whether(most <= iterations && slope <= 1e-3*iterations, "at most a record per iteration at each n, slope below 1e-3 of %d per timer", p.Iterations),
		Otherwise: "START or STOP searches",
	}
	if k.name == "wheel-handle" {
		c.Source, c.Published, c.Class, c.Basis = fig9Paper, "flat in n", experiments.OfOthers, "the shape as printed, counted"
	}
	if k.name == "heap" {
		c.Text += ", as the farthest timer belongs at the end"
		c.Source, c.Tag = "a heap's push and pop of its last entry", experiments.Computed
	}
	return c
}
