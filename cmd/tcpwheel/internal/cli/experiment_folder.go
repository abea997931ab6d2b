//go:build !js

package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"tcpwheel/experiments"
	studies "tcpwheel/experiments/all"
	"tcpwheel/experiments/declared"
)

// isStudyFolder reports whether an argument is a folder with a plan and claims.
func isStudyFolder(arg string) bool {
	info, err := os.Stat(arg)
	return err == nil && info.IsDir()
}

// openFolder opens a user's study: a folder with plan.yaml, claims.yaml and figures.yaml.
func openFolder(cmd *cobra.Command, arg string, quick bool) (*experiments.Job, error) {
	full, err := filepath.Abs(arg)
	if err != nil {
		return nil, err
	}
	j, err := declared.Open(os.DirFS(filepath.Dir(full)), filepath.Base(full), quick, studies.Find)
	if err != nil {
		return nil, usage(cmd, err)
	}
	return j, nil
}

func newExperimentNew() *cobra.Command {
	return &cobra.Command{
		Use:   "new FOLDER",
		Short: "write a first study of your own",
		Long: "New makes a folder with a study that runs as it is: plan.yaml says what is run,\n" +
			"claims.yaml what is claimed of the runs, figures.yaml what is shown. Change them,\n" +
			"and run the folder.",
		Example: "  tcpwheel experiment new my-study\n  tcpwheel experiment run my-study --quick",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(cmd, fmt.Errorf("%swant one folder to make", commandPrefix(cmd)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.Mkdir(args[0], 0o777); err != nil {
				return err
			}
			if err := os.CopyFS(args[0], declared.First()); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s has plan.yaml, claims.yaml and figures.yaml. Run it with:\n\n  tcpwheel experiment run %[1]s --quick\n", args[0])
			return err
		},
	}
}

// measureRecord is a line of experiment measures.
type measureRecord struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	Unit string `json:"unit,omitempty"`
	Help string `json:"help,omitempty"`
}

func newExperimentMeasures() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "measures STUDY",
		Short: "list what the runs of a study give, for claims of your own",
		Long: "Measures lists the columns of a study's rows, and the operators of expressions\n" +
			"over them, as claims.yaml and figures.yaml of a folder use them.",
		Example: "  tcpwheel experiment measures sweep\n  tcpwheel experiment measures shrew --json",
		Args:    wantStudies(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := findStudy(cmd, args[0])
			if err != nil {
				return err
			}
			out := newJSONLines(cmd.OutOrStdout())
			var rows [][]string
			for _, c := range declared.Columns(s.Row()) {
				if asJSON {
					if err := out.Encode(measureRecord{c.Name, c.Kind, c.Unit, c.Help}); err != nil {
						return err
					}
				}
				rows = append(rows, []string{c.Name, c.Kind, c.Unit, c.Help})
			}
			if asJSON {
				return nil
			}
			if err := writeColumns(cmd.OutOrStdout(), []string{"measure", "is", "unit", "what"}, rows, nil); err != nil {
				return err
			}
			rows = nil
			for _, o := range declared.Operators() {
				rows = append(rows, []string{o.Usage, o.Help})
			}
			if _, err := fmt.Fprintln(cmd.OutOrStdout()); err != nil {
				return err
			}
			return writeColumns(cmd.OutOrStdout(), []string{"operator", "what"}, rows, nil)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per measure")
	return cmd
}
