package experiments

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
				Expected:  Exactly(0, ""),
				Measured:  Measured(float64(cells[0].Square), ""),
				Otherwise: "it is not",
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

func TestMergedShardsAreTheWholeRun(t *testing.T) {
	jobs := open(t, false)
	whole, err := Run(t.Context(), jobs, Shard{}, 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 2, 3, 7, 50} {
		var inputs []ShardInput
		for i := range n {
			var done, total float64
			part, err := Run(t.Context(), jobs, Shard{i, n}, 2, func(d, all float64, _, _ string) {
				done, total = d,
					all
			})
			if err != nil {
				t.Fatal(err)
			}
			if done != total {
				t.Errorf("shard %d/%d: progress ends at %v of %v", i, n, done, total)
			}
			var b bytes.Buffer
			if err := WriteShard(&b, jobs, Shard{i, n}, "v1", part); err != nil {
				t.Fatal(err)
			}
			inputs = append(inputs, ShardInput{fmt.Sprintf("shard-%d", i), &b})
		}
		merged, results, err := Merge(inputs, "v1", func(study, _ string, quick bool) (*Job,
			error) {
			return toy(study).Open(quick)
		})
		if err != nil {
			t.Fatalf("%d shards: %v", n, err)
		}
		if got, want := outcomes(t, merged, results), outcomes(t, jobs, whole); got != want {
			t.Errorf("%d shards merge to\n%s\nwant\n%s", n, got, want)
		}
	}
}

func TestSharesAreEven(t *testing.T) {
	jobs := open(t, false)
	total := 0.0
	for _, t := range share(jobs, Shard{}) {
		total += t.cost()
	}
	for i := range 4 {
		cost := 0.0
		for _, t := range share(jobs, Shard{i, 4}) {
			cost += t.cost()
		}
		if cost < total/4-7 || cost > total/4+7 {
			t.Errorf("shard %d of 4 costs %v of %v", i, cost, total)
		}
	}
}

func TestMergeRefuses(t *testing.T) {
	jobs := open(t, true)
	shard := func(i, of int, program string) string {
		r, err := Run(t.Context(), jobs, Shard{i, of}, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := WriteShard(&b, jobs, Shard{i, of}, program, r); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	first, second, whole := shard(0, 2, "v1"), shard(1, 2, "v1"), shard(0, 1, "v1")
	lines := strings.SplitAfter(whole, "\n")
	for _, c := range []struct {
		name, want string
		files      []string
	}{
		{"none", "no shards to merge", nil},
		{"empty", "s0: empty, want the results of a shard", []string{""}},
		{"noise", `s0: not the results of a shard: the first line is no header of format "tcpwheel experiment shard 1"`,
			[]string{"{}"}},
		{"program", "s0: made by v2, and this is v1: their results may differ", []string{shard(0, 1, "v2")}},
		{"missing", "shard 1/2 is missing", []string{first}},
		{"twice", "s1: shard 0/2 is in s0, too", []string{first, first}},
		{"another number", "s1: of another run than s0: it is one of 3 shards, and not of 2", []string{first,
			shard(1, 3, "v1")}},
		{"many missing", "shards 0/3, 2/3 are missing", []string{shard(1, 3, "v1")}},
		{"another plan", "s1: of another run than s0: study a ran under another plan", []string{first,
			strings.Replace(second, jobs[0].Hash(), "00", 1)}},
		{"another study", "s1: of another run than s0: it has the studies c, b, and not a, b", []string{first,
			strings.Replace(second, `"study":"a"`, `"study":"c"`, 1)}},
		{"quick", "s1: of another run than s0: one of them is of a quick run", []string{first,
			strings.Replace(second, `"quick":true`, `"quick":false`, 1)}},
		{"cut", `study b: the result of cell "i=2" is in no shard`, []string{strings.Join(lines[:len(lines)-2], "")}},
		{"cell twice", `s0:8: study b: cell "i=2" appears twice`, []string{whole + lines[len(lines)-2]}},
		{"cell", `s0:8: study "a" has no cell 9`, []string{whole + `{"study":"a","cell":9}`}},
		{"damaged", "s0:8: not a result: unexpected end of JSON input", []string{whole + `{"study":`}},
		{"plan", "s0: study a ran under another plan than this program has",
			[]string{strings.Replace(whole, jobs[0].Hash(), "00", 1)}},
	} {
		var in []ShardInput
		for i, f := range c.files {
			in = append(in, ShardInput{fmt.Sprintf("s%d", i), strings.NewReader(f)})
		}
		_, _, err := Merge(in, "v1", func(study, _ string, quick bool) (*Job, error) { return toy(study).Open(quick) })
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v\nwant %s", c.name, err, c.want)
		}
	}
	if _, _, err := Merge([]ShardInput{{"s1", strings.NewReader(second)}, {"s0", strings.NewReader(first)}}, "v1",
		func(study, _ string, quick bool) (*Job, error) { return toy(study).Open(quick) }); err != nil {
		t.Errorf("shards in another order: %v", err)
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
		if _, err := Run(t.Context(), []*Job{j}, Shard{}, 4, nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, open(t, true), Shard{}, 1, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a run that was cancelled: %v", err)
	}
	if _, err := Run(t.Context(), open(t, true), Shard{3, 3}, 1, nil); err == nil ||
		err.Error() != "shard 3 of 3, want one of 0 to n-1 of n, and n from 1 to 10000" {
		t.Errorf("shard 3 of 3: %v", err)
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
