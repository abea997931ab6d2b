package wheels

import (
	"slices"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/wheel/stat"
)

var fig9Words = experiments.Words{
	Question: "What does it cost to set and cancel a timer when n others are outstanding?",
	Found: "4.4BSD's callout list visits {callout-linear} records for 10,000 iterations; Scheme 6 with a handle visits " +
		"{wheel-handle-flat}.",
}

func (c *fig9Cell) visits() float64 { return float64(c.Start + c.Stop) }

// fig9Judge judges the visits: a kernel that searches passes linear·n records in each iteration,
// exactly; of the others n hardly matters.
func fig9Judge(p *fig9Plan, cells []fig9Cell) (*experiments.Outcome, error) {
	most, iterations := slices.Max(p.Outstanding), float64(p.Iterations)
	of := func(kernel string) []fig9Cell {
		return judge.Where(cells, func(c *fig9Cell) bool { return c.Kernel == kernel })
	}
	linear := func(name, kernel, text, expected string, linear float64) experiments.Claim {
		rows := of(kernel)
		last := judge.Where(rows, func(c *fig9Cell) bool { return c.N == most })
		exact := judge.All(rows, func(c *fig9Cell) bool {
			searched := float64(c.N) * iterations
			return float64(c.Start) == searched && c.visits() == linear*searched
		})
		return experiments.Claim{
			Name: name, Class: experiments.Law, Text: text,
			Measured: judge.Said("%v at n = %d", judge.Mean(last, (*fig9Cell).visits), most),
			Expected: experiments.Whether(exact, expected, p.Iterations),
		}
	}
	flat := func(name, kernel, text string) experiments.Claim {
		rows := of(kernel)
		worst := judge.Most(rows, (*fig9Cell).visits).visits()
		n := func(c *fig9Cell) float64 { return float64(c.N) }
		slope, _, _ := stat.Line(judge.Values(rows, n), judge.Values(rows, (*fig9Cell).visits))
		return experiments.Claim{
			Name: name, Class: experiments.Law, Text: text,
			Source: "Table II: START and STOP are O(1)", Tag: experiments.FromSource,
			Measured: judge.Said("%v at most, to n = %v", worst, n(judge.Most(rows, n))),
			Expected: experiments.Whether(worst <= iterations && slope <= 0.001*iterations,
				"at most a record per iteration at each n, slope below 1e-3 of %d per timer", p.Iterations),
		}
	}
	const shape = "the shape as printed, counted"
	callout := linear("callout-linear", "callout", "4.4BSD's callout list, func and arg: 2·n records per iteration",
		"2·n·%d at each n, exactly", 2)
	callout.Published, callout.Source = "linear in n", "Varghese & Lauck, Fig. 9"
	callout.Tag, callout.Basis = experiments.FromSource, shape
	handle := flat("wheel-handle-flat", "wheel-handle", "Scheme 6, handle: visits do not grow with n")
	handle.Published, handle.Source, handle.Basis = "flat in n", "Varghese & Lauck, Fig. 9", shape
	heap := flat("heap-flat", "heap",
		"Scheme 3, a heap, handle: visits do not grow with n, as the farthest timer belongs at the end")
	heap.Source, heap.Tag = "a heap's push and pop of its last entry", experiments.Computed
	ordered := linear("ordered-linear", "ordered", "Scheme 2, an ordered list, handle: 1·n records per iteration",
		"1·n·%d at each n, exactly", 1)
	ordered.Source, ordered.Tag = "definition of the list, counted", experiments.Computed
	out := &experiments.Outcome{}
	out.Judge(callout,
		flat("wheel-lookup-flat", "wheel-lookup",
			"Scheme 6, func and arg through a hash table: visits do not grow with n"),
		handle,
		flat("packed-handle-flat", "packed-handle", "Scheme 6, packed and lazy, handle: visits do not grow with n"),
		flat("hierarchy-flat", "hierarchy", "Scheme 7, handle: visits do not grow with n"),
		heap, ordered)
	out.Tables = append(out.Tables, fig9Visits(p, cells))
	return out, nil
}

func fig9Visits(p *fig9Plan, cells []fig9Cell) experiments.Table {
	t := experiments.Table{Name: "visits", Columns: []string{"timers outstanding"},
		Title: judge.Say("Timer records visited in %v iterations of set and cancel", float64(p.Iterations))}
	for i := range fig9Kernels {
		t.Columns = append(t.Columns, fig9Kernels[i].name)
	}
	for _, g := range judge.Along(cells, func(c *fig9Cell) float64 { return float64(c.N) }) {
		row := []any{g.Key}
		for i := range fig9Kernels {
			rows := judge.Where(g.Rows, func(c *fig9Cell) bool { return c.Kernel == fig9Kernels[i].name })
			if len(rows) == 0 {
				row = append(row, "")
				continue
			}
			row = append(row, judge.Sum(rows, (*fig9Cell).visits))
		}
		t.Add(row...)
	}
	return t
}
