// Command write updates the repository's documents from a report: go run ./experiments/report/write
// FOLDER, in the root of the module. The folder is what experiment run --all --out has written. See
// report.Report.WriteDocs for what it writes.
package main

import (
	"fmt"
	"os"
	"slices"

	"tcpwheel/experiments"
	"tcpwheel/experiments/all"
	"tcpwheel/experiments/report"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./experiments/report/write FOLDER, in the root of the module")
		os.Exit(2)
	}
	err := write(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "write:", err)
		os.Exit(1)
	}
}

// open opens the plan of a study, as report.Rejudge wants it.
func open(study, text string, quick bool) (*experiments.Job, error) {
	s := all.Find(study)
	if s == nil || text != "" {
		return nil, fmt.Errorf("no study %q with a plan of its own", study)
	}
	return s.Open(quick)
}

// write writes the documents of a report of all studies, and prints how its claims came out.
func write(folder string) error {
	if _, err := os.Stat("experiments/all/all.go"); err != nil {
		return fmt.Errorf("this is not the root of the module: %w", err)
	}
	r, err := report.Rejudge(folder, open)
	if err != nil {
		return err
	}
	studies := all.Studies()
	slices.SortStableFunc(r.Studies, func(a, b report.Study) int {
		return slices.Index(studies, a.Job.Study) - slices.Index(studies, b.Job.Study)
	})
	if r.All = r.Has(studies); !r.All {
		return fmt.Errorf("%s: lacks studies, want a report of 'experiment run --all'", folder)
	}
	if err := r.WriteDocs("."); err != nil {
		return err
	}
	fmt.Println(r.Count())
	return nil
}
