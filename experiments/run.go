package experiments

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"tcpwheel/pcaps/tasks"
)

// Progress is called after each cell with the share of the work that is done, by cost, and the
// cell's name. One goroutine calls it at a time.
type Progress func(done, total float64, study, cell string)

// Results holds the results of cells by study, in the order of its cells. A cell that did not run
// is nil.
type Results map[string][]json.RawMessage

// Shard is part Index, counted from 0, of Of parts of a run. The zero value is the whole run.
type Shard struct{ Index, Of int }

// Check returns an error unless 0 ≤ Index < Of ≤ 10,000 or s is the zero value.
func (s Shard) Check() error {
	if s != (Shard{}) && (s.Of < 1 || s.Of > 10_000 || s.Index < 0 || s.Index >= s.Of) {
		return fmt.Errorf("shard %d of %d, want one of 0 to n-1 of n, and n from 1 to 10000", s.Index, s.Of)
	}
	return nil
}

// task is a cell of any study.
type task struct {
	job  *Job
	cell int
}

func (t task) cost() float64 { return t.job.Cells[t.cell].Cost }

// share returns the cells of a shard, most costly first.
func share(jobs []*Job, s Shard) []task {
	var (
		all, mine []task
		costs     []float64
	)
	for _, j := range jobs {
		for i := range j.Cells {
			all = append(all, task{j, i})
			costs = append(costs, task{j, i}.cost())
		}
	}
	for _, i := range s.Share(costs) {
		mine = append(mine, all[i])
	}
	return mine
}

// Share returns the indices of the tasks in a shard, most costly first. It balances the cost: each
// task, from the most costly down, goes to the shard with the least cost so far.
func (s Shard) Share(costs []float64) []int {
	all := make([]int, len(costs))
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(costs[b], costs[a]) })
	if s.Of < 2 {
		return all
	}
	var mine []int
	load := make([]float64, s.Of)
	for _, t := range all {
		least := 0
		for i := range load {
			if load[i] < load[least] {
				least = i
			}
		}
		load[least] += costs[t]
		if least == s.Index {
			mine = append(mine, t)
		}
	}
	return mine
}

// Run runs the shard's cells of the jobs on so many workers and returns their results. It stops at
// the first failure; the error names study and cell. progress may be nil.
func Run(ctx context.Context, jobs []*Job, shard Shard, workers int, progress Progress) (Results, error) {
	if err := shard.Check(); err != nil {
		return nil, err
	}
	results := Results{}
	for _, j := range jobs {
		if results[j.Study.Name] != nil {
			return nil, fmt.Errorf("study %s appears twice", j.Study.Name)
		}
		results[j.Study.Name] = make([]json.RawMessage, len(j.Cells))
	}
	all := share(jobs, shard)
	total, done := 0.0, 0.0
	for _, t := range all {
		total += t.cost()
	}
	var mu sync.Mutex
	err := tasks.Each(ctx, len(all), workers, func(ctx context.Context, i int) error {
		t := all[i]
		w := &t.job.Cells[t.cell]
		result, err := runCell(ctx, w)
		if err != nil {
			return fmt.Errorf("study %s, cell %q: %w", t.job.Study.Name, w.Name, err)
		}
		mu.Lock()
		defer mu.Unlock()
		results[t.job.Study.Name][t.cell] = result
		done += w.Cost
		if progress != nil {
			progress(done, total, t.job.Study.Name, w.Name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// runCell runs a cell and turns a panic into an error that names it.
func runCell(ctx context.Context, w *Work) (result json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return w.Run(ctx)
}
