package report

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/plan"
	"tcpwheel/pcaps/figure"
)

type toyPlan struct {
	Cells int `plan:"cells" min:"1" max:"100"`
	Shift int `plan:"shift" min:"0" max:"9"`
}

type toyCell struct {
	X float64 `json:"x"`
}

// hostile is text that would be markup.
const hostile = `<script>alert("1")</script> & 'more' | **not bold**`

// longMeasure is a measure in words. No document shortens it.
var longMeasure = strings.TrimSpace(strings.Repeat("0 ms of site and ", 20))

// toy is a study with a claim of each verdict.
func toy(name string, class experiments.Class) *experiments.Study {
	readme := "# T: a toy\n\n**Question.** Is `a < b`? [See](x.md) and [there](https://example.org/).\n\n- one\n- " +
		"*two*\n\n**What would overturn it.** Nothing.\n"
	return experiments.Define(experiments.Spec[toyPlan, toyCell]{
		ID: "T" + name, Name: name, Class: class, Words: func() experiments.Words {
			return experiments.Words{Question: "what is " + name + "?", Found: "The first is {claim-0#}."}
		},
		Files: fstest.MapFS{"README.md": {Data: []byte(readme)},
			"plan.yaml": {Data: []byte("study: " + name + "\ncells: 5\nshift: 0\nquick:\n  cells: 2\n")}},
		Cells: func(p *toyPlan) (all []experiments.Cell[toyCell]) {
			for i := range p.Cells {
				all = append(all, experiments.Cell[toyCell]{Name: fmt.Sprintf("i=%d", i), Cost: 0.1,
					Run: func(context.Context) (toyCell, error) {
						return toyCell{float64(i+p.Shift) / 3}, nil
					}})
			}
			return all
		},
		Judge: func(_ *toyPlan, cells []toyCell) (*experiments.Outcome, error) {
			out := &experiments.Outcome{Notes: []string{"A note with `code`."}}
			t := experiments.Table{Name: "values", Title: "Values", Columns: []string{hostile, "x", "span, ms"}}
			f := figure.Figure{Name: "values", Title: hostile, X: figure.Axis{Label: "i"}, Y: figure.Axis{Label: "x"},
				Caption: hostile}
			s := figure.Series{Name: hostile, Kind: figure.Line}
			for i, c := range cells {
				t.Add(hostile, c.X, time.Duration(i)*time.Millisecond)
				s.X, s.Y = append(s.X, float64(i)), append(s.Y, c.X)
			}
			f.Series = append(f.Series, s)
			data := t
			data.Name, data.Data = "data", true
			out.Tables, out.Figures = append(out.Tables, t, data), append(out.Figures, f)
			for i, v := range []experiments.Verdict{experiments.Reproduced, experiments.Differs,
				experiments.NotReproduced} {
				measured := experiments.Measured(cells[0].X, "ms")
				if v == experiments.NotReproduced {
					measured = experiments.MeasuredText("%s", longMeasure)
				}
				out.Claim(experiments.Claim{
					Name: fmt.Sprintf("claim-%d", i), Text: hostile, Source: "arithmetic", Tag: experiments.FromPrint,
					Class: experiments.OfOthers, Basis: "the print",
					Expected: experiments.Whether(v == experiments.Reproduced,
						"").OrDiffers(experiments.Whether(v == experiments.Differs, "")).Saying("0"), Published: "0 ms",
					Measured: measured,
				})
			}
			return out, nil
		},
	})
}

