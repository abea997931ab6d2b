package wheels

import (
	"context"
	"fmt"
	"slices"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

// fig9Plan is the plan of the study.
type fig9Plan struct {
	Iterations  int   `plan:"iterations" min:"10" max:"10000000"`
	Outstanding []int `plan:"outstanding" min:"0" max:"100000" order:"rising"`
	Beyond      []int `plan:"beyond" min:"1000" max:"100000000" optional:"true" order:"rising"`
}

// fig9Cell is the counts of one kernel with n timers outstanding: records in all iterations.
type fig9Cell struct {
	Kernel string `json:"kernel"`
	N      int    `json:"n"`
	Start  uint64 `json:"start"` // that START visited
	Stop   uint64 `json:"stop"`  // that STOP visited
	Moves  uint64 `json:"moves"` // that were moved
}

// Fig9 is the study.
var Fig9 = experiments.Define(experiments.Spec[fig9Plan, fig9Cell]{
	ID: "E2", Name: "fig9", Bed: "wheel", Class: experiments.Exact, Folder: "wheels/fig9", Files: files,
	Words: func() experiments.Words { return fig9Words },
	Check: func(p *fig9Plan) error {
		n := len(p.Outstanding)
		if n < 2 {
			return fmt.Errorf("outstanding: %v, want at least two", p.Outstanding)
		}
		if len(p.Beyond) > 0 && p.Beyond[0] <= p.Outstanding[n-1] {
			return fmt.Errorf("beyond: %v, want more than %d, the most outstanding", p.Beyond, p.Outstanding[n-1])
		}
		return nil
	},
	Cells: fig9Cells, Judge: fig9Judge,
})

// fig9Kernel is one way to set and cancel timers.
type fig9Kernel struct {
	name, about string
	scheme      string
	lookup      bool // by func and arg, else by handle
	linear      int  // records searched per iteration and timer outstanding
}

var fig9Kernels = []fig9Kernel{
	{"callout", "4.4BSD's callout list, func and arg", "callout", true, 2},
	{"wheel-lookup", "Scheme 6, func and arg through a hash table", "scheme6-list", true, 0},
	{"wheel-handle", "Scheme 6, handle", "scheme6-list", false, 0},
	{"packed-handle", "Scheme 6, packed and lazy, handle", "scheme6", false, 0},
	{"hierarchy", "Scheme 7, handle", "scheme7", false, 0},
	{"heap", "Scheme 3, a heap, handle", "scheme3", false, 0},
	{"ordered", "Scheme 2, an ordered list, handle", "scheme2", false, 1},
}

// fig9Bench is a kernel with n timers in place.
type fig9Bench struct {
	f        wheel.Facility
	callouts *wheel.Callouts // nil: timers are set by handle
	farther  wheel.Time
	spare    wheel.Timer
	arg      uint64
}

const (
	fig9Retransmit = 1       // the func of all callouts
	fig9Table      = 1000    // room of the hash table, the same in all of Fig. 9
	fig9Ours       = 1 << 40 // the first arg of the callouts that are set and cancelled
)

// open sets n timers, from the farthest to the nearest, so that an ordered list inserts at its
// head.
func (k *fig9Kernel) open(n int, count bool) (*fig9Bench, error) {
	f, err := wheel.New(k.scheme, wheel.Config{Count: count})
	if err != nil {
		return nil, err
	}
	b := &fig9Bench{f: f, farther: wheel.Time(n+1) * 1e6}
	if k.lookup {
		b.callouts = wheel.NewCallouts(f)
		b.callouts.Reserve(max(n, fig9Table) + 1)
	} else {
		f.Reserve(n + 1)
	}
	for i := n; i >= 1; i-- {
		at := wheel.Time(i) * 1e6 // a tick each
		if k.lookup {
			b.callouts.Timeout(fig9Retransmit, uint64(i), at)
		} else {
			f.Schedule(f.New(uint64(i)), at)
		}
	}
	if !k.lookup {
		b.spare = f.New(fig9Ours)
	}
	return b, nil
}

// iterate sets and cancels a timer so many times. Each has a new arg, so that its chain of the hash
// table is random.
func (b *fig9Bench) iterate(times int) {
	for range times {
		if b.callouts != nil {
			b.arg++
			b.callouts.Timeout(fig9Retransmit, fig9Ours+b.arg, b.farther)
			b.callouts.Untimeout(fig9Retransmit, fig9Ours+b.arg)
			continue
		}
		b.f.Schedule(b.spare, b.farther)
		b.f.Stop(b.spare)
	}
}

// counts returns the numbers of timers of a kernel.
func (p *fig9Plan) counts(k *fig9Kernel) []int {
	if k.linear > 0 {
		return p.Outstanding
	}
	return append(append([]int(nil), p.Outstanding...), p.Beyond...)
}

func fig9Cells(p *fig9Plan) (all []experiments.Cell[fig9Cell]) {
	for i := range fig9Kernels {
		k := &fig9Kernels[i]
		for _, n := range p.counts(k) {
			all = append(all, experiments.Cell[fig9Cell]{
				Name: fmt.Sprintf("kernel=%s n=%d", k.name, n),
				Cost: 1e-4 + float64(1e-7*float64(n)) + float64(3e-9*float64(p.Iterations)*float64(10+k.linear*n)),
				Run:  func(context.Context) (fig9Cell, error) { return fig9Run(p, k, n) },
			})
		}
	}
	return all
}

func fig9Run(p *fig9Plan, k *fig9Kernel, n int) (fig9Cell, error) {
	b, err := k.open(n, true)
	if err != nil {
		return fig9Cell{}, err
	}
	counts := b.f.Counts
	if b.callouts != nil {
		counts = b.callouts.Counts
	}
	before := counts()
	b.iterate(p.Iterations)
	got := counts().Sub(before)
	if got.Starts != uint64(p.Iterations) || got.Stops != got.Starts {
		return fig9Cell{}, fmt.Errorf("%d starts and %d stops in %d iterations", got.Starts, got.Stops, p.Iterations)
	}
	return fig9Cell{Kernel: k.name, N: n, Start: got.StartVisits, Stop: got.StopVisits, Moves: got.Moves}, nil
}

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
