//go:build !js

package cli

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tcpwheel/experiments"
	studies "tcpwheel/experiments/all"
	"tcpwheel/experiments/plan"
	findings "tcpwheel/experiments/report"
	"tcpwheel/experiments/spelling"
	"tcpwheel/internal/quantity"
)

func newExperiment() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "experiment",
		Short: "the studies: what timer granularity does to TCP",
		Long:  `The studies run the engine and the wheels in virtual time, and compare the measurements with published ones. The same plans and seeds give the same results to the last digit, on any machine.`,
		Example: "  tcpwheel experiment list\n" +
			"  tcpwheel experiment run expiry --quick\n" +
			"  tcpwheel experiment run --all --quick --out report",
	}
	cmd.AddCommand(newExperimentList(), newExperimentShow(), newExperimentRun())
	return cmd
}

// studyInfo is a line of the list of studies.
type studyInfo struct {
	ID       string            `json:"id"`
	Study    string            `json:"study" head:"study"`
	Of       string            `json:"of"` // the study that it is a part of
	Class    experiments.Class `json:"class"`
	Question string            `json:"question" head:"question"`
	Parts    string            `json:"parts,omitempty" head:"parts"` // in the table
}

func newExperimentList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "list the studies",
		Long:    `List prints each study's name, question and parts, which also run alone. With --json it prints each part with its class. A is exact: the result is a law and holds to the last digit. P is compared with published figures, S with a published shape; both have bands that were fixed before.`,
		Example: "  tcpwheel experiment list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var all []studyInfo
			for _, g := range studies.Groups() {
				var parts []string
				for _, s := range g.Parts {
					if asJSON {
						all = append(all, studyInfo{ID: s.ID, Study: s.Name, Of: g.Name, Class: s.Class, Question: s.Question()})
					} else if s.Name != g.Name {
						parts = append(parts, s.Name)
					}
				}
				if !asJSON {
					all = append(all, studyInfo{Study: g.Name, Question: g.Question, Parts: strings.Join(parts, ", ")})
				}
			}
			return list(cmd.OutOrStdout(), asJSON, "study question parts", all)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	return cmd
}

func newExperimentShow() *cobra.Command {
	var asPlan, asKeys bool
	cmd := &cobra.Command{
		Use:   "show STUDY",
		Short: "show a study's question and its plan",
		Long: `Show prints the README of a study, the size of its runs, and its plan. Your own plan is a file that names the study and the values that differ. A comment that it begins with is its question:

  # Does a tick of 7 ms make timers late by more than 7 ms?
  study: expiry
  ticks: [2ms, 7ms]
  seeds: 5`,
		Example: "  tcpwheel experiment show expiry\n  tcpwheel experiment show expiry --plan",
		Args:    wantStudies(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := findStudy(cmd, args[0])
			if err != nil {
				return err
			}
			w := cmd.OutOrStdout()
			if asKeys {
				return writeKeys(w, s)
			}
			if asPlan {
				_, err := io.WriteString(w, s.Plan())
				return err
			}
			full, err := s.Open(false)
			if err != nil {
				return err
			}
			quick, err := s.Open(true)
			if err != nil {
				return err
			}
			var b bytes.Buffer
			writeProse(&b, findings.WithoutResult(s.Readme()))
			fmt.Fprintf(&b, "Full run: %s.\nQuick run: %s.\n", sizeOf(full), sizeOf(quick))
			for _, l := range full.Live {
				fmt.Fprintf(&b, "Timed on this machine, with --live: %s.\n", l.Name)
			}
			fmt.Fprintf(&b, "\nplan.yaml:\n\n%s", s.Plan())
			_, err = w.Write(b.Bytes())
			return err
		},
	}
	cmd.Flags().BoolVar(&asPlan, "plan", false, "print only the plan, to start your own")
	cmd.Flags().BoolVar(&asKeys, "keys", false, "print only what each key of a plan may be")
	return cmd
}

// writeKeys lists the keys of a study's plans.
func writeKeys(w io.Writer, s *experiments.Study) error {
	var rows [][]string
	for _, k := range plan.Keys(s.NewPlan()) {
		rows = append(rows, []string{k.Name, k.Help, k.Accepts})
	}
	return writeColumns(w, []string{"key", "what", "may be"}, rows, nil)
}