// run runs studies and reports.
func run(t *testing.T, quick bool, all ...*experiments.Study) *Report {
	t.Helper()
	var jobs []*experiments.Job
	for _, s := range all {
		j, err := s.Open(quick)
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
	}
	results, err := experiments.Run(t.Context(), jobs, nil, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := New("tcpwheel test", jobs, results)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// tree returns the files of a directory.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	r := run(t, false, toy("a", experiments.Exact), toy("b", experiments.Shape))
	if err := r.WriteDir(dir); err != nil {
		t.Fatal(err)
	}
	first := tree(t, dir)
	for _, want := range []string{"report.md", "claims.json", "SHA256SUMS", "a/plan.yaml", "a/cells.jsonl",
		"a/result.json", "a/values.csv", "a/data.csv", "a/figure-values.svg", "b/figure-values.csv"} {
		if first[want] == "" {
			t.Errorf("no %s", want)
		}
	}
	for line := range strings.Lines(first["SHA256SUMS"]) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if got := fmt.Sprintf("%x", sha256.Sum256([]byte(first[name]))); got != sum {
			t.Errorf("%s has the sum %s, want %s", name, got, sum)
		}
	}
	if n := strings.Count(first["SHA256SUMS"], "\n"); n != len(first)-1 {
		t.Errorf("%d sums of %d files", n, len(first)-1)
	}

	t.Log("# over itself it writes the same bytes")
	if err := r.WriteDir(dir); err != nil {
		t.Fatal(err)
	}
	if again := tree(t, dir); fmt.Sprint(again) != fmt.Sprint(first) {
		t.Error("written twice, and not the same")
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), ".out*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}

	t.Log("# a smaller report leaves nothing of a greater one")
	if err := run(t, false, toy("a", experiments.Exact)).WriteDir(dir); err != nil {
		t.Fatal(err)
	}
	if after := tree(t, dir); after["b/result.json"] != "" || after["a/result.json"] == "" {
		t.Error("study b is still there, or a is not")
	}

	t.Log("# what is no report is not touched")
	own := filepath.Join(dir, "mine.txt")
	if err := os.WriteFile(own, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteDir(dir); err == nil || !strings.Contains(err.Error(),
		"holds mine.txt, which is no file of a report") {
		t.Errorf("a directory with another file: %v", err)
	}
	if err := r.WriteDir(own); err == nil || !strings.Contains(err.Error(), "is no directory") {
		t.Errorf("a file: %v", err)
	}
	if err := r.WriteDir(filepath.Join(dir, "no", "where")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no parent: %v", err)
	}
}

func TestClaimsFile(t *testing.T) {
	var b bytes.Buffer
	r := run(t, true, toy("a", experiments.Exact))
	if err := indented(r.claims())(&b); err != nil {
		t.Fatal(err)
	}
	var got claimsFile
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Claims) != 3 || got.Claims[2].Verdict != "not reproduced" || got.Claims[2].Study != "a" ||
		got.Claims[1].Text != hostile || !got.Quick || got.Studies[0].Cells != 2 {
		t.Errorf("claims.json: %s", b.String())
	}
	if c := r.Count(); c.String() != "3 published results: 1 reproduced, 1 differ, 1 not reproduced" {
		t.Errorf("counted %s", c)
	}
}

