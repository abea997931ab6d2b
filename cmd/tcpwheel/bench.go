package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"tcpwheel/wheel/wheelbench"
)

// all selects every scheme or workload.
const all = "all"

func newBench() *cobra.Command {
	var (
		o         wheelbench.Options
		schemes   []string
		workloads []string
		numbers   []string
		asJSON    bool
	)
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "time schemes, and Go's own timers, under the same workloads",
		Long: "Bench times every scheme under every workload with n timers, their rounds interleaved, and compares\n" +
			"them with the Go runtime's timers, the scheme \"runtime\". Believe ratios, rather than figures of one run.\n\n" +
			"Columns: the median time of an operation, and by how much the rounds differ; allocations; bytes of heap\n" +
			"per timer, slots included; what n timers add to a garbage collection; records looked at, counted in a run\n" +
			"of its own; and how many times as long the runtime's timers take.\n\n" +
			"Workloads:\n" + aboutWorkloads() + "\n" +
			"What the budget does not allow is skipped, with the reason: a scheme that walks all timers on START would\n" +
			"need hours to have a million of them in place. Go doc tcpwheel/wheel/wheelbench has the definitions.",
		Example: "  tcpwheel wheel bench --schemes scheme6,runtime --workloads rearm --n 1000,1e5",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.N, err = parseNumbers("n", numbers); err != nil {
				return usage(cmd, err)
			}
			o.Schemes, o.Workloads = unlessAll(schemes), unlessAll(workloads)
			if err := o.Check(); err != nil {
				return usage(cmd, err)
			}
			if progress := cmd.ErrOrStderr(); isTerminal(progress) {
				o.Progress = func(done, total int, what string) {
					fmt.Fprintf(progress, "\r\x1b[K[%d/%d] %s", done+1, total, what)
				}
				defer fmt.Fprint(progress, "\r\x1b[K")
			}
			return bench(cmd.Context(), cmd.OutOrStdout(), o, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&schemes, "schemes", []string{all}, "schemes, as wheel schemes lists them, or runtime")
	f.StringSliceVar(&workloads, "workloads", []string{all}, "workloads")
	f.StringSliceVar(&numbers, "n", []string{"1000", "1e6"}, "numbers of timers")
	f.IntVar(&o.Slots, "slots", 0, "slots of a wheel, a power of two (default: each scheme's own)")
	durationFlag(f, &o.Tick, "tick", "1ms", "granularity of the timers")
	durationFlag(f, &o.Budget, "budget", "200ms", "for how long to time each scheme, workload and n")
	f.IntVar(&o.Rounds, "rounds", 3, "rounds to take the median of, within the budget")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the random numbers")
	f.BoolVar(&asJSON, "json", false, "print one JSON object per line")
	return cmd
}

// bench runs o and writes the results, group by group.
func bench(ctx context.Context, w io.Writer, o wheelbench.Options, asJSON bool) error {
	var group []wheelbench.Result
	groups := 0
	flush := func() error {
		if len(group) == 0 {
			return nil
		}
		if groups++; groups > 1 {
			fmt.Fprintln(w)
		}
		err := wheelbench.WriteTable(w, group)
		group = nil
		return err
	}
	if !asJSON {
		if _, err := fmt.Fprintf(w, "# %s %s/%s, %s\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, processor()); err != nil {
			return err
		}
	}
	enc := newJSONLines(w)
	for r, err := range wheelbench.Run(ctx, o) {
		switch {
		case err != nil:
			return err
		case asJSON:
			if err := enc.Encode(r); err != nil {
				return err
			}
			continue
		case len(group) > 0 && (group[0].Workload != r.Workload || group[0].N != r.N):
			if err := flush(); err != nil {
				return err
			}
		}
		group = append(group, r)
	}
	return flush()
}

func aboutWorkloads() string {
	var b strings.Builder
	for _, w := range wheelbench.Workloads() {
		fmt.Fprintf(&b, "  %-11s %s\n", w.Name, w.About)
	}
	return b.String()
}

func unlessAll(names []string) []string {
	if len(names) == 1 && names[0] == all {
		return nil
	}
	return names
}

// processor describes this machine's processors.
func processor() string {
	cpus := fmt.Sprintf("%d processors", runtime.NumCPU())
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return cpus // not Linux
	}
	for line := range strings.Lines(string(info)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return cpus + ", " + strings.TrimSpace(value)
		}
	}
	return cpus
}
