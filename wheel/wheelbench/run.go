package wheelbench

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"sync/atomic"
	"time"

	"tcpwheel/wheel"
)

// Run measures every cell of o and yields the results in the order of o: by workload, then n,
// then scheme. Its only errors are that of o.Check, before the first result, and that of ctx,
// which ends a cell within a tick or a batch of operations. Run starts no goroutine except those
// of the runtime's timers. Nothing else should run meanwhile.
func Run(ctx context.Context, o Options) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		o, err := o.complete()
		if err != nil {
			yield(Result{}, err)
			return
		}
		r := runner{Options: o, hopeless: map[string]int{}, total: len(o.Workloads) * len(o.N) * len(o.Schemes) * (o.Rounds + 1)}
		defer context.AfterFunc(ctx, func() { r.stop.Store(true) })()
		for _, w := range o.Workloads {
			for _, n := range o.N {
				results := r.group(ctx, findWorkload(w), n)
				if err := ctx.Err(); err != nil {
					yield(Result{}, err)
					return
				}
				for _, result := range results {
					if !yield(result, nil) {
						return
					}
				}
			}
		}
	}
}

// runner is one Run.
type runner struct {
	Options
	stop        atomic.Bool // tells the running load to stop
	done, total int

	// hopeless is, by scheme, a number of timers that could not be started in time. Other
	// workloads do not try it.
	hopeless map[string]int
}

// group measures all schemes under w with n timers. It interleaves their rounds.
func (r *runner) group(ctx context.Context, w *Workload, n int) []Result {
	cells := make([]*cell, len(r.Schemes))
	for i, s := range r.Schemes {
		cells[i] = &cell{runner: r, workload: w, scheme: s, n: n}
		if s == Runtime && w.rivals[s] == nil {
			cells[i].skipped = "the workload runs in virtual time, the runtime's timers do not"
		} else if s == Runtime && n < w.runtimeFrom {
			cells[i].skipped = fmt.Sprintf("with less than %d timers the clock is measured", w.runtimeFrom)
		}
		if most, ok := r.hopeless[s]; ok && n >= most {
			cells[i].skipped = fmt.Sprintf("%d timers were not in place in time before", most)
		}
	}
	for round := range r.Rounds + 1 {
		for _, c := range cells {
			if ctx.Err() != nil {
				return nil
			}
			if r.Progress != nil {
				r.Progress(r.done, r.total, fmt.Sprintf("%s %s n=%d", c.scheme, w.Name, n))
			}
			r.done++
			switch {
			case c.skipped != "":
			case round < r.Rounds:
				c.round(ctx)
			case c.workload.rivals[c.scheme] == nil:
				c.count(ctx)
			}
		}
	}
	return resultsOf(cells)
}

func resultsOf(cells []*cell) []Result {
	results := make([]Result, len(cells))
	var ofRuntime *Figures
	for i, c := range cells {
		results[i] = Result{Scheme: c.scheme, Workload: c.workload.Name, N: c.n, Skipped: c.skipped}
		if c.skipped != "" {
			continue
		}
		f := figures(c.samples)
		f.BytesPerTimer, f.GC = round(c.bytesPerTimer), c.gc.Seconds()
		f.Counts, f.CountedOps = c.counts, c.countedOps
		if c.scheme == Runtime {
			ofRuntime = f
		}
		results[i].Figures = f
	}
	if ofRuntime != nil {
		for _, result := range results {
			if f := result.Figures; f != nil && f.NsPerOp > 0 {
				f.RuntimeRatio = round(ofRuntime.NsPerOp / f.NsPerOp)
			}
		}
	}
	return results
}

// cell is a scheme under a workload with n timers, while it is measured.
type cell struct {
	*runner
	workload *Workload
	scheme   string
	n        int

	skipped       string
	samples       []sample
	bytesPerTimer float64
	gc            time.Duration
	countedOps    int
	counts        *wheel.Counts
}