// TestPage finds text that has become markup, and each part of a study.
func TestPage(t *testing.T) {
	r := run(t, false, toy("a", experiments.Exact), toy("b", experiments.Shape))
	r.Machine = &Machine{OS: "linux/amd64", CPU: hostile}
	r.Studies[0].Live = []Live{{Name: "clock", Outcome: r.Studies[0].Outcome}, {Name: "kernel", Skipped: "not root"}}
	var b bytes.Buffer
	if err := r.WritePage(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{"## Ta a: what is a?", "could not run: not root", "tcpwheel experiment run a --out DIR",
		"](a/figure-values.svg)", "](a/live-clock-figure-values.svg)", "(a/data.csv)", "A note with `code`.",
		"## Tb b: what is b?"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(page, "<script>") {
		t.Error("text has become markup")
	}
}

// TestRejudge reads the directory that WriteDir wrote.
func TestRejudge(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	study := toy("a", experiments.Exact)
	r := run(t, false, study)
	if err := r.WriteDir(dir); err != nil {
		t.Fatal(err)
	}
	open := func(name, text string, quick bool) (*experiments.Job, error) {
		if text != "" {
			f, err := plan.Parse("p", []byte(text))
			if err != nil {
				return nil, err
			}
			return study.OpenPlan(f, quick)
		}
		return study.Open(quick)
	}
	again, err := Rejudge(dir, open)
	if err != nil {
		t.Fatal(err)
	}
	if again.Markdown() != r.Markdown() || again.sums() != r.sums() || again.Program != r.Program {
		t.Error("the report that was read differs from the one written")
	}
	if _, err := Rejudge(t.TempDir(), open); err == nil || !strings.Contains(err.Error(), "no report") {
		t.Errorf("an empty directory: %v", err)
	}
}

func TestDocs(t *testing.T) {
	root := t.TempDir()
	study := toy("a", experiments.Exact)
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("experiments/a/README.md", study.Readme())
	write("docs/figures/a-gone.svg", "<svg/>")
	write("docs/figures/other.svg", "<svg/>")
	if err := run(t, true, study).WriteDocs(root); err == nil || !strings.Contains(err.Error(), "quick run") {
		t.Errorf("documents of a quick run: %v", err)
	}
	r := run(t, false, study)
	for range 2 { // the second time it replaces what it has written
		if err := r.WriteDocs(root); err != nil {
			t.Fatal(err)
		}
	}
	all := tree(t, root)
	readme := all["experiments/a/README.md"]
	if strings.Count(readme, "**Result.**") != 1 || strings.Index(readme,
		"3 published results: 1 reproduced") > strings.Index(readme, "**What would overturn it.**") {
		t.Errorf("README.md:\n%s", readme)
	}
	if WithoutResult(readme) != study.Readme() {
		t.Errorf("without its result:\n%s\nwant\n%s", WithoutResult(readme), study.Readme())
	}
	if all["docs/figures/a-gone.svg"] != "" || all["docs/figures/other.svg"] == "" ||
		all["docs/figures/a-values.svg"] == "" {
		t.Error("figures that are not there, or still are")
	}
	results := all["docs/results.md"]
	for _, want := range []string{"\n[a](../experiments/a). Three also",
		"## Published results that were not reproduced", "**3 published results: 1 reproduced",
		"`tcpwheel experiment run a --out DIR`", "| " + longMeasure} {
		if !strings.Contains(results, want) {
			t.Errorf("results.md has no %q", want)
		}
	}

	for _, want := range []string{"(../../docs/figures/a-values.svg)", `&lt;script>alert("1")`, `\| **not`,
		"**Result.** The first is 0."} {
		if !strings.Contains(readme, want) {
			t.Errorf("README.md has no %q", want)
		}
	}

	head, cells, _ := strings.Cut(strings.SplitN(all[SumsName], "\n\n", 2)[1], "\n")
	if !strings.HasPrefix(head, "study a plan ") || !strings.HasSuffix(head, " cells 5") ||
		len(strings.Fields(cells)) != 5 {
		t.Errorf("sums: %q, %q", head, cells)
	}
}

// TestPages writes the parts of a page that are of a study, and leaves the rest alone.
func TestPages(t *testing.T) {
	r := run(t, false, toy("first", experiments.Shape))
	const page = "# Title\n\n<!-- written: first found -->\nold\n<!-- end -->\n\n" +
		"<!-- written: first table data -->\n<!-- end -->\n<!-- written: other found -->\nkept\n<!-- end -->\n" +
		"<!-- written: first figure values -->\n<!-- end -->\n"
	text, err := r.fill("docs/page.md", page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# Title\n\n<!-- written: first found -->\nThe first is 0.\n<!-- end -->\n", "| x |",
		"\nkept\n", "](figures/first-values.svg)\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if again, _ := r.fill("docs/page.md", text); again != text {
		t.Errorf("written again:\n%s", again)
	}
	if _, err := r.fill("docs/page.md", "<!-- written: first table none -->\n<!-- end -->\n"); err == nil {
		t.Error("no error for a table that is not there")
	}
}

func TestViolations(t *testing.T) {
	r := run(t, true, toy("a", experiments.Exact), toy("b", experiments.Shape))
	if got := fmt.Sprint(r.Violations()); got != "[a/claim-2]" {
		t.Errorf("violations %s", got)
	}
	r.Studies[0].Outcome.Claims[2].Doubted = true
	if got := r.Violations(); len(got) != 0 {
		t.Errorf("violations of doubted claims %s", got)
	}
}

func TestWritersFail(t *testing.T) {
	r := run(t, true, toy("a", experiments.Exact))
	if err := r.WritePage(failing{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a page to a closed pipe: %v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestProse(t *testing.T) {
	var b strings.Builder
	prose(&b, "  ", "- "+strings.Repeat("word - 3. ", 40))
	for i, line := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
		if len(line) > proseWidth+6 || i > 0 && !strings.HasPrefix(line, "  word") {
			t.Errorf("line %d: %q", i+1, line)
		}
	}
}

// TestColumnsAreFlush checks that columns of numbers, with gaps and a word, differ from columns of
// words.
func TestColumnsAreFlush(t *testing.T) {
	rows := [][]any{{"", "", "none", ""}, {2.5, "a", 2, ""}, {"", "b", 4, ""}, {"", 3, time.Second, ""}}
	for column, want := range []bool{false, true, false, false} {
		if got := isWords(rows, column); got != want {
			t.Errorf("isWords(rows, %d) = %v, want %v", column, got, want)
		}
	}
}
