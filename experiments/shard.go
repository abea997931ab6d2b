package experiments

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A shard's file is JSON lines: a header, then a line for each cell.

// shardFormat is the version of shards' files.
const shardFormat = "tcpwheel experiment shard 1"

type shardHeader struct {
	Format  string      `json:"format"`
	Program string      `json:"program"` // Merge wants the same program for all shards
	Index   int         `json:"index"`
	Of      int         `json:"of"`
	Quick   bool        `json:"quick"`
	Studies []shardPlan `json:"studies"`
}

type shardPlan struct {
	Study string `json:"study"`
	Hash  string `json:"hash"` // of the plan
	Plan  string `json:"plan,omitempty"`
	Cells int    `json:"cells"`
}

type shardLine struct {
	Study  string          `json:"study"`
	Cell   int             `json:"cell"`
	Name   string          `json:"name"`
	Result json.RawMessage `json:"result"`
}

// Hash returns the SHA-256 of the plan's text and of Quick, in hexadecimal digits.
func (j *Job) Hash() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\nquick: %v\n%s", j.Study.Name, j.Quick, j.Plan))
	return hex.EncodeToString(sum[:])
}

func header(jobs []*Job, s Shard, program string) shardHeader {
	h := shardHeader{Format: shardFormat, Program: program, Index: s.Index, Of: max(s.Of, 1)}
	for _, j := range jobs {
		p := shardPlan{Study: j.Study.Name, Hash: j.Hash(), Cells: len(j.Cells)}
		if j.User {
			p.Plan = j.Plan
		}
		h.Quick = j.Quick
		h.Studies = append(h.Studies, p)
	}
	return h
}

// WriteShard writes the results of a shard. program identifies the build.
func WriteShard(w io.Writer, jobs []*Job, s Shard, program string, results Results) error {
	b := bufio.NewWriter(w)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(header(jobs, s, program)); err != nil {
		return err
	}
	for _, j := range jobs {
		for i, r := range results[j.Study.Name] {
			if r == nil {
				continue
			}
			if err := enc.Encode(shardLine{j.Study.Name, i, j.Cells[i].Name, r}); err != nil {
				return err
			}
		}
	}
	return b.Flush()
}

// ShardInput is a shard's file to read.
type ShardInput struct {
	Name string // for errors
	Data io.Reader
}

// mostMissing is the most missing shards that an error names.
const mostMissing = 10

// maxShardLine is the most bytes of a line of a shard's file.
const maxShardLine = 256 << 20

// Merge reads the files of all shards of a run and returns its jobs and results. open makes the job
// of a study; its second argument is a user's plan, or "" for the study's own. The error names
// files of different runs, a missing or duplicate shard, or a missing cell.
func Merge(inputs []ShardInput, program string, open func(study, plan string, quick bool) (*Job, error)) ([]*Job,
	Results, error) {
	if len(inputs) == 0 {
		return nil, nil, errors.New("no shards to merge")
	}
	var (
		first   shardHeader
		jobs    []*Job
		results = Results{}
		byIndex = map[int]string{}
	)
	for n, in := range inputs {
		lines := bufio.NewScanner(in.Data)
		lines.Buffer(nil, maxShardLine)
		h, err := readHeader(lines, program)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", in.Name, err)
		}
		if other, twice := byIndex[h.Index]; twice {
			return nil, nil, fmt.Errorf("%s: shard %d/%d is in %s, too", in.Name, h.Index, h.Of, other)
		}
		byIndex[h.Index] = in.Name
		if n == 0 {
			first = h
			if jobs, err = results.open(h, open); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", in.Name, err)
			}
		} else if differ := difference(first, h); differ != "" {
			return nil, nil, fmt.Errorf("%s: of another run than %s: %s", in.Name, inputs[0].Name, differ)
		}
		for line := 2; lines.Scan(); line++ {
			if err := results.add(jobs, lines.Bytes()); err != nil {
				return nil, nil, fmt.Errorf("%s:%d: %w", in.Name, line, err)
			}
		}
		if err := lines.Err(); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", in.Name, err)
		}
	}
	if err := results.complete(jobs, first, byIndex); err != nil {
		return nil, nil, err
	}
	return jobs, results, nil
}