// newLoad makes the workload on a new facility. All rounds get the same random numbers.
func (c *cell) newLoad(counting bool) (load, wheel.Facility, error) {
	b := base{n: c.n, tick: c.Tick, rng: newWyrand(c.Seed), stop: &c.stop}
	if c.workload.tick != 0 {
		b.tick = c.workload.tick
	}
	if rival := c.workload.rivals[c.scheme]; rival != nil {
		return rival(b), nil, nil
	}
	f, err := wheel.New(c.scheme, wheel.Config{Tick: b.tick, Slots: c.Slots, Count: counting})
	if err != nil {
		return nil, nil, err
	}
	return c.workload.onWheel(b, f), f, nil
}

// watch tells the load to stop when its time is over. Calling end ends the watch.
func (c *cell) watch(ctx context.Context) (end func()) {
	c.stop.Store(false)
	if ctx.Err() != nil { // checked after the store, or a cancellation between the two is lost
		c.stop.Store(true)
	}
	t := time.AfterFunc(c.giveUp, func() { c.stop.Store(true) })
	return func() { t.Stop() }
}

// round times the workload on a new facility. The first round also measures space.
func (c *cell) round(ctx context.Context) {
	first := len(c.samples) == 0
	var heap int
	var idle time.Duration
	runtime.GC() // collects the garbage of other cells
	if first {
		idle, heap = collect(c.Budget), heapBytes()
	}

	end := c.watch(ctx)
	l, _, err := c.newLoad(false)
	if err != nil {
		end()
		c.skipped = err.Error()
		return
	}
	defer l.close()
	filled := l.fill()
	end()
	switch {
	case !filled && !first:
		return // the machine was busy; the other rounds suffice
	case !filled:
		c.hopeless[c.scheme] = c.n
		c.skipped = fmt.Sprintf("%d timers not in place within %v", c.n, c.giveUp)
		return
	}
	if first {
		c.gc = max(collect(c.Budget)-idle, 0)
		c.bytesPerTimer = max(float64(heapBytes()-heap-l.own())/float64(c.n), 0)
	}

	end = c.watch(ctx)
	defer end()
	var s sample
	if l.ready() {
		s = timeLoad(l, c.Budget/time.Duration(c.Rounds))
	}
	switch {
	case s.ops == 0 && !first:
		return
	case s.ops == 0:
		c.skipped = fmt.Sprintf("no pass done within %v", c.giveUp)
		return
	}
	c.samples = append(c.samples, s)
}

// count does a fixed number of operations on a facility that counts. If they take too long, there
// are no counts.
func (c *cell) count(ctx context.Context) {
	defer c.watch(ctx)()
	l, f, err := c.newLoad(true)
	if err != nil {
		return
	}
	defer l.close()
	if !l.fill() || !l.ready() {
		return
	}
	f.ResetCounts()
	ops := 0
	for {
		done, ok := l.run(min(16, max(c.workload.countOps-ops, 1)))
		ops += done
		if !ok || c.stop.Load() {
			return
		}
		if ops >= c.workload.countOps {
			break
		}
	}
	counts := f.Counts()
	c.countedOps, c.counts = ops, &counts
}

// timeLoad runs l for about slot, in batches that grow until one is long enough for the clock.
func timeLoad(l load, slot time.Duration) (s sample) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for ops := 1; s.took < slot; {
		start := time.Now()
		done, ok := l.run(ops)
		took := time.Since(start)
		if !ok {
			break
		}
		s.ops += done
		s.took += took
		// As many operations as should fit into the rest, but at most 100 times as many as the
		// last batch, which may be too short to extrapolate from.
		fit := float64(slot-s.took) / float64(max(took, 1)) * float64(done)
		ops = int(max(1, min(fit, 100*float64(done), 1e9)))
	}
	runtime.ReadMemStats(&after)
	s.allocs = after.Mallocs - before.Mallocs
	return s
}

// collect returns how long a garbage collection takes: the shortest of 2 to 20, as many as fit
// into the budget.
func collect(budget time.Duration) time.Duration {
	best, all := time.Duration(1<<62), time.Duration(0)
	for i := 0; i < 2 || i < 20 && all < budget; i++ {
		start := time.Now()
		runtime.GC()
		took := time.Since(start)
		best, all = min(best, took), all+took
	}
	return best
}

func heapBytes() int {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
