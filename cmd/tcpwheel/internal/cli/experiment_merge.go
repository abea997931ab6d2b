//go:build !js

package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"tcpwheel/experiments"
	findings "tcpwheel/experiments/report"
)

func newExperimentMerge() *cobra.Command {
	var (
		out    string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "merge SHARD...",
		Short: "merge the shards of a run into one report",
		Long: "Merge reads the files that 'experiment run --shard' wrote, or directories of\n" +
			"them, and finishes the run: its output is the same, byte for byte. A missing\n" +
			"shard, or one of another run, is an error.",
		Example: "  tcpwheel experiment merge shards --out report",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(cmd, fmt.Errorf("%sno shard given", commandPrefix(cmd)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if out != "" {
				if err := checkReportDir(out); err != nil {
					return usage(cmd, fmt.Errorf("%s--out %w", commandPrefix(cmd), err))
				}
			}
			names, err := shardFiles(args)
			if err != nil {
				return err
			}
			jobs, results, err := mergeFiles(names)
			if err != nil {
				return err
			}
			r, err := newReport(jobs, results)
			if err != nil {
				return err
			}
			return printReport(cmd, r, out, asJSON)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "write a report to this directory")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per study")
	return cmd
}

// shardFiles replaces directories by the shards in them.
func shardFiles(args []string) (names []string, err error) {
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			names = append(names, arg)
			continue
		}
		in, err := filepath.Glob(filepath.Join(globEscape(arg), "shard-*-of-*.jsonl"))
		if err != nil {
			return nil, err
		}
		if len(in) == 0 {
			return nil, fmt.Errorf("%s: holds no shard-*-of-*.jsonl", arg)
		}
		names = append(names, in...)
	}
	slices.Sort(names) // errors then do not depend on the order of the arguments
	return slices.Compact(names), nil
}

// globEscape returns a pattern that matches only path.
func globEscape(path string) string {
	var out []rune
	for _, r := range path {
		if slices.Contains([]rune(`*?[\`), r) {
			out = append(out, '\\')
		}
		out = append(out, r)
	}
	return string(out)
}

// mergeFiles opens each file when it is read, so that a thousand shards need one open file.
func mergeFiles(names []string) ([]*experiments.Job, experiments.Results, error) {
	var inputs []experiments.ShardInput
	for _, name := range names {
		inputs = append(inputs, experiments.ShardInput{Name: name, Data: &lazyFile{name: name}})
	}
	return experiments.Merge(inputs, programVersion(), openStudy)
}

// lazyFile is a file that is open from the first Read to its end.
type lazyFile struct {
	name string
	f    *os.File
	err  error
}

func (l *lazyFile) Read(b []byte) (int, error) {
	if l.err != nil {
		return 0, l.err
	}
	if l.f == nil {
		if l.f, l.err = os.Open(l.name); l.err != nil {
			return 0, l.err
		}
	}
	n, err := l.f.Read(b)
	if err != nil {
		l.err = err
		if closed := l.f.Close(); errors.Is(err, io.EOF) && closed != nil {
			l.err = closed
		}
	}
	return n, err
}

func newExperimentDocs() *cobra.Command {
	var root string
	cmd := &cobra.Command{
		Use:   "docs DIR",
		Short: "update this repository's documents from a report",
		Long: "Docs is for maintainers of the studies. It takes the report of a full run of\n" +
			"all studies and updates docs/results.md, the figures in docs/figures, the\n" +
			"results in each study's README, and experiments/sums.txt. A test finds stale\n" +
			"results by these sums.",
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
			if r.All = isAll(r); !r.All {
				return fmt.Errorf("%s: lacks studies or has them in another order, want a report of 'experiment run --all'", args[0])
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
