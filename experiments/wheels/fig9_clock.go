package wheels

import (
	"context"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/experiments/judge"
	"tcpwheel/wheel/stat"
)

// fig9Timing is the time of a set and cancel: a row of the live part.
type fig9Timing struct {
	Kernel string        // or runtime
	N      int           // outstanding
	NS     stat.Interval // per set and cancel, median, fastest and slowest round
}

// fig9Runtime is the Go runtime in the place of a kernel.
var fig9Runtime = fig9Kernel{name: "runtime", about: "Go runtime, AfterFunc and Stop", linear: -1}

// fig9Clock times the iterations by the machine's clock.
func fig9Clock(ctx context.Context, p *fig9Plan) (*experiments.Outcome, error) {
	// The numbers of Fig. 9 are timed against each other, and each of those beyond alone.
	all, err := fig9Measure(ctx, p, p.Outstanding)
	if err != nil {
		return nil, err
	}
	for _, n := range p.Beyond {
		more, err := fig9Measure(ctx, p, []int{n})
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return fig9Timed(p, all)
}

// fig9Measure times the kernels with each of the numbers of timers, in interleaved rounds, and the
// runtime.
func fig9Measure(ctx context.Context, p *fig9Plan, counts []int) (all []fig9Timing, err error) {
	var pieces []testbed.Piece
	for i := range fig9Kernels {
		k := &fig9Kernels[i]
		for _, n := range counts {
			if !slices.Contains(p.counts(k), n) {
				continue
			}
			b, err := k.open(n, false)
			if err != nil {
				return nil, err
			}
			pieces = append(pieces, func() int {
				b.iterate(p.Iterations)
				return p.Iterations
			})
			all = append(all, fig9Timing{Kernel: k.name, N: n})
		}
	}
	ofRuntime, err := fig9MeasureRuntime(ctx, p, counts)
	if err != nil {
		return nil, err
	}
	ns, err := testbed.TimeRounds(ctx, p.Rounds, pieces)
	if err != nil {
		return nil, err
	}
	for i, rounds := range ns {
		all[i].NS = testbed.MedianOf(rounds)
	}
	return append(all, ofRuntime...), nil
}

// fig9MeasureRuntime times the Go runtime's timers. The runtime has one facility for all, so the
// numbers are timed one after another.
func fig9MeasureRuntime(ctx context.Context, p *fig9Plan, counts []int) (all []fig9Timing, err error) {
	var timers []*time.Timer
	defer func() {
		for _, t := range timers {
			t.Stop()
		}
	}()
	for _, n := range counts {
		for i := len(timers); i < n; i++ {
			timers = append(timers, time.AfterFunc(time.Hour+time.Duration(i)*time.Millisecond, func() {}))
		}
		ns, err := testbed.TimeRounds(ctx, p.Rounds, []testbed.Piece{func() int {
			for range p.Iterations {
				time.AfterFunc(time.Hour+time.Duration(n)*time.Millisecond, func() {}).Stop()
			}
			return p.Iterations
		}})
		if err != nil {
			return nil, err
		}
		k := &fig9Runtime
		all = append(all, fig9Timing{Kernel: k.name, N: n, NS: testbed.MedianOf(ns[0])})
	}
	return all, nil
}

// fig9Timed judges the times of a set and cancel on this machine.
func fig9Timed(p *fig9Plan, rows []fig9Timing) (*experiments.Outcome, error) {
	fewest, most := slices.Min(p.Outstanding), slices.Max(p.Outstanding)
	of := func(kernel string) []fig9Timing {
		return judge.Where(rows, func(t *fig9Timing) bool { return t.Kernel == kernel && t.N <= most })
	}
	ns := func(t *fig9Timing) float64 { return t.NS.Value }
	time := func(kernel string, n int) float64 {
		return judge.Mean(judge.Where(of(kernel), func(t *fig9Timing) bool { return t.N == n }), ns)
	}
	line := func(kernel string) float64 {
		all := of(kernel)
		_, _, r2 := stat.Line(judge.Values(all, func(t *fig9Timing) float64 { return float64(t.N) }), judge.Values(all, ns))
		return r2
	}
	slowdown := func(kernel string) float64 { return time(kernel, most) / time(kernel, fewest) }
	printed := func(name, text, published, basis string, look experiments.Look) experiments.Claim {
		return experiments.Claim{Name: name, Class: experiments.OfOthers, Text: text, Published: published,
			Source: "Varghese & Lauck, Fig. 9", Tag: experiments.FromSource, Basis: basis, Look: look}
	}
	straight := printed("callout-line", "4.4BSD's callout list, func and arg: the time is a line in n", "linear in n",
		"the shape as printed; R² set for this project", experiments.Look{Read: experiments.ReadPaper, At: "§VII, Fig. 9",
			Quote: "The results (Fig. 9) show that the time for the original callout facility increases linearly with the " +
				"number of outstanding callouts",
			Turns: "other work on the machine, which bends the line up to n = 1000 (R² 0.97); not that up to 10,000 (0.998)"})
	r2 := line("callout")
	straight.Measured = experiments.MeasuredText("R² %.4f, %s times as long at n = %d", r2,
		experiments.Number(slowdown("callout")), most).Judging(r2)
	straight.Expected = experiments.Above(0.99, "").Saying("R² above 0.99")
	handles := printed("handles", "handles are better than a lookup of func and arg", "very slightly better",
		"the order as printed", experiments.Look{Read: experiments.ReadPaper, At: "§VII",
			Quote: "The new interface performs very slightly better and provides guaranteed constant time operations, but the " +
				"old interface is needed for compatibility with the rest of the kernel",
			Turns: "nothing of iterations=1000, of n up to 10,000 and of other work on the machine"})
	handle, lookup := time("wheel-handle", most), time("wheel-lookup", most)
	handles.Measured = judge.Said("%v ns against %v ns at n = %d", handle, lookup, most)
	handles.Expected = experiments.Whether(handle < lookup, "handles take less")
	out := &experiments.Outcome{}
	out.Judge(straight)
	t := experiments.Table{Name: "time", Title: "Nanoseconds per set and cancel", Columns: []string{"kernel",
		judge.Say("n = %d", fewest), judge.Say("n = %d", most), "ratio", "R² of a line"}}
	for _, k := range append(slices.Clone(fig9Kernels), fig9Runtime) {
		t.Add(k.about, time(k.name, fewest), time(k.name, most), slowdown(k.name), line(k.name))
		if k.linear != 0 {
			continue
		}
		c := experiments.Claim{
			Name: k.name + "-ratio", Class: experiments.Law, Source: "Varghese & Lauck, Fig. 9", Tag: experiments.FromSource,
			Text:  judge.Say("%s: as fast with %d others as with %d", k.about, most, fewest),
			Basis: "set for this project", Measured: experiments.Measured(slowdown(k.name), "times as long"),
			Expected: experiments.AtMost(1.3, "").OrDiffers(experiments.AtMost(2, "")),
		}
		if k.name == "wheel-lookup" || k.name == "wheel-handle" {
			c.Published = "flat in n"
		}
		out.Judge(c)
	}
	out.Judge(handles)
	out.Tables = append(out.Tables, t)
	return out, nil
}
