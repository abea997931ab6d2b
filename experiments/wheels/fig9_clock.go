package wheels

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/wheel/stat"
)

// The bands of the clock: how well a line fits the callout list, and how much slower a flat
// facility may be with the most timers of Fig. 9 than with the fewest.
const (
	fig9WantR2    = 0.99
	fig9WantRatio = 1.3
)

const fig9Paper = "Varghese & Lauck, Fig. 9"

// fig9Key names a timing.
type fig9Key struct {
	kernel string
	n      int
}

const fig9Runtime = "Go runtime, AfterFunc and Stop"

// fig9Timings are the nanoseconds per set and cancel. The key's kernel is its description.
type fig9Timings map[fig9Key]stat.Interval

// fig9Clock times the iterations by the machine's clock.
func fig9Clock(ctx context.Context, p *fig9Plan) (*experiments.Outcome, error) {
	at := fig9Timings{}
	// The numbers of Fig. 9 are timed against each other, and each of those beyond alone.
	if err := at.measure(ctx, p, p.Outstanding); err != nil {
		return nil, err
	}
	for _, n := range p.Beyond {
		if err := at.measure(ctx, p, []int{n}); err != nil {
			return nil, err
		}
	}
	out := &experiments.Outcome{}
	at.show(p, out)
	first, last := p.Outstanding[0], p.Outstanding[len(p.Outstanding)-1]
	for i := range fig9Kernels {
		k := &fig9Kernels[i]
		ratio := at[fig9Key{k.about, last}].Value / at[fig9Key{k.about, first}].Value
		if k.name == "callout" {
			r2 := at.fit(p, k.about)
			out.Claim(experiments.Claim{Name: "callout-line", Class: experiments.OfOthers, Basis: "the shape as printed; R² set for this project", Text: k.about + ": the time is a line in n", Published: "linear in n", Source: fig9Paper, Tag: experiments.FromSource,
				Measured: experiments.MeasuredText("R² %.4f, %s times as long at n = %d", r2, experiments.Number(ratio), last).Judging(r2),
				Expected: experiments.Above(fig9WantR2, "").Saying("R² above %v", fig9WantR2), Otherwise: "caches, or other work on this machine, bend the line"})
		}
		if k.linear == 0 {
			out.Claim(experiments.Claim{Name: k.name + "-ratio", Class: experiments.Law, Basis: "set for this project", Text: fmt.Sprintf("%s: as fast with %d others as with %d", k.about, last, first),
				Published: map[bool]string{true: "flat in n"}[k.scheme == "scheme6-list"], Source: fig9Paper, Tag: experiments.FromSource,
				Measured: experiments.Measured(ratio, "times as long"), Expected: experiments.AtMost(fig9WantRatio, "").OrDiffers(experiments.AtMost(2, "")),
				Otherwise: "the caches hold the records of fewer timers, or other work ran on this machine"})
		}
	}
	lookup, handle := at[fig9Key{fig9Kernels[1].about, last}].Value, at[fig9Key{fig9Kernels[2].about, last}].Value
	out.Claim(experiments.Claim{Name: "handles", Class: experiments.OfOthers, Basis: "the order as printed", Text: "handles are better than a lookup of func and arg", Published: "very slightly better", Source: fig9Paper, Tag: experiments.FromSource,
		Measured: experiments.MeasuredText("%s ns against %s ns at n = %d", experiments.Number(handle), experiments.Number(lookup), last),
		Expected: experiments.Whether(handle < lookup, "handles take less"), Otherwise: "the lookup costs nothing here"})
	return out, nil
}

// measure times the kernels with each of the numbers of timers, in interleaved rounds.
func (at fig9Timings) measure(ctx context.Context, p *fig9Plan, counts []int) error {
	var pieces []piece
	var keys []fig9Key
	for _, n := range counts {
		for i := range fig9Kernels {
			k := &fig9Kernels[i]
			if !slices.Contains(p.counts(k), n) {
				continue
			}
			b, err := k.open(n, false)
			if err != nil {
				return err
			}
			pieces = append(pieces, piece{ops: p.Iterations, run: func() { b.iterate(p.Iterations) }})
			keys = append(keys, fig9Key{k.about, n})
		}
	}
	if err := at.measureRuntime(ctx, p, counts); err != nil {
		return err
	}
	ns, err := timeRounds(ctx, p.Rounds, pieces)
	if err != nil {
		return err
	}
	for i, m := range medians(ns) {
		at[keys[i]] = m
	}
	return nil
}

// measureRuntime times the Go runtime's timers. The runtime has one facility for all, so the
// numbers are timed one after another.
func (at fig9Timings) measureRuntime(ctx context.Context, p *fig9Plan, counts []int) error {
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
		ns, err := timeRounds(ctx, p.Rounds, []piece{{ops: p.Iterations, run: func() {
			for range p.Iterations {
				time.AfterFunc(time.Hour+time.Duration(n)*time.Millisecond, func() {}).Stop()
			}
		}}})
		if err != nil {
			return err
		}
		at[fig9Key{fig9Runtime, n}] = medians(ns)[0]
	}
	return nil
}

// fit returns R² of a line through the times of Fig. 9's numbers.
func (at fig9Timings) fit(p *fig9Plan, name string) float64 {
	var x, y []float64
	for _, n := range p.Outstanding {
		x, y = append(x, float64(n)), append(y, at[fig9Key{name, n}].Value)
	}
	_, _, r2 := stat.Line(x, y)
	return r2
}

func (at fig9Timings) show(p *fig9Plan, out *experiments.Outcome) {
	near := figure.Figure{
		Name: "time", Title: "Fig. 9 on this machine",
		X:       figure.Axis{Label: "timers outstanding, n"},
		Y:       figure.Axis{Label: fmt.Sprintf("%s iterations, ms", experiments.Number(p.Iterations))},
		Caption: "Medians of interleaved rounds, with the fastest and the slowest. Fig. 9 has the first three.",
	}
	far := figure.Figure{
		Name: "time-beyond", Title: "Set and cancel with up to a million timers outstanding, on this machine",
		X:       figure.Axis{Label: "timers outstanding, n", Log: true},
		Y:       figure.Axis{Label: "ns per set and cancel", Log: true},
		Caption: "The growth comes from cache misses, not from searches.",
	}
	first, last := p.Outstanding[0], p.Outstanding[len(p.Outstanding)-1]
	table := experiments.Table{
		Name: "time", Title: "Nanoseconds per set and cancel",
		Columns: []string{"kernel", fmt.Sprintf("n = %d", first), fmt.Sprintf("n = %d", last), "ratio", "R² of a line"},
	}
	for i := range len(fig9Kernels) + 1 {
		name := fig9Runtime
		if i < len(fig9Kernels) {
			name = fig9Kernels[i].about
		}
		s := figure.Series{Name: name, Kind: figure.Line, Group: i + 1}
		beyond := s
		for _, n := range slices.Concat(p.Outstanding, p.Beyond) {
			m, ok := at[fig9Key{name, n}]
			if ok && n <= last {
				s.AddInterval(float64(n), m.Times(float64(p.Iterations)/1e6))
			}
			if ok && n > 0 {
				beyond.AddInterval(float64(n), m)
			}
		}
		near.Series, far.Series = append(near.Series, s), append(far.Series, beyond)
		a, b := at[fig9Key{name, first}].Value, at[fig9Key{name, last}].Value
		table.Add(name, a, b, b/a, at.fit(p, name))
	}
	out.Tables, out.Figures = append(out.Tables, table), append(out.Figures, near, far)
}
