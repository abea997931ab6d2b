package experiments

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
)

// A file of cells is JSON lines: a header, then a line for each cell of one study.

// cellsFormat is the version of files of cells.
const cellsFormat = "tcpwheel experiment cells 1"

type cellsHeader struct {
	Format  string `json:"format"`
	Program string `json:"program"`
	Quick   bool   `json:"quick"`
	Study   string `json:"study"`
	Hash    string `json:"hash"`           // of the plan
	Plan    string `json:"plan,omitempty"` // a user's
	Cells   int    `json:"cells"`
}

type cellLine struct {
	Cell   int             `json:"cell"`
	Name   string          `json:"name"`
	Result json.RawMessage `json:"result"`
}

// maxCellLine is the most bytes of a line of such a file.
const maxCellLine = 256 << 20

// Hash returns the SHA-256 of the plan's text and of Quick, in hexadecimal digits.
func (j *Job) Hash() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\nquick: %v\n%s", j.Study.Name, j.Quick, j.Plan))
	return hex.EncodeToString(sum[:])
}

// WriteCells writes the results of a study's cells, in their order. program identifies the build.
func WriteCells(w io.Writer, j *Job, program string, results []json.RawMessage) error {
	b := bufio.NewWriter(w)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	h := cellsHeader{
		Format: cellsFormat, Program: program, Quick: j.Quick, Study: j.Study.Name, Hash: j.Hash(), Cells: len(j.Cells),
	}
	if j.User {
		h.Plan = j.Plan
	}
	if err := enc.Encode(h); err != nil {
		return err
	}
	for i, r := range results {
		if err := enc.Encode(cellLine{i, j.Cells[i].Name, r}); err != nil {
			return err
		}
	}
	return b.Flush()
}

// Open opens a study by name, with a user's plan or "" for its own.
type Open func(study, plan string, quick bool) (*Job, error)

// ReadCells reads what WriteCells wrote, and returns the study's job, the build that ran it, and the
// results. A study whose plan is another today, and a cell that is missing or appears twice, are
// errors.
func ReadCells(r io.Reader, open Open) (j *Job, program string, results []json.RawMessage, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxCellLine)
	if !lines.Scan() {
		if err := lines.Err(); err != nil {
			return nil, "", nil, err
		}
		return nil, "", nil, errors.New("empty, want the cells of a study")
	}
	var h cellsHeader
	if err := json.Unmarshal(lines.Bytes(), &h); err != nil || h.Format != cellsFormat {
		return nil, "", nil, fmt.Errorf("not the cells of a study: the first line is no header of format %q", cellsFormat)
	}
	if j, err = open(h.Study, h.Plan, h.Quick); err != nil {
		return nil, "", nil, err
	}
	if j.Hash() != h.Hash || len(j.Cells) != h.Cells {
		return nil, "", nil, fmt.Errorf("study %s ran under another plan than this program has", h.Study)
	}
	results = make([]json.RawMessage, len(j.Cells))
	for line := 2; lines.Scan(); line++ {
		if err := addCell(j, results, lines.Bytes()); err != nil {
			return nil, "", nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, "", nil, err
	}
	for i, result := range results {
		if result == nil {
			return nil, "", nil, fmt.Errorf("lacks the result of cell %q", j.Cells[i].Name)
		}
	}
	return j, h.Program, results, nil
}

// addCell adds a line of a file of cells.
func addCell(j *Job, results []json.RawMessage, text []byte) error {
	var l cellLine
	switch err := json.Unmarshal(text, &l); {
	case err != nil:
		return fmt.Errorf("not a result: %w", err)
	case l.Cell < 0 || l.Cell >= len(results):
		return fmt.Errorf("the study has no cell %d", l.Cell)
	case results[l.Cell] != nil:
		return fmt.Errorf("cell %q appears twice", l.Name)
	case len(l.Result) == 0:
		return fmt.Errorf("cell %q has no result", l.Name)
	case j.Cells[l.Cell].Name != l.Name:
		return fmt.Errorf("cell %d is %q, want %q", l.Cell, l.Name, j.Cells[l.Cell].Name)
	}
	results[l.Cell] = l.Result
	return nil
}

// Digest returns the SHA-256 of the names and results of all cells, in hexadecimal digits. Runs
// with equal digests measured the same, to the last digit.
func (j *Job) Digest(results []json.RawMessage) string {
	h := sha256.New()
	for i, r := range results {
		digestCell(h, j.Cells[i].Name, r)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// CellDigest is Digest for one cell.
func CellDigest(name string, result json.RawMessage) string {
	h := sha256.New()
	digestCell(h, name, result)
	return hex.EncodeToString(h.Sum(nil))
}

func digestCell(h hash.Hash, name string, result json.RawMessage) {
	fmt.Fprintf(h, "%s\n%s\n", name, result)
}

// Cost estimates the CPU time of all cells, in seconds.
func (j *Job) Cost() (seconds float64) {
	for i := range j.Cells {
		seconds += j.Cells[i].Cost
	}
	return seconds
}
