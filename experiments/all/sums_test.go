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

// TestDocumentsAreCurrent runs cells of all studies again and wants what experiments/sums.txt says of them: exact studies whole if
// they are small, and of the others the cells that cost the least. So CI finds results in the documents that are stale without the
// full run that they are of.
func TestDocumentsAreCurrent(t *testing.T) {
	if raceDetector {
		t.Skip("results are the same under the detector, and take ten times as long")
	}
	text, err := os.ReadFile("../../" + report.SumsName)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no results are written yet: 'tcpwheel experiment docs' writes them")
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
	// Seconds of a processor for each study, if its cells cost what they say.
	whole, some := 3.0, 1.0
	if testing.Short() {
		whole, some = 0.3, 0.1
	}
	byName := map[string]*report.Sums{}
	for i := range sums {
		byName[sums[i].Study] = &sums[i]
		if Find(sums[i].Study) == nil {
			t.Errorf("study %s is gone, and its results are still there", sums[i].Study)
		}
	}
	for _, s := range Studies() {
		t.Run(s.Name, func(t *testing.T) {
			sum := byName[s.Name]
			if sum == nil {
				t.Fatalf("there are no results of it: run 'tcpwheel experiment run --all --out DIR' and 'tcpwheel experiment docs DIR'")
			}
			for name, have := range map[string]string{"docs/results.md": string(results), "README.md": s.Readme} {
				if !strings.Contains(have, "`"+sum.Results+"`") {
					t.Errorf("%s shows results of another run than %s: run 'tcpwheel experiment docs DIR'", name, report.SumsName)
				}
			}
			j, err := s.Open(false)
			if err != nil {
				t.Fatal(err)
			}
			ran, err := sum.Verify(t.Context(), j, whole, some, runtime.GOMAXPROCS(0))
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d of %d cells are as they were", ran, len(j.Cells))
		})
	}
}