// readHeader reads and checks the first line of a shard.
func readHeader(lines *bufio.Scanner, program string) (h shardHeader, err error) {
	if !lines.Scan() {
		return h, cmpErr(lines.Err(), errors.New("empty, want the results of a shard"))
	}
	if err := json.Unmarshal(lines.Bytes(), &h); err != nil || h.Format != shardFormat {
		return h, fmt.Errorf("not the results of a shard: the first line is no header of format %q", shardFormat)
	}
	if h.Program != program {
		return h, fmt.Errorf("made by %s, and this is %s: their results may differ", h.Program, program)
	}
	return h, Shard{h.Index, h.Of}.Check()
}

// open opens the studies of a header and makes room for their results.
func (r Results) open(h shardHeader, open func(study, plan string, quick bool) (*Job, error)) (jobs []*Job, err error) {
	for _, p := range h.Studies {
		j, err := open(p.Study, p.Plan, h.Quick)
		if err != nil {
			return nil, err
		}
		if j.Hash() != p.Hash || len(j.Cells) != p.Cells {
			return nil, fmt.Errorf("study %s ran under another plan than this program has", p.Study)
		}
		if r[p.Study] != nil {
			return nil, fmt.Errorf("study %s appears twice", p.Study)
		}
		jobs = append(jobs, j)
		r[p.Study] = make([]json.RawMessage, len(j.Cells))
	}
	return jobs, nil
}

// complete checks that all shards and all cells are present.
func (r Results) complete(jobs []*Job, h shardHeader, byIndex map[int]string) error {
	var missing []string
	for i := range h.Of {
		if byIndex[i] == "" {
			missing = append(missing, fmt.Sprintf("%d/%d", i, h.Of))
		}
	}
	switch n := len(missing); {
	case n == 1:
		return fmt.Errorf("shard %s is missing", missing[0])
	case n > mostMissing:
		return fmt.Errorf("shards %s and %d more are missing", strings.Join(missing[:mostMissing], ", "), n-mostMissing)
	case n > 1:
		return fmt.Errorf("shards %s are missing", strings.Join(missing, ", "))
	}
	for _, j := range jobs {
		for i, result := range r[j.Study.Name] {
			if result == nil {
				return fmt.Errorf("study %s: the result of cell %q is in no shard", j.Study.Name, j.Cells[i].Name)
			}
		}
	}
	return nil
}

func cmpErr(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// difference says how two headers differ, "" if they belong to one run. It ignores the index.
func difference(a, b shardHeader) string {
	switch {
	case a.Of != b.Of:
		return fmt.Sprintf("it is one of %d shards, and not of %d", b.Of, a.Of)
	case a.Quick != b.Quick:
		return "one of them is of a quick run"
	}
	names := func(h shardHeader) (all []string) {
		for _, p := range h.Studies {
			all = append(all, p.Study)
		}
		return all
	}
	if x, y := names(a), names(b); !slices.Equal(x, y) {
		return fmt.Sprintf("it has the studies %s, and not %s", strings.Join(y, ", "), strings.Join(x, ", "))
	}
	for i := range a.Studies {
		if a.Studies[i] != b.Studies[i] {
			return fmt.Sprintf("study %s ran under another plan", a.Studies[i].Study)
		}
	}
	return ""
}

// add adds a line of a shard's file.
func (r Results) add(jobs []*Job, text []byte) error {
	var l shardLine
	if err := json.Unmarshal(text, &l); err != nil {
		return fmt.Errorf("not a result: %w", err)
	}
	all := r[l.Study]
	if l.Cell < 0 || l.Cell >= len(all) {
		return fmt.Errorf("study %q has no cell %d", l.Study, l.Cell)
	}
	if all[l.Cell] != nil {
		return fmt.Errorf("study %s: cell %q appears twice", l.Study, l.Name)
	}
	if len(l.Result) == 0 {
		return fmt.Errorf("study %s: cell %q has no result", l.Study, l.Name)
	}
	for _, j := range jobs {
		if j.Study.Name == l.Study && j.Cells[l.Cell].Name != l.Name {
			return fmt.Errorf("study %s: cell %d is %q, want %q", l.Study, l.Cell, l.Name, j.Cells[l.Cell].Name)
		}
	}
	all[l.Cell] = l.Result
	return nil
}
