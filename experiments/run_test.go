package experiments

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"tcpwheel/experiments/plan"
)

type toyPlan struct {
	Cells int `plan:"cells" min:"1" max:"1000"`
	Fail  int `plan:"fail" min:"-1" max:"1000"`
	Panic int `plan:"panic" min:"-1" max:"1000"`
}

type toyCell struct {
	Square int     `json:"square"`
	Third  float64 `json:"third"`
}

func toy(name string) *Study {
	return Define(Spec[toyPlan, toyCell]{
		ID: "T" + name, Name: name, Words: func() Words { return Words{Question: "what are squares?"} }, Class: Exact,
		Files: fstest.MapFS{
			"README.md": {Data: []byte("# squares")},
			"plan.yaml": {Data: []byte("study: " + name + "\ncells: 20\nfail: -1\npanic: -1\nquick:\n  cells: 3\n")},
		},
		Cells: func(p *toyPlan) (all []Cell[toyCell]) {
			for i := range p.Cells {
				all = append(all, Cell[toyCell]{fmt.Sprintf("i=%d", i), float64(1 + i%7),
					func(context.Context) (toyCell, error) {
						switch i {
						case p.Fail:
							return toyCell{}, errors.New("no square")
						case p.Panic:
							panic("no square at all")
						}
						return toyCell{i * i, float64(i) / 3}, nil
					}})
			}
			return all
		},
		Judge: func(_ *toyPlan, cells []toyCell) (*Outcome, error) {
			out := &Outcome{}
			table := Table{Name: "squares", Title: "Squares", Columns: []string{"square", "third"}}
			for _, c := range cells {
				table.Add(c.Square, c.Third)
			}
			out.Tables = append(out.Tables, table)
			out.Claim(Claim{
				Name: "first", Text: "the first is 0", Source: "arithmetic", Tag: Computed, Class: Check,
				Expected: Exactly(0, ""),
				Measured: Measured(float64(cells[0].Square), ""),
			})
			return out, nil
		},
	})
}

// outcomes is what the jobs come to, as text.
func outcomes(t *testing.T, jobs []*Job, results Results) string {
	t.Helper()
	var all []*Outcome
	for _, j := range jobs {
		out, err := j.Judge(results[j.Study.Name])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, out)
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func open(t *testing.T, quick bool) []*Job {
	t.Helper()
	var jobs []*Job
	for _, name := range []string{"a", "b"} {
		j, err := toy(name).Open(quick)
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// TestJournal: a run that stops in the middle of a study, between two, or behind a first cell, and
// goes on, comes to the same, without running a cell twice; a line that was cut off runs again;
// another build begins anew.
func TestJournal(t *testing.T) {
	jobs := open(t, false)
	whole, err := Run(t.Context(), jobs, nil, 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "report.cells")
	cells, ran := len(all(jobs)), 0
	for _, c := range []struct {
		jobs []*Job
		stop int // behind so many cells of this run
		held int // results that an earlier run has left
	}{{jobs[:1], 7, 0}, {jobs[:1], cells, 7}, {jobs, 1, cells / 2}, {jobs, 7, cells/2 + 1}, {jobs, cells, cells/2 + 8}} {
		g, err := OpenJournal(name, "v1")
		if err != nil {
			t.Fatal(err)
		}
		if g.Len() != c.held {
			t.Errorf("the journal holds %d cells, want %d", g.Len(), c.held)
		}
		ctx, cancel := context.WithCancel(t.Context())
		left := c.stop
		results, err := Run(ctx, c.jobs, g, 1, func(float64, float64, string, string) {
			ran++
			if left--; left == 0 {
				cancel()
			}
		})
		cancel()
		if c.stop < cells && !errors.Is(err, context.Canceled) || c.stop == cells && err != nil {
			t.Fatal(err)
		}
		if err == nil {
			if got, want := outcomes(t, c.jobs, results), outcomes(t, c.jobs, whole); got != want {
				t.Errorf("with a journal:\n%s\nwant\n%s", got, want)
			}
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if ran != cells {
		t.Errorf("%d cells ran, want %d", ran, cells)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text[:len(text)-3], 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		program string
		want    int
	}{{"v1", cells - 1}, {"v2", 0}, {"v1", 0}} {
		g, err := OpenJournal(name, c.program)
		if err != nil {
			t.Fatal(err)
		}
		if g.Len() != c.want {
			t.Errorf("%s: %d cells, want %d", c.program, g.Len(), c.want)
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
	g, err := OpenJournal(name, "v1")
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the removed journal: %v", err)
	}
}

// TestReadCells: what was written is read, and damage is told.
func TestReadCells(t *testing.T) {
	j := open(t, true)[1]
	results, err := Run(t.Context(), []*Job{j}, nil, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := WriteCells(&b, j, "v1", results[j.Study.Name]); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	lines := strings.SplitAfter(text, "\n")
	read := func(text string) (string, error) {
		j, program, results, err := ReadCells(strings.NewReader(text), func(study, _ string, quick bool) (*Job, error) {
			return toy(study).Open(quick)
		})
		if err != nil {
			return "", err
		}
		return program + outcomes(t, []*Job{j}, Results{j.Study.Name: results}), nil
	}
	if got, err := read(text); err != nil || got != "v1"+outcomes(t, []*Job{j}, results) {
		t.Errorf("read %s, %v", got, err)
	}
	for _, c := range []struct{ name, want, file string }{
		{"empty", "empty, want the cells of a study", ""},
		{"noise", `not the cells of a study: the first line is no header of format "tcpwheel experiment cells 1"`, "{}"},
		{"cut", `lacks the result of cell "i=2"`, strings.Join(lines[:len(lines)-2], "")},
		{"twice", `line 5: cell "i=2" appears twice`, text + lines[len(lines)-2]},
		{"cell", "line 5: the study has no cell 9", text + `{"cell":9}`},
		{"damaged", "line 5: not a result: unexpected end of JSON input", text + `{"cell":`},
		{"plan", "study b ran under another plan than this program has", strings.Replace(text, j.Hash(), "00", 1)},
	} {
		if _, err := read(c.file); err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v\nwant %s", c.name, err, c.want)
		}
	}
}

func TestFailuresNameTheCell(t *testing.T) {
	for text, want := range map[string]string{
		"fail: 4":  `study a, cell "i=4": no square`,
		"panic: 5": `study a, cell "i=5": panic: no square at all`,
	} {
		f, err := plan.Parse("p.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		j, err := toy("a").OpenPlan(f, false)
		if err != nil {
			t.Fatal(err)
		}
		if len(j.Cells) != 20 {
			t.Errorf("a user's plan with one key has %d cells, want the study's own 20", len(j.Cells))
		}
		if _, err := Run(t.Context(), []*Job{j}, nil, 4, nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, open(t, true), nil, 1, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a run that was cancelled: %v", err)
	}
}

func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 1: "1", 0.5: "0.5", 2.0 / 3: "0.6667", 1250.4: "1250", 12345.6: "12,346", 1e6: "1,000,000",
		-81274: "-81,274", 1e-7: "1e-07", 98.75: "98.75", 244140.625: "244,141",
	} {
		if got := Number(x); got != want {
			t.Errorf("Number(%v) = %q, want %q", x, got, want)
		}
	}
}
