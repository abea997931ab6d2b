package all

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tcpwheel/experiments"
	"tcpwheel/experiments/report"
)

// TestDocumentsAreCurrent runs cells of each study again and compares their digests with
// experiments/sums.txt: all cells of an exact study if they cost little, and else the cheapest
// ones. So it finds stale results in the documents without the full run.
func TestDocumentsAreCurrent(t *testing.T) {
	if raceDetector {
		t.Skip("results are the same under the race detector, which takes ten times as long")
	}
	text, err := os.ReadFile("../../" + report.SumsName)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no results yet: 'make results' writes them")
	}
	if err != nil {
		t.Fatal(err)
	}
	stored, err := parseSums(text)
	if err != nil {
		t.Fatal(err)
	}
	results, err := os.ReadFile("../../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	const another = "%s and %s show different runs: run 'make results'"
	if !strings.Contains(string(results), "`"+report.SumsDigest(text)+"`") {
		t.Errorf(another, "docs/results.md", report.SumsName)
	}
	// Seconds of one processor for each study, by the cost that its cells declare.
	whole, some := 0.6, 0.2
	if long {
		whole, some = 3, 1
	}
	byName := map[string]*sums{}
	for i := range stored {
		byName[stored[i].Study] = &stored[i]
		if Find(stored[i].Study) == nil {
			t.Errorf("study %s no longer exists, but its results do", stored[i].Study)
		}
	}
	for _, s := range Studies() {
		t.Run(s.Name, func(t *testing.T) {
			sum := byName[s.Name]
			if sum == nil {
				t.Fatalf("no results: run 'make results'")
			}
			if !strings.Contains(s.Readme(), "`"+sum.Results+"`") {
				t.Errorf(another, "README.md", report.SumsName)
			}
			j, err := s.Open(false)
			if err != nil {
				t.Fatal(err)
			}
			ran, err := sum.verify(t.Context(), j, whole, some, runtime.GOMAXPROCS(0))
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d of %d cells have the same results", ran, len(j.Cells))
		})
	}
}

// TestStaleResults changes the digest of a cell, and the plan.
func TestStaleResults(t *testing.T) {
	j, err := Find("nichols").Open(true)
	if err != nil {
		t.Fatal(err)
	}
	s := sums{Study: "nichols", Plan: j.Hash()[:12], Cells: slices.Repeat([]string{"0000000"}, len(j.Cells))}
	if _, err := s.verify(t.Context(), j, 1, 1, 1); err == nil || !strings.Contains(err.Error(), "give other results") {
		t.Errorf("cells that have changed: %v", err)
	}
	s.Plan = "0123456789ab"
	if _, err := s.verify(t.Context(), j, 1, 1, 1); err == nil || !strings.Contains(err.Error(), "its plan has changed") {
		t.Errorf("another plan: %v", err)
	}
}

// sums is the digests of a study's results.
type sums struct {
	Study, Plan, Results string
	Cells                []string
}

// parseSums reads the file report.SumsName.
func parseSums(text []byte) (all []sums, err error) {
	n := 0
	for line := range bytes.Lines(text) {
		n++
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0 || line[0] == '#':
		case bytes.HasPrefix(line, []byte("study ")):
			var (
				s     sums
				cells int
			)
			if _, err := fmt.Sscanf(string(line), "study %s plan %s results %s cells %d", &s.Study, &s.Plan,
				&s.Results, &cells); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", report.SumsName, n, err)
			}
			all = append(all, s)
		case len(all) == 0:
			return nil, fmt.Errorf("%s:%d: a cell of no study", report.SumsName, n)
		default:
			s := &all[len(all)-1]
			s.Cells = append(s.Cells, strings.Fields(string(line))...)
		}
	}
	return all, nil
}

// verify runs cells of job, the full plan of the study, and compares their results. It runs all
// cells of an exact study that costs at most whole seconds of CPU time. Otherwise it runs the
// cheapest cells within some seconds, or one within whole. It returns how many ran. The error says
// what is stale and how to renew it.
func (s *sums) verify(ctx context.Context, j *experiments.Job, whole, some float64, workers int) (ran int, err error) {
	const renew = "\nrun 'make results', and look at the changes"
	if s.Plan != j.Hash()[:len(s.Plan)] || len(s.Cells) != len(j.Cells) {
		return 0, fmt.Errorf("study %s: its plan has changed from %s to %s (%d cells): the documents show results "+
			"of another plan%s",
			s.Study, s.Plan, j.Hash()[:len(s.Plan)], len(j.Cells), renew)
	}
	order := make([]int, len(j.Cells))
	for i := range order {
		order[i] = i
	}
	if cost := j.Cost(); j.Study.Class != experiments.Exact || cost > whole {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(j.Cells[a].Cost, j.Cells[b].Cost) })
		n, sum := 0, 0.0
		for ; n < len(order); n++ {
			c := j.Cells[order[n]].Cost
			if sum += c; sum > some && (n > 0 || c > whole) {
				break
			}
		}
		order = order[:n]
	}
	part := *j
	part.Cells = nil
	for _, i := range order {
		part.Cells = append(part.Cells, j.Cells[i])
	}
	results, err := experiments.Run(ctx, []*experiments.Job{&part}, nil, workers, nil)
	if err != nil {
		return 0, err
	}
	var stale []string
	for k, i := range order {
		if got := experiments.CellDigest(j.Cells[i].Name, results[j.Study.Name][k]); !strings.HasPrefix(got, s.Cells[i]) {
			stale = append(stale, j.Cells[i].Name)
		}
	}
	if len(stale) > 0 {
		return len(order), fmt.Errorf("study %s: %d of %d cells give other results than the documents show, the "+
			"first %q%s",
			s.Study, len(stale), len(order), stale[0], renew)
	}
	return len(order), nil
}
