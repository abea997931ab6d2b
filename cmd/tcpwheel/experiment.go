package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tcpwheel/experiments"
	studies "tcpwheel/experiments/all"
)

func newExperiment() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "experiment",
		Short:   "the studies: what timer granularity does to TCP",
		Long:    "The studies run the engine and the wheels in virtual time, and set what they measure\nbeside what was published.",
		Example: "  tcpwheel experiment run expiry --quick",
	}
	cmd.AddCommand(newExperimentRun())
	return cmd
}

func newExperimentRun() *cobra.Command {
	var quick, asJSON bool
	cmd := &cobra.Command{
		Use:     "run STUDY...",
		Short:   "run studies",
		Long:    "run runs studies, and prints their tables and claims.",
		Example: "  tcpwheel experiment run expiry --quick",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var jobs []*experiments.Job
			for _, name := range args {
				s := studies.Find(name)
				if s == nil {
					return usage(cmd, fmt.Errorf("no study %q", name))
				}
				j, err := s.Open(quick)
				if err != nil {
					return err
				}
				jobs = append(jobs, j)
			}
			results, err := experiments.Run(cmd.Context(), jobs, experiments.Shard{}, runtime.GOMAXPROCS(0), nil)
			if err != nil {
				return err
			}
			for _, j := range jobs {
				out, err := j.Judge(results[j.Study.Name])
				if err != nil {
					return err
				}
				if asJSON {
					err = json.NewEncoder(cmd.OutOrStdout()).Encode(out)
				} else {
					err = writeOutcome(cmd.OutOrStdout(), j.Study, out)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&quick, "quick", false, "the smaller plan of a quick run")
	cmd.Flags().BoolVar(&asJSON, "json", false, "an object for each study")
	return cmd
}

func writeOutcome(w io.Writer, s *experiments.Study, out *experiments.Outcome) error {
	fmt.Fprintf(w, "%s %s: %s\n", s.ID, s.Name, s.Question)
	for _, t := range out.Tables {
		if t.Data {
			continue
		}
		fmt.Fprintf(w, "\n%s\n", t.Title)
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, strings.Join(t.Columns, "\t"))
		for _, r := range t.Rows {
			for i, v := range r {
				if x, ok := v.(float64); ok {
					v = experiments.Number(x)
				}
				if i > 0 {
					fmt.Fprint(tw, "\t")
				}
				fmt.Fprint(tw, v)
			}
			fmt.Fprintln(tw)
		}
		tw.Flush()
	}
	fmt.Fprintln(w)
	for _, c := range out.Claims {
		fmt.Fprintf(w, "%s: %s: %s (%s); published %s; expected %s\n", c.Verdict, c.Text, c.Measured, c.Measured.Interval(), c.Published, c.Expected)
		if c.Why != "" {
			fmt.Fprintf(w, "    %s\n", c.Why)
		}
	}
	for _, n := range out.Notes {
		fmt.Fprintf(w, "\n%s\n", n)
	}
	_, err := fmt.Fprintln(w)
	return err
}
