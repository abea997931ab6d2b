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

// task is a cell of any study.
type task struct {
	job  *Job
	cell int
}

func (t task) cost() float64 { return t.job.Cells[t.cell].Cost }

// all returns the cells of the jobs, most costly first.
func all(jobs []*Job) (cells []task) {
	for _, j := range jobs {
		for i := range j.Cells {
			cells = append(cells, task{j, i})
		}
	}
	slices.SortStableFunc(cells, func(a, b task) int { return cmp.Compare(b.cost(), a.cost()) })
	return cells
}

// Run runs the cells of the jobs on so many workers and returns their results. It takes from the
// journal, which may be nil, what an earlier run has left, and adds what it finds. It stops at the
// first failure; the error names study and cell. progress may be nil.
func Run(ctx context.Context, jobs []*Job, kept *Journal, workers int, progress Progress) (Results, error) {
	results := Results{}
	for _, j := range jobs {
		if results[j.Study.Name] != nil {
			return nil, fmt.Errorf("study %s appears twice", j.Study.Name)
		}
		results[j.Study.Name] = make([]json.RawMessage, len(j.Cells))
	}
	total, done := 0.0, 0.0
	cells := slices.DeleteFunc(all(jobs), func(t task) bool {
		total += t.cost()
		found := kept.find(t.job, t.cell)
		if found == nil {
			return false
		}
		results[t.job.Study.Name][t.cell] = found
		done += t.cost()
		return true
	})
	var mu sync.Mutex
	err := tasks.Each(ctx, len(cells), workers, func(ctx context.Context, i int) error {
		t := cells[i]
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
		return kept.add(t.job, t.cell, result)
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
