//go:build !js

package cli

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
		Short: "time every scheme and Go's timers under the same workloads",
		Long: `Bench times every scheme under every workload with n timers and compares it with the Go runtime's timers, the scheme "runtime". "limit" does only what no timer facility can leave out, "of" is wheel.Of. Trust the ratios more than the single figures.

Columns: median time of an operation and its spread over the rounds; allocations; heap bytes per timer, slots included; how much n timers prolong a garbage collection; visited records; and the runtime's time divided by this time. What exceeds the budget is skipped, with the reason.

Workloads:
` + aboutWorkloads() + ``,
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
	f.StringSliceVar(&schemes, "schemes", []string{all}, "schemes of 'wheel schemes', or runtime, limit, of")
	f.StringSliceVar(&workloads, "workloads", []string{all}, "workloads")
	f.StringSliceVar(&numbers, "n", []string{"1000", "1e6"}, "numbers of timers")
	f.IntVar(&o.Slots, "slots", 0, "slots of a wheel, a power of two (default: the scheme's)")
	durationFlag(f, &o.Tick, "tick", "1ms", "granularity of the timers")
	durationFlag(f, &o.Budget, "budget", "200ms", "time for each scheme, workload and n")
	f.IntVar(&o.Rounds, "rounds", 3, "rounds for the median, within the budget")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the random numbers")
	f.BoolVar(&asJSON, "json", false, "print one JSON object per line")
	return cmd
}

// bench runs o and writes the results, group by group.
func bench(ctx context.Context, w io.Writer, o wheelbench.Options, asJSON bool) error {
	if !asJSON {
		if _, err := fmt.Fprintf(w, "# %s %s/%s, %s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, processor()); err != nil {
			return err
		}
	}
	var group []wheelbench.Result
	flush := func() error {
		if len(group) == 0 {
			return nil
		}
		fmt.Fprintln(w)
		err := wheelbench.WriteTable(w, group)
		group = nil
		return err
	}
	enc := newJSONLines(w)
	for r, err := range wheelbench.Run(ctx, o) {
		if err == nil && asJSON {
			err = enc.Encode(r)
		} else if err == nil {
			if len(group) > 0 && (group[0].Workload != r.Workload || group[0].N != r.N) {
				err = flush()
			}
			group = append(group, r)
		}
		if err != nil {
			return err
		}
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
	return strings.TrimSuffix(fmt.Sprintf("%d processors, %s", runtime.NumCPU(), processorModel()), ", ")
}

// processorModel returns Linux's name of the processor, or "".
func processorModel() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
