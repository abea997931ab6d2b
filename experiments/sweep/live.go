package sweep

import (
	"context"
	"fmt"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/experiments/judge"
)

// The kernel runs in real time, so it does less work: some conditions and seeds, and objects for
// about this long.
const (
	kernelConditions = 12
	kernelSeeds      = 3
	kernelSpan       = 10 * time.Second
	kernelAtOnce     = 6
)

// kernelWork returns the part of a plan that the kernel can do: one flow, no stop-and-wait.
func kernelWork(p *Plan) (all []combination) {
	seen := map[string]bool{}
	for _, c := range p.combinations() {
		s := p.spec(c, 1)
		if where := p.condition(c); s.Flows == 1 && s.Work.Shape != testbed.StopAndWait && !seen[where] &&
			len(all) < kernelConditions {
			seen[where] = true
			all = append(all, c)
		}
	}
	return all
}

// kernelSpec returns the spec of a condition for the kernel and for the model of its timers.
func (p *Plan) kernelSpec(c combination, seed int) *testbed.Spec {
	s := p.spec(c, seed)
	s.Kind, s.Scheme, s.Timers = testbed.Engine, "", testbed.MustTimers("linux")
	each := s.Work.Think + 4*pick(p.RTT, c, "rtt") + 20*time.Millisecond
	s.Work.Objects = min(s.Work.Objects, s.Work.Warm+max(5, int(kernelSpan/each)))
	s.Stagger, s.Limit = min(s.Stagger, time.Second), min(s.Limit, 6*kernelSpan)
	return s
}

// kernel runs the plan on this machine's kernel, next to the model of its timers, with the same
// fates.
func kernel(ctx context.Context, p *Plan) (*experiments.Outcome, error) {
	work := kernelWork(p)
	if len(work) == 0 {
		const refused = "The kernel cannot run this plan: it does one flow, and no stop-and-wait."
		return &experiments.Outcome{Notes: []string{refused}}, nil
	}
	seeds := min(p.Seeds, kernelSeeds)
	results := make([][2][]testbed.Result, len(work))
	for i := range results {
		for side := range results[i] {
			results[i][side] = make([]testbed.Result, seeds)
		}
	}
	err := testbed.AtOnce(kernelAtOnce, len(work)*seeds, func(at int) (err error) {
		i, n := at/seeds, at%seeds
		s := p.kernelSpec(work[i], p.FirstSeed+n)
		if results[i][0][n], err = testbed.RunKernel(ctx, s); err == nil {
			results[i][1][n], err = testbed.Run(ctx, s)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var rows []Row
	for i, c := range work {
		for side, name := range []string{"kernel", "engine, linux"} {
			for n := range seeds {
				row := p.row(c)
				row.Sender, row.Seed = name, n+1
				row.measure(&results[i][side][n], &results[i][side][n])
				rows = append(rows, row)
			}
		}
	}
	t := experiments.Table{Name: "kernel", Title: "The TCP of this machine's kernel in real time, and the engine with " +
		"Linux's timers in virtual time", Columns: []string{"where", "sender", "objects", "mean, ms", "median, ms", "p95, ms",
		"lost", "wait, ms", "timeouts", "probes"}}
	type side struct{ condition, sender string }
	for _, g := range judge.By(rows, func(r *Row) side { return side{r.Condition, r.Sender} }) {
		c := combined{g.Rows}
		t.Add(g.Key.condition, g.Key.sender, judge.Sum(g.Rows, func(r *Row) int { return r.Objects }), c.mean(timeOf),
			c.times(0.5).Value, c.times(0.95).Value, c.mean(lost), c.wait(), c.mean(timeouts), c.mean(probes))
	}
	note := fmt.Sprintf("At most %d seeds of %d conditions, and about %v of work each; counts are means per run. Both "+
		"lose "+
		"segments by seed, place and attempt.", kernelSeeds, kernelConditions, kernelSpan)
	return &experiments.Outcome{Tables: []experiments.Table{t}, Notes: []string{note}}, nil
}
