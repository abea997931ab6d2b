//go:build !js

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	studies "tcpwheel/experiments/all"
	findings "tcpwheel/experiments/report"
)

func newExperimentDocs() *cobra.Command {
	var root string
	cmd := &cobra.Command{
		Use:     "docs DIR",
		Short:   "update this repository's documents from a report",
		Long:    `Docs is for maintainers of the studies. It takes the report of a full run of all studies and updates docs/results.md, the figures in docs/figures, the results in each study's README, and experiments/sums.txt.`,
		Example: "  tcpwheel experiment docs report",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(cmd, fmt.Errorf("%swant one directory, which 'experiment run --all --out' has written", commandPrefix(cmd)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := findings.Rejudge(args[0], openStudy)
			if err != nil {
				return err
			}
			all := studies.Studies()
			slices.SortStableFunc(r.Studies, func(a, b findings.Study) int {
				return slices.Index(all, a.Job.Study) - slices.Index(all, b.Job.Study)
			})
			if r.All = isAll(r); !r.All {
				return fmt.Errorf("%s: lacks studies, want a report of 'experiment run --all'", args[0])
			}
			if _, err := os.Stat(filepath.Join(root, "experiments", "all", "all.go")); err != nil {
				return fmt.Errorf("%s is not the root of the repository: %w", root, err)
			}
			if err := r.WriteDocs(root); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), r.Count())
			return err
		},
	}
	cmd.Flags().StringVar(&root, "root", ".", "the root of the repository")
	return cmd
}
