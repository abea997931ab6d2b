package report

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tcpwheel/experiments"
)

// SumsName is the repository's file with the digests of all cells' results.
const SumsName = "experiments/sums.txt"

// digits is the number of hexadecimal digits kept of a cell's digest.
const digits = 6

// perLine is the number of cells on a line.
const perLine = 16

// sums writes the digests of a full run.
func (r *Report) sums() string {
	var b strings.Builder
	b.WriteString("# The first digits of the SHA-256 of each cell's result, in the order of the cells. A test uses " +
		"them to find results that\n" +
		"# this program no longer gives. Written by 'make results'.\n")
	for i := range r.Studies {
		j, results := r.Studies[i].Job, r.Studies[i].Results
		fmt.Fprintf(&b, "\nstudy %s plan %s results %s cells %d\n", j.Study.Name, j.Hash()[:12],
			j.Digest(results)[:12], len(j.Cells))
		for k := range j.Cells {
			switch {
			case k%perLine > 0:
				b.WriteByte(' ')
			case k > 0:
				b.WriteByte('\n')
			}
			b.WriteString(digest(j.Cells[k].Name, results[k]))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// SumsDigest returns the first digits of the SHA-256 of the file SumsName.
func SumsDigest(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text))[:12] }

// Sums is the digests of a study's results.
type Sums struct {
	Study, Plan, Results string
	Cells                []string
}

// ParseSums reads the file SumsName.
func ParseSums(text []byte) (all []Sums, err error) {
	n := 0
	for line := range bytes.Lines(text) {
		n++
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0 || line[0] == '#':
		case bytes.HasPrefix(line, []byte("study ")):
			var (
				s     Sums
				cells int
			)
			if _, err := fmt.Sscanf(string(line), "study %s plan %s results %s cells %d", &s.Study, &s.Plan,
				&s.Results, &cells); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", SumsName, n, err)
			}
			all = append(all, s)
		case len(all) == 0:
			return nil, fmt.Errorf("%s:%d: a cell of no study", SumsName, n)
		default:
			s := &all[len(all)-1]
			s.Cells = append(s.Cells, strings.Fields(string(line))...)
		}
	}
	return all, nil
}

// Verify runs cells of job, the full plan of the study, and compares their results. It runs all
// cells of an exact study that costs at most whole seconds of CPU time. Otherwise it runs the
// cheapest cells within some seconds, or one within whole. It returns how many ran. The error says
// what is stale and how to renew it.
func (s *Sums) Verify(ctx context.Context, j *experiments.Job, whole, some float64, workers int) (ran int, err error) {
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
		if got := digest(j.Cells[i].Name, results[j.Study.Name][k]); got != s.Cells[i] {
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

func digest(name string, result json.RawMessage) string {
	return experiments.CellDigest(name, result)[:digits]
}
