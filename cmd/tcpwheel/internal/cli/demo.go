//go:build !js

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tcpwheel/cmd/tcpwheel/internal/demo"
	"tcpwheel/cmd/tcpwheel/internal/lanes"
	"tcpwheel/internal/record"
	"tcpwheel/internal/setting"
	"tcpwheel/wheel"
)

func newDemo() *cobra.Command {
	var (
		seed    uint64
		names   []string
		span    time.Duration
		listen  string
		asJSON  bool
		actions string
		values  = map[string]*string{}
	)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "watch fine timers next to coarse ones, in a terminal and a browser",
		Long: `Demo runs the same requests and the same losses over TCPs that differ in one thing, side by side, in virtual time: a clock of 500 ms and one of 1 ms. It needs no root and no network.

In a terminal it serves a page at the address that it prints: the timing wheels, the packets, slow motion, and the next steps: no floor, RACK and TLP, a timer per segment. Enter in the terminal, or d in the page, loses the end of the next response in all lanes, and both say which timer repaired it. With --json or --for, or without a terminal and --listen, it runs as fast as it can and prints the result. The same seed and actions give the same result.

--lanes is a comparison (` + strings.Join(comparisonKeys(), ", ") + `), or timer policies (tcpwheel help policies), or gvisor for gVisor's own TCP.`,
		Example: "  tcpwheel demo\n" +
			"  tcpwheel demo --lanes per-segment@1ms,per-segment@100ms,gvisor --loss 5%\n" +
			"  tcpwheel demo --json --for 30s --actions 2s:tail=1,5s:delay=100ms",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := lanes.DefaultConditions()
			for _, s := range setting.All(c) {
				if text := *values[s.Name]; text != "" {
					if err := c.Set(s.Name, text); err != nil {
						return usage(cmd, fmt.Errorf("--%w", err))
					}
				}
			}
			todo, err := lanes.ParseActions(actions)
			if err != nil {
				return usage(cmd, fmt.Errorf("--actions: %w", err))
			}
			if span < 0 || span > time.Hour {
				return usage(cmd, fmt.Errorf("--for %v, want 1ms to 1h of virtual time", span))
			}
			out := cmd.OutOrStdout()
			live := !asJSON && span == 0 && (isTerminal(out) || cmd.Flags().Changed("listen"))
			if span == 0 {
				span = 10 * time.Second
			}
			if n := len(todo); !live && n > 0 && todo[n-1].At > wheel.Time(span) {
				return usage(cmd, fmt.Errorf("--actions: %v is after the end of the run, want at most %v (--for)", todo[n-1], span))
			}
			run, err := lanes.NewRun(seed, names, c, todo)
			if err != nil {
				return usage(cmd, err)
			}
			if !live {
				defer run.Close()
				return demoResult(cmd.Context(), out, run, span, asJSON)
			}
			return demoLive(cmd.Context(), cmd.InOrStdin(), out, run, listen)
		},
	}
	f := cmd.Flags()
	f.Uint64Var(&seed, "seed", 1, "seed of requests and losses")
	f.StringSliceVar(&names, "lanes", []string{lanes.Comparisons[0].Key}, "a comparison, or timer policies, at most "+strconv.Itoa(lanes.MaxLanes))
	durationFlag(f, &span, "for", "", "virtual time to run, as fast as possible")
	f.StringVar(&listen, "listen", "127.0.0.1:0", "address of the page")
	f.BoolVar(&asJSON, "json", false, "print one JSON object per lane")
	f.StringVar(&actions, "actions", "", "changes during the run, such as 2s:tail=1,4s:loss=5%")
	for _, s := range setting.All(lanes.Conditions{}) {
		values[s.Name] = f.String(s.Name, "", s.Help)
	}
	return cmd
}

func comparisonKeys() (keys []string) {
	for _, c := range lanes.Comparisons {
		keys = append(keys, c.Key)
	}
	return keys
}

