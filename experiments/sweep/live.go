package sweep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
)

// The kernel runs in real time, so it does less work: some conditions and seeds, and objects for
// about this long.
const (
	kernelConditions = 12
	kernelSeeds      = 3
	kernelSpan       = 10 * time.Second
	kernelAtOnce     = 6
)

// needsRoot says why the kernel's TCP cannot run here.
func needsRoot() error {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return errors.New("the kernel's TCP needs Linux and root, for TUN devices in network namespaces")
	}
	return nil
}

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
	out := &experiments.Outcome{}
	work := kernelWork(p)
	if len(work) == 0 {
		out.Notes = append(out.Notes, "The kernel cannot run this plan: it does one flow, and no stop-and-wait.")
		return out, nil
	}
	seeds := min(p.Seeds, kernelSeeds)
	results := make([][2][]testbed.Result, len(work))
	errs := make([]error, len(work)*seeds)
	var all sync.WaitGroup
	tokens := make(chan struct{}, kernelAtOnce)
	for i, c := range work {
		for side := range results[i] {
			results[i][side] = make([]testbed.Result, seeds)
		}
		for n := range seeds {
			all.Go(func() {
				tokens <- struct{}{}
				defer func() { <-tokens }()
				s, err := p.kernelSpec(c, n+1), error(nil)
				if results[i][0][n], err = testbed.RunKernel(ctx, s); err == nil {
					results[i][1][n], err = testbed.Run(ctx, s)
				}
				errs[i*seeds+n] = err
			})
		}
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	t := experiments.Table{
		Name: "kernel", Title: "The TCP of this machine's kernel in real time, and the engine with Linux's timers " +
			"in virtual time",
		Columns: []string{"where", "sender", "objects", "mean, ms", "median, ms", "p95, ms", "lost", "wait, ms",
			"timeouts", "probes"},
	}
	for i, c := range work {
		for side, name := range []string{"kernel", "engine, linux"} {
			r := &row{at: c, seeds: results[i][side]}
			r.first = r
			r.sum()
			t.Add(p.condition(c), name, r.objects, r.mean.Value, r.median.Value, r.p95.Value, r.metrics["lost"],
				r.value("wait"),
				r.metrics["timeouts"], r.metrics["probes"])
		}
	}
	out.Tables = append(out.Tables, t)
	out.Notes = append(out.Notes, fmt.Sprintf("At most %d seeds of %d conditions, and about %v of work each; "+
		"counts are means per "+
		"run. Both lose segments by seed, place and attempt. The plan's expectations are not judged here.",
		kernelSeeds, kernelConditions, kernelSpan))
	return out, nil
}
