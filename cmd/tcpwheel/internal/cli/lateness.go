//go:build !js

package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tcpwheel/wheel"
	"tcpwheel/wheel/wheelbench"
)

func newLateness() *cobra.Command {
	var (
		o      = wheelbench.LatenessOptions{Sources: []string{wheelbench.Realtime, wheelbench.Inline, wheelbench.Runtime}}
		span   time.Duration
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "lateness",
		Short: "measure how late timers expire on this machine",
		Long: "Lateness starts timers, one at a time, on the wheel's real-time driver and on\n" +
			"the Go runtime. It reports how late they expire: after the tick, which is this\n" +
			"machine's lateness, and after the deadline, which includes rounding up to the\n" +
			"tick. Run it on an idle machine." +
			"\n\nSources: " + strings.Join(wheelbench.LatenessSources(), ", ") + ". Definitions: go doc\n" +
			"tcpwheel/wheel/wheelbench.\n\n" +
			"It exits with 3 if a timer of the wheel expired early.",
		Example: "  tcpwheel wheel lateness --tick 100us --for 20s",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.Samples, err = samplesFor(span, o); err != nil {
				return usage(cmd, err)
			}
			if progress := cmd.ErrOrStderr(); isTerminal(progress) {
				o.Progress = func(done, total int) {
					if done%(total/100+1) == 0 {
						fmt.Fprintf(progress, "\r\x1b[K[%d/%d] timers", done, total)
					}
				}
				defer fmt.Fprint(progress, "\r\x1b[K")
			}
			report, err := wheelbench.MeasureLateness(cmd.Context(), o)
			var system *os.SyscallError
			switch {
			case errors.As(err, &system) || cmd.Context().Err() != nil:
				return err
			case err != nil:
				return usage(cmd, err)
			case asJSON:
				err = newJSONLines(cmd.OutOrStdout()).Encode(report)
			default:
				err = report.WriteTable(cmd.OutOrStdout())
			}
			if err != nil {
				return err
			}
			return early(report)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Scheme, "scheme", wheel.Default, "scheme of the wheel")
	durationFlag(f, &o.Tick, "tick", "100us", "granularity of the timers")
	f.DurationSliceVar(&o.Intervals, "intervals", []time.Duration{100 * time.Microsecond, time.Millisecond, 10 * time.Millisecond},
		"durations of the timers")
	f.StringSliceVar(&o.Sources, "sources", o.Sources, "timers to measure")
	durationFlag(f, &span, "for", "10s", "approximate time of the run")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the random offset within a tick")
	f.BoolVar(&o.NoSpin, "no-spin", false, "sleep to the end, without spinning the last microseconds")
	f.BoolVar(&asJSON, "json", false, "print one JSON object per line")
	return cmd
}

// samplesFor returns how many timers of each source and interval take about span, one after
// another.
func samplesFor(span time.Duration, o wheelbench.LatenessOptions) (int, error) {
	switch {
	case len(o.Sources) == 0:
		return 0, fmt.Errorf("no source, want some of %s", strings.Join(wheelbench.LatenessSources(), ", "))
	case len(o.Intervals) == 0:
		return 0, errors.New("no interval, want one at least")
	}
	const late = 500 * time.Microsecond // average over the sources
	var round time.Duration
	for _, d := range o.Intervals {
		round += time.Duration(len(o.Sources)) * (d + o.Tick + late)
	}
	if span < round || round <= 0 {
		return 0, fmt.Errorf("for %v, want at least %v: a timer of each source and interval", span, round)
	}
	return int(span / round), nil
}

// early returns a violation if a timer of the wheel expired before its deadline or its tick.
func early(r wheelbench.LatenessReport) error {
	for _, s := range r.Series {
		if s.Source == wheelbench.Runtime {
			continue
		}
		first := s.Deadline.Sorted[0]
		if s.AtTick != nil {
			first = min(first, s.AtTick.Sorted[0])
		}
		if first < 0 {
			return &violation{fmt.Errorf("a timer of %v on %s expired %v early", s.Interval, s.Source, -first)}
		}
	}
	return nil
}