// demoResult runs for a span and prints the result.
func demoResult(ctx context.Context, out io.Writer, run *lanes.Run, span time.Duration, asJSON bool) error {
	for run.Now() < wheel.Time(span) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := run.AdvanceTo(min(wheel.Time(span), run.Now().Add(100*time.Millisecond))); err != nil {
			return err
		}
	}
	results := run.Results()
	if asJSON {
		return writeRecords(out, results)
	}
	lost := run.LossText()
	if lost != "" {
		lost = "\n" + lost
	}
	_, err := fmt.Fprintf(out, "%s%s\n%v of virtual time, seed %d, sums over all connections:\n\n%s", paragraph(run.Heading()+"."),
		fill(lanes.Verdict(results)), span, run.Seed, laneTables(results)+lost)
	return err
}

// The tables of results.
var laneLayouts = []*record.Layout[lanes.Result]{
	record.NewLayout[lanes.Result]("%-17label %9response_p50_s %9response_p99_s %9recovery_p50_s %9recovery_p99_s %9time_lost_s"),
	record.NewLayout[lanes.Result]("%-17label %9responses %9recoveries %9spurious_retransmissions %9timers_started %9timers_stopped %9timers_expired"),
}

// laneTables returns the results as tables, a lane a row.
func laneTables(all []lanes.Result) string {
	var tables []string
	for _, l := range laneLayouts {
		text := l.Head()
		for _, r := range all {
			text += longCell(&r.Label, 17, 0) + l.Row(&r)
		}
		tables = append(tables, text)
	}
	return strings.Join(tables, "\n")
}

// fill breaks the lines of a text as those of a terminal.
func fill(text string) (filled string) {
	for line := range strings.SplitSeq(text, "\n") {
		filled += paragraph(line)
	}
	return filled
}

// isInteractive reports whether input is a terminal.
func isInteractive(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && isTerminal(f)
}

// readDrops calls drop for each line of a terminal. Its goroutine ends with the input.
func readDrops(in io.Reader, drop func()) {
	if !isInteractive(in) {
		return
	}
	go func() {
		for lines := bufio.NewScanner(in); lines.Scan(); {
			drop()
		}
	}()
}

// demoLive serves the page until ctx ends, and then prints the results. A terminal shows how the lanes
// do, and what became of a loss.
func demoLive(ctx context.Context, in io.Reader, out io.Writer, run *lanes.Run, listen string) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		run.Close()
		return err
	}
	collectOften()
	debug.SetMemoryLimit(lanes.MemoryLimit)
	s := demo.NewServer(run, l.Addr())
	defer s.Close()
	web := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 2)
	enter := ""
	if isInteractive(in) {
		enter = "Enter loses the end of the next response. "
	}
	fmt.Fprintf(out, "The page: %s\n%s%sCtrl-C ends it, with the results.\n", s.URL(l.Addr()), paragraph(s.State().Heading+"."), enter)
	go func() { failed <- web.Serve(l) }()
	defer web.Close()
	readDrops(in, func() {
		_ = s.Do("tail", "1") // it fails after MaxActions
	})
	drive, stop := context.WithCancel(ctx)
	defer stop()
	go func() { failed <- s.Drive(drive) }()
	status, said := statusLine{w: out}, ""
	status.start(func(time.Duration) string {
		state := s.State()
		if loss := state.Loss; loss != said && strings.Count(loss, "repaired in") == len(state.Results) {
			said = loss
			status.print(strings.TrimSpace(loss))
		}
		return liveText(&state)
	})
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	status.stop()
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	results := s.State().Results
	_, err = fmt.Fprintf(out, "%s\n%s", laneTables(results), fill(lanes.Verdict(results)))
	return err
}

// liveText is the line that a terminal shows of a run.
func liveText(state *demo.State) string {
	text := fmt.Sprintf("%.1f s", state.Results[0].Time)
	if state.Paused {
		text = "paused at " + text
	}
	for _, r := range state.Results {
		text += fmt.Sprintf("  %s lost %.1f s in %d", r.Label, r.TimeLost, r.Recoveries)
	}
	return text
}
