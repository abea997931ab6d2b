//go:build !js

package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"tcpwheel/experiments"
	studies "tcpwheel/experiments/all"
	"tcpwheel/experiments/plan"
	findings "tcpwheel/experiments/report"
)

// runFlags are the flags of experiment run.
type runFlags struct {
	all, quick, live, asJSON bool
	out                      string
	workers                  int
	set                      []string
}

func newExperimentRun() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run STUDY|PLAN.yaml... | --all",
		Short: "run studies and report their results",
		Long: `Run runs studies on all processors: named, or given by a plan of your own (docs/studies.md). It prints their tables and claims. With --out it writes a report instead: report.md, claims, tables, figures, plans and the result of each cell. A run with --out that was interrupted goes on where it stopped when it is repeated: until the report is written, DIR.cells has the finished cells.

--set changes a value of one study's plan; 'experiment show STUDY --plan' lists the keys. Lists are written [a, b].`,
		Example: "  tcpwheel experiment run expiry --quick\n" +
			"  tcpwheel experiment run expiry --quick --set 'ticks=[10ms]' --set seeds=2\n" +
			"  tcpwheel experiment run --all --out report",
		Args: cobra.ArbitraryArgs, // openAll checks them
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "run all studies")
	cmd.Flags().BoolVar(&f.quick, "quick", false, "use the smaller plans")
	cmd.Flags().StringArrayVar(&f.set, "set", nil, "KEY=VALUE: change a value of the study's plan; may be repeated")
	cmd.Flags().BoolVar(&f.live, "live", false, "also run the parts that time this machine")
	cmd.Flags().StringVar(&f.out, "out", "", "write a report to this directory")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON object per study")
	cmd.Flags().IntVar(&f.workers, "workers", 0, "cells at a time; 0 is the number of processors")
	return cmd
}

func (f *runFlags) run(cmd *cobra.Command, args []string) error {
	if f.workers < 0 || f.workers > 4096 {
		return usage(cmd, fmt.Errorf("%s--workers %d, want 0 to 4096", commandPrefix(cmd), f.workers))
	}
	jobs, err := f.open(cmd, args)
	if err != nil {
		return err
	}
	if f.workers == 0 {
		f.workers = runtime.GOMAXPROCS(0)
	}
	if f.out == "" {
		results, err := runCells(cmd, jobs, nil, f.workers)
		if err != nil {
			return err
		}
		return f.report(cmd, jobs, results)
	}
	if err := checkReportDir(f.out); err != nil {
		return usage(cmd, fmt.Errorf("%s--out %w", commandPrefix(cmd), err))
	}
	kept, err := openJournal(filepath.Clean(f.out) + ".cells")
	if err != nil {
		return err
	}
	if n := kept.Len(); n > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "tcpwheel: an interrupted run has left %d cells\n", n)
	}
	begun := time.Now()
	results, err := runCells(cmd, jobs, kept, f.workers)
	if err != nil {
		return errors.Join(err, kept.Close())
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "tcpwheel: ran for %v\n", time.Since(begun).Round(time.Second))
	err = f.report(cmd, jobs, results)
	if e := (*exitError)(nil); err == nil || errors.As(err, &e) {
		return errors.Join(err, kept.Remove())
	}
	return errors.Join(err, kept.Close())
}

// openJournal opens the journal of runs of this very program.
func openJournal(name string) (*experiments.Journal, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	f, err := os.Open(self)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return nil, err
	}
	return experiments.OpenJournal(name, hex.EncodeToString(sum.Sum(nil)))
}

// report judges the results, runs the live parts, and shows both.
func (f *runFlags) report(cmd *cobra.Command, jobs []*experiments.Job, results experiments.Results) error {
	r, err := findings.New(programVersion(), jobs, results)
	if err != nil {
		return err
	}
	r.All = r.Has(studies.Studies())
	if f.live {
		if err := runLive(cmd, r); err != nil {
			return err
		}
	}
	return printReport(cmd, r, f.out, f.asJSON)
}

// open opens the studies, or with --set one study with those values.
func (f *runFlags) open(cmd *cobra.Command, args []string) ([]*experiments.Job, error) {
	if len(f.set) == 0 {
		return openAll(cmd, args, f.all, f.quick)
	}
	if f.all || len(args) != 1 || isPlanFile(args[0]) {
		return nil, usage(cmd, fmt.Errorf("%s--set changes the plan of one study: want its name, and no other", commandPrefix(cmd)))
	}
	s, err := findStudy(cmd, args[0])
	if err != nil {
		return nil, err
	}
	text := "study: " + s.Name + "\n"
	for _, assignment := range f.set {
		key, value, ok := strings.Cut(assignment, "=")
		if !ok || key == "" || value == "" || strings.ContainsAny(assignment, "\n") {
			return nil, usage(cmd, fmt.Errorf("%s--set %q, want KEY=VALUE", commandPrefix(cmd), assignment))
		}
		text += key + ": " + value + "\n"
	}
	source, err := plan.Parse(setName, []byte(text))
	if err != nil {
		return nil, usage(cmd, f.setError(err))
	}
	j, err := s.OpenPlan(source, f.quick)
	if err != nil {
		return nil, usage(cmd, f.setError(err))
	}
	return []*experiments.Job{j}, nil
}

// setName is the name of the plan that the flags --set make. Its line n is their number n-1.
const setName = "--set"

