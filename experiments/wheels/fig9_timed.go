package wheels

import (
	"slices"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/wheel/stat"
)

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
	straight.Otherwise = "caches, or other work on this machine, bend the line"
	handles := printed("handles", "handles are better than a lookup of func and arg", "very slightly better",
		"the order as printed", experiments.Look{Read: experiments.ReadPaper, At: "§VII",
			Quote: "The new interface performs very slightly better and provides guaranteed constant time operations, but the " +
				"old interface is needed for compatibility with the rest of the kernel",
			Turns: "nothing of iterations=1000, of n up to 10,000 and of other work on the machine"})
	handle, lookup := time("wheel-handle", most), time("wheel-lookup", most)
	handles.Measured = judge.Said("%v ns against %v ns at n = %d", handle, lookup, most)
	handles.Expected = experiments.Whether(handle < lookup, "handles take less")
	handles.Otherwise = "the lookup costs nothing here"
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
			Expected:  experiments.AtMost(1.3, "").OrDiffers(experiments.AtMost(2, "")),
			Otherwise: "the caches hold the records of fewer timers, or other work ran on this machine",
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
