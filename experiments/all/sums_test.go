package all

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"testing"

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
	sums, err := report.ParseSums(text)
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
	byName := map[string]*report.Sums{}
	for i := range sums {
		byName[sums[i].Study] = &sums[i]
		if Find(sums[i].Study) == nil {
			t.Errorf("study %s no longer exists, but its results do", sums[i].Study)
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
			ran, err := sum.Verify(t.Context(), j, whole, some, runtime.GOMAXPROCS(0))
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d of %d cells have the same results", ran, len(j.Cells))
		})
	}
}