// setError names the flag instead of the line of the plan.
func (f *runFlags) setError(err error) error {
	text := strings.ReplaceAll(err.Error(), setName+":1: ", setName+": ")
	for i, assignment := range f.set {
		text = strings.ReplaceAll(text, fmt.Sprintf("%s:%d: ", setName, i+2), fmt.Sprintf("%s '%s': ", setName, assignment))
	}
	return errors.New(text)
}

// checkReportDir reports early, before a run of minutes, why a report cannot be written.
func checkReportDir(dir string) error {
	if err := findings.CheckDir(dir); err != nil {
		return err
	}
	parent := filepath.Dir(filepath.Clean(dir))
	if info, err := os.Stat(parent); err != nil {
		return err
	} else if !info.IsDir() {
		return fmt.Errorf("%s: not a directory", parent)
	}
	part, err := os.MkdirTemp(parent, ".tcpwheel-*")
	if err != nil {
		return fmt.Errorf("%s: cannot make files there: %w", parent, errors.Unwrap(err))
	}
	return os.Remove(part)
}

// runCells runs the cells, and shows the progress on a terminal. If it is interrupted, it leaves
// cells that take longer than leaveAfter behind.
func runCells(cmd *cobra.Command, jobs []*experiments.Job, kept *experiments.Journal, workers int) (experiments.Results, error) {
	var (
		mu   sync.Mutex
		last string
		part float64
	)
	line := statusLine{w: cmd.ErrOrStderr()}
	begun := time.Now()
	line.start(func(time.Duration) string {
		mu.Lock()
		defer mu.Unlock()
		return progressText(part, time.Since(begun), last)
	})
	defer line.stop()
	var results experiments.Results
	ended := make(chan error, 1)
	go func() {
		r, err := experiments.Run(cmd.Context(), jobs, kept, workers, func(done, total float64, study, cell string) {
			mu.Lock()
			defer mu.Unlock()
			last, part = study+": "+cell, done/total
		})
		results = r
		ended <- err
	}()
	late := make(chan struct{})
	defer context.AfterFunc(cmd.Context(), func() {
		time.Sleep(leaveAfter)
		close(late)
	})()
	select {
	case err := <-ended:
		return results, err
	case <-late:
		return nil, cmd.Context().Err()
	}
}

// leaveAfter is how long an interrupted run waits for its cells. Some take seconds of computation,
// which end with the process.
const leaveAfter = 200 * time.Millisecond

// progressText shows the finished part, the time left and the last cell.
func progressText(part float64, spent time.Duration, last string) string {
	text := fmt.Sprintf("%3.0f %%, %v", 100*part, spent.Round(time.Second))
	if part > 0.02 && spent > 2*time.Second {
		left := time.Duration(float64(spent) * (1 - part) / part)
		text += fmt.Sprintf(", about %v left", left.Round(time.Second))
	}
	if last != "" {
		text += "  " + last
	}
	return text
}

// printReport writes the report, or prints the results. It returns a violation if an exact claim
// does not hold.
func printReport(cmd *cobra.Command, r *findings.Report, dir string, asJSON bool) error {
	w := cmd.OutOrStdout()
	if dir != "" {
		if err := r.WriteDir(dir); err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "tcpwheel: wrote %s\n", filepath.Join(dir, "report.md"))
	}
	for i := range r.Studies {
		s := &r.Studies[i]
		var err error
		switch {
		case asJSON:
			err = writeJSON(w, s, r.Machine)
		case dir == "":
			err = writeStudy(w, s)
		}
		if err != nil {
			return err
		}
	}
	if !asJSON && (dir != "" || len(r.Studies) > 1) {
		if err := writeSummary(w, r); err != nil {
			return err
		}
	}
	if wrong := r.Violations(); len(wrong) > 0 {
		return violation("exact, and not reproduced: %s", strings.Join(wrong, ", "))
	}
	return nil
}

// runLive runs the live parts of all studies, one at a time.
func runLive(cmd *cobra.Command, r *findings.Report) error {
	r.Machine = thisMachine()
	for i := range r.Studies {
		s := &r.Studies[i]
		for _, l := range s.Job.Live {
			if l.Needs != nil {
				if err := l.Needs(); err != nil {
					s.Live = append(s.Live, findings.Live{Name: l.Name, Skipped: err.Error()})
					continue
				}
			}
			out, err := runLivePart(cmd, s.Job.Study.Name+": "+l.Name, l.Run)
			if err != nil {
				return fmt.Errorf("study %s, %s: %w", s.Job.Study.Name, l.Name, err)
			}
			s.Live = append(s.Live, findings.Live{Name: l.Name, Outcome: out})
		}
	}
	return nil
}

func runLivePart(cmd *cobra.Command, name string, run func(context.Context) (*experiments.Outcome, error)) (*experiments.Outcome, error) {
	line := statusLine{w: cmd.ErrOrStderr()}
	begun := time.Now()
	line.start(func(time.Duration) string { return fmt.Sprintf("%v  %s", time.Since(begun).Round(time.Second), name) })
	defer line.stop()
	out, err := run(cmd.Context())
	if err == nil {
		err = out.Check()
	}
	if err != nil {
		return nil, err
	}
	for i := range out.Claims {
		// A measured time is not exact, even without an interval.
		if m := &out.Claims[i].Measured; m.Interval() == "exact" {
			m.Text = m.String()
		}
	}
	return out, nil
}
