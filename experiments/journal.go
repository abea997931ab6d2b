package experiments

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
)

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