// sizeOf says how large a run is, with an estimate of its time.
func sizeOf(j *experiments.Job) string {
	text := time.Duration(j.Cost() * float64(time.Second)).Round(time.Second).String()
	if j.Cost() < 10 {
		text = experiments.Number(math.Round(1000*j.Cost())/1000) + "s"
	}
	return fmt.Sprintf("%s, about %s of one processor", quantity.Count(len(j.Cells), "cell"), text)
}

// wantStudies checks that the arguments are least to most studies.
func wantStudies(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usage(cmd, fmt.Errorf("%sno study given", commandPrefix(cmd)))
		case len(args) > most:
			return usage(cmd, fmt.Errorf("%sunexpected argument %q", commandPrefix(cmd), args[most]))
		}
		return nil
	}
}

// findStudy returns the study with that name or number.
func findStudy(cmd *cobra.Command, name string) (*experiments.Study, error) {
	if s := studies.Find(name); s != nil {
		return s, nil
	}
	hint := "'tcpwheel experiment list' names all studies; a plan is a file with .yaml in its name"
	if parts := studies.Parts(name); len(parts) > 0 {
		hint = fmt.Sprintf("it has parts: %s, …", parts[0].Name)
	} else if likely, ok := spelling.Nearest(name, studyNames()); ok {
		hint = didYouMean(likely)
	}
	return nil, hinted(fmt.Errorf("%sno study %q", commandPrefix(cmd), name), hint)
}

// studyNames returns the names of all studies and parts.
func studyNames() (names []string) {
	for _, g := range studies.Groups() {
		if g.Parts[0].Name != g.Name {
			names = append(names, g.Name)
		}
		for _, s := range g.Parts {
			names = append(names, s.Name)
		}
	}
	return names
}

func isPlanFile(arg string) bool {
	return strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml")
}

// openArgument opens the parts of a study by name, or a plan by its file.
func openArgument(cmd *cobra.Command, arg string, quick bool) (jobs []*experiments.Job, err error) {
	if isPlanFile(arg) {
		j, err := openFile(cmd, arg, quick)
		return []*experiments.Job{j}, err
	}
	parts := studies.Parts(arg)
	if len(parts) == 0 {
		_, err = findStudy(cmd, arg)
		return nil, err
	}
	return openParts(parts, quick)
}

func openParts(parts []*experiments.Study, quick bool) (jobs []*experiments.Job, err error) {
	for _, s := range parts {
		j, err := s.Open(quick)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// openFile opens a plan.
func openFile(cmd *cobra.Command, arg string, quick bool) (*experiments.Job, error) {
	text, err := readPlan(arg)
	if err != nil {
		return nil, err
	}
	f, err := plan.Parse(arg, text)
	if err != nil {
		return nil, usage(cmd, err)
	}
	names := studyNames()
	if f.Study == "" {
		return nil, usage(cmd, fmt.Errorf("%s: names no study: want study: one of %s", arg, strings.Join(names, ", ")))
	}
	s := studies.Find(f.Study)
	if s == nil {
		return nil, usage(cmd, f.Locate(fmt.Errorf("study: %q, want one of %s", f.Study, strings.Join(names, ", ")), false))
	}
	j, err := s.OpenPlan(f, quick)
	if err != nil {
		return nil, usage(cmd, err)
	}
	return j, nil
}

// readPlan reads a file up to the maximal size of a plan.
func readPlan(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, plan.MaxSize+1))
	if err != nil {
		return nil, err
	}
	if len(text) > plan.MaxSize {
		return nil, fmt.Errorf("%s: more than %d bytes", name, plan.MaxSize)
	}
	return text, nil
}

// openAll opens all studies, or the arguments.
func openAll(cmd *cobra.Command, args []string, all, quick bool) (jobs []*experiments.Job, err error) {
	switch {
	case all && len(args) > 0:
		return nil, usage(cmd, fmt.Errorf("%s--all runs all studies, do not name %q too", commandPrefix(cmd), args[0]))
	case !all && len(args) == 0:
		return nil, hinted(fmt.Errorf("%sno study given", commandPrefix(cmd)), "name studies or plans, or give --all")
	}
	if all {
		return openParts(studies.Studies(), quick)
	}
	seen := map[string]bool{}
	for _, arg := range args {
		parts, err := openArgument(cmd, arg, quick)
		if err != nil {
			return nil, err
		}
		for _, j := range parts {
			if seen[j.Study.Name] {
				return nil, usage(cmd, fmt.Errorf("%sstudy %s is given twice", commandPrefix(cmd), j.Study.Name))
			}
			seen[j.Study.Name] = true
			jobs = append(jobs, j)
		}
	}
	return jobs, nil
}
