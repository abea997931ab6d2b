package experiments

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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

// A Journal keeps the results of cells in a file while they run, so that a run that was interrupted
// goes on where it stopped. The file is JSON lines: a header, then a line for each cell. Its methods
// are for one goroutine at a time.
type Journal struct {
	name string
	f    *os.File
	held map[journalKey]json.RawMessage
}

type journalHeader struct {
	Format  string `json:"format"`
	Program string `json:"program"`
}

// journalKey names a cell among all runs.
type journalKey struct {
	Study string `json:"study"`
	Hash  string `json:"hash"` // of the plan
	Cell  int    `json:"cell"`
}

type journalLine struct {
	journalKey
	Result json.RawMessage `json:"result"`
}

const journalFormat = "tcpwheel experiment journal 1"

// OpenJournal opens or makes the journal in a file. program identifies the build to the last bit: a
// journal of another build, or a damaged one, begins anew. A line that was cut off is dropped.
func OpenJournal(name, program string) (*Journal, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	g := &Journal{name: name, f: f, held: map[journalKey]json.RawMessage{}}
	if err := g.read(journalHeader{journalFormat, program}); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return g, nil
}

// read reads the lines that are whole, and drops what follows.
func (g *Journal) read(want journalHeader) error {
	var (
		got  journalHeader
		size int64
		r    = bufio.NewReader(g.f)
	)
	for {
		text, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		var l journalLine
		if size == 0 {
			if json.Unmarshal(text, &got) != nil || got != want {
				break
			}
		} else if json.Unmarshal(text, &l) != nil || len(l.Result) == 0 {
			break
		} else {
			g.held[l.journalKey] = l.Result
		}
		size += int64(len(text))
	}
	if err := g.f.Truncate(size); err != nil {
		return err
	}
	if _, err := g.f.Seek(size, io.SeekStart); err != nil {
		return err
	}
	if size > 0 {
		return nil
	}
	return json.NewEncoder(g.f).Encode(want)
}

// Len returns how many results the journal holds.
func (g *Journal) Len() int {
	if g == nil {
		return 0
	}
	return len(g.held)
}

// find returns the result of a cell, or nil.
func (g *Journal) find(j *Job, cell int) json.RawMessage {
	if g == nil {
		return nil
	}
	return g.held[journalKey{j.Study.Name, j.Hash(), cell}]
}

// add appends the result of a cell.
func (g *Journal) add(j *Job, cell int, result json.RawMessage) error {
	if g == nil {
		return nil
	}
	return json.NewEncoder(g.f).Encode(journalLine{journalKey{j.Study.Name, j.Hash(), cell}, result})
}

// Close closes the file and keeps it, for the next run.
func (g *Journal) Close() error { return g.f.Close() }

// Remove closes and removes the file, once its results are elsewhere.
func (g *Journal) Remove() error {
	err := g.f.Close()
	if gone := os.Remove(g.name); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}
