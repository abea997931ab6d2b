package wheels

import (
	"context"
	"fmt"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/experiments/internal/stat"
)

// The bars for the clock: how well a line fits the callout list, and by how much a flat one may be slower at n = 1000.
const (
	fig9WantR2    = 0.99
	fig9WantRatio = 1.3
)

// fig9Clock measures the iterations by the machine's clock.
func fig9Clock(ctx context.Context, p *fig9Plan) (*experiments.Outcome, error) {
	out := &experiments.Outcome{}
	fig := figure.Figure{
		Name: "time", Title: "Fig. 9 on this machine",
		X:       figure.Axis{Label: "timers outstanding, n"},
		Y:       figure.Axis{Label: fmt.Sprintf("%s iterations, ms", experiments.Number(float64(p.Iterations)))},
		Caption: "Medians of interleaved rounds, with the fastest and the slowest of them. Fig. 9 has the first three.",
	}
	far := figure.Figure{
		Name: "time-beyond", Title: "Set and cancel beside up to a million timers, on this machine",
		X:       figure.Axis{Label: "timers outstanding, n", Log: true},
		Y:       figure.Axis{Label: "ns per set and cancel", Log: true},
		Caption: "What grows here is not searches but the caches' misses.",
	}
	first, last := p.Outstanding[0], p.Outstanding[len(p.Outstanding)-1]
	table := experiments.Table{
		Name: "time", Title: "Nanoseconds per set and cancel",
		Columns: []string{"kernel", fmt.Sprintf("n = %d", first), fmt.Sprintf("n = %d", last), "ratio", "R² of a line"},
	}
	var names []string
	var spans [][]int
	for i := range fig9Kernels {
		names, spans = append(names, fig9Kernels[i].about), append(spans, p.counts(&fig9Kernels[i]))
	}
	names, spans = append(names, "Go runtime, AfterFunc and Stop"), append(spans, append(append([]int(nil), p.Outstanding...), p.Beyond...))
	at := map[string]stat.Interval{} // by name and n
	key := func(name string, n int) string { return fmt.Sprint(name, " ", n) }
	// The numbers of Fig. 9 are measured against each other, and each of those beyond by itself.
	groups := [][]int{p.Outstanding}
	for _, n := range p.Beyond {
		groups = append(groups, []int{n})
	}
	for _, group := range groups {
		var pieces []piece
		var of []string
		var timers []*time.Timer
		for _, n := range group {
			for i := range fig9Kernels {
				k := &fig9Kernels[i]
				if n > last && k.linear > 0 {
					continue
				}
				b, err := k.open(n, false)
				if err != nil {
					return nil, err
				}
				pieces = append(pieces, piece{ops: p.Iterations, run: func() { b.iterate(p.Iterations) }})
				of = append(of, key(k.about, n))
			}
		}
		for _, n := range group {
			// The runtime has one facility for all, which cannot hold n timers and others in turn.
			for i := len(timers); i < n; i++ {
				timers = append(timers, time.AfterFunc(time.Hour+time.Duration(i)*time.Millisecond, func() {}))
			}
			ns, err := timeRounds(ctx, p.Rounds, []piece{{ops: p.Iterations, run: func() {
				for range p.Iterations {
					time.AfterFunc(time.Hour+time.Duration(n)*time.Millisecond, func() {}).Stop()
				}
			}}})
			if err != nil {
				return nil, err
			}
			at[key(names[len(names)-1], n)] = medians(ns)[0]
		}
		for _, t := range timers {
			t.Stop()
		}
		ns, err := timeRounds(ctx, p.Rounds, pieces)
		if err != nil {
			return nil, err
		}
		for i, m := range medians(ns) {
			at[of[i]] = m
		}
	}
	for i, name := range names {
		near := figure.Series{Name: name, Kind: figure.Line, Group: i + 1}
		beyond := near
		for _, n := range spans[i] {
			m := at[key(name, n)]
			if n <= last {
				ms := float64(p.Iterations) / 1e6
				near.X, near.Y = append(near.X, float64(n)), append(near.Y, m.Value*ms)
				near.Lo, near.Hi = append(near.Lo, m.Lo*ms), append(near.Hi, m.Hi*ms)
			}
			if n > 0 {
				beyond.X, beyond.Y = append(beyond.X, float64(n)), append(beyond.Y, m.Value)
				beyond.Lo, beyond.Hi = append(beyond.Lo, m.Lo), append(beyond.Hi, m.Hi)
			}
		}
		_, _, r2 := stat.Line(near.X, near.Y)
		fig.Series, far.Series = append(fig.Series, near), append(far.Series, beyond)
		a, b := at[key(name, first)].Value, at[key(name, last)].Value
		table.Add(name, a, b, b/a, r2)
		switch {
		case i == len(fig9Kernels):
		case fig9Kernels[i].name == "callout":
			out.Claim(experiments.Claim{
				Name: "callout-line", Text: name + ": the time is a line in n", Published: "linear in n", Source: fig9Paper, Tag: experiments.FromSource,
				Measured:  experiments.MeasuredText("R² %.4f, %s times as long at n = %d", r2, experiments.Number(b/a), last),
				Expected:  experiments.Whether(r2 > fig9WantR2, "R² above %v", fig9WantR2),
				Otherwise: "caches, or other work on this machine, bend the line",
			})
		case fig9Kernels[i].linear == 0:
			out.Claim(experiments.Claim{
				Name: fig9Kernels[i].name + "-ratio", Text: fmt.Sprintf("%s: as fast with %d others as with %d", name, last, first),
				Published: map[bool]string{true: "flat in n"}[fig9Kernels[i].scheme == "scheme6-list"], Source: fig9Paper, Tag: experiments.FromSource,
				Measured: experiments.Measured(b/a, "times as long").Judging(b / a), Expected: experiments.Between(0, fig9WantRatio, "").OrDiffers(experiments.Between(0, 2, "")).Saying("below %v", fig9WantRatio),

				Otherwise: "the caches hold the records of fewer timers, or other work ran on this machine",
			})
		}
	}
	lookup, handle := at[key(fig9Kernels[1].about, last)].Value, at[key(fig9Kernels[2].about, last)].Value
	out.Claim(experiments.Claim{
		Name: "handles", Text: "handles are better than a lookup of func and arg", Published: "very slightly better", Source: fig9Paper, Tag: experiments.FromSource,
		Measured:  experiments.MeasuredText("%s ns against %s ns at n = %d", experiments.Number(handle), experiments.Number(lookup), last),
		Expected:  experiments.Whether(handle < lookup, "handles take less"),
		Otherwise: "the lookup costs nothing here",
	})
	out.Tables = append(out.Tables, table)
	out.Figures = append(out.Figures, fig, far)
	return out, nil
}
