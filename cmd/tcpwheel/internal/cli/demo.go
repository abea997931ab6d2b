//go:build !js

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"tcpwheel/cmd/tcpwheel/internal/demo"
	"tcpwheel/cmd/tcpwheel/internal/lanes"
	"tcpwheel/internal/setting"
	"tcpwheel/wheel"
)

func newDemo() *cobra.Command {
	var (
		seed    uint64
		names   []string
		span    time.Duration
		listen  string
		noPage  bool
		asJSON  bool
		actions string
		values  = map[string]*string{}
	)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "watch fine timers next to coarse ones, in a terminal and a browser",
		Long: "Demo runs the same load and the same losses over several TCPs side by side, in virtual time: by default a\n" +
			"timer per segment, Linux's timers, and 4.4BSD's 200/500 ms ticks. It needs no root and no network.\n\n" +
			"In a terminal it shows a live table and serves a page at the address that it prints: the timing wheels, the\n" +
			"packets, slow motion, and buttons that lose packets or change the path. Enter in the terminal, or d in the page,\n" +
			"loses the end of the next response in all lanes, and both show which timer repaired it. Elsewhere, or with\n" +
			"--json or --for, it runs as fast as it can and prints the result. The same seed and actions give the same\n" +
			"result.\n\n" +
			"A lane is a timer policy of tcpwheel, with a tick if you like, or gvisor for gVisor's own TCP.",
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
			run, err := lanes.NewRun(seed, names, c, todo)
			if err != nil {
				return usage(cmd, err)
			}
			out := cmd.OutOrStdout()
			if asJSON || span > 0 || !isTerminal(out) {
				defer run.Close()
				if span == 0 {
					span = 10 * time.Second
				}
				return demoResult(cmd.Context(), out, run, span, asJSON)
			}
			return demoLive(cmd.Context(), cmd.InOrStdin(), out, run, listen, noPage)
		},
	}
	f := cmd.Flags()
	f.Uint64Var(&seed, "seed", 1, "seed of requests and losses")
	f.StringSliceVar(&names, "lanes", lanes.DefaultLanes, "timer policies, or gvisor, at most "+strconv.Itoa(lanes.MaxLanes))
	durationFlag(f, &span, "for", "", "virtual time to run, as fast as possible")
	f.StringVar(&listen, "listen", "127.0.0.1:0", "address of the page")
	f.BoolVar(&noPage, "no-page", false, "serve no page")
	f.BoolVar(&asJSON, "json", false, "print one JSON object per lane")
	f.StringVar(&actions, "actions", "", "changes during the run, such as 2s:tail=1,4s:loss=5%")
	for _, s := range setting.All(lanes.Conditions{}) {
		values[s.Name] = f.String(s.Name, "", s.Help)
	}
	return cmd
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
	_, err := fmt.Fprintf(out, "%s\n\n%v of virtual time, seed %d:\n\n%s", lanes.Verdict(results), span, run.Seed, lanes.Table(results, math.MaxInt)+lost)
	return err
}

// narrow breaks the lines of a text between words so that each fits a width. What follows a break
// is indented.
func narrow(text string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line, end := strings.CutSuffix(line, "\n")
		column := 0
		for i, word := range strings.SplitAfter(line, " ") {
			if n := utf8.RuneCountInString(strings.TrimRight(word, " ")); i > 0 && column > 0 && column+n > width {
				b.WriteString("\n    ")
				column = 4
			}
			b.WriteString(word)
			column += utf8.RuneCountInString(word)
		}
		if end {
			b.WriteString("\n")
		}
	}
	return b.String()
}

// widthOf returns the width of a terminal, 80 if the system does not say it.
func widthOf(out io.Writer) int {
	if f, ok := out.(*os.File); ok {
		if n, ok := windowColumns(f); ok {
			return n
		}
	}
	return terminalColumns
}

// readDrops calls drop for each line of a terminal. Its goroutine ends with the input.
func readDrops(in io.Reader, drop func()) {
	if f, ok := in.(*os.File); !ok || !isTerminal(f) {
		return
	}
	go func() {
		for lines := bufio.NewScanner(in); lines.Scan(); {
			drop()
		}
	}()
}

// demoLive shows a table that is brought up to date twice a second, and serves the page, until ctx
// ends.
func demoLive(ctx context.Context, in io.Reader, out io.Writer, run *lanes.Run, listen string, noPage bool) error {
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
	if noPage {
		l.Close()
	} else {
		fmt.Fprintf(out, "The page: %s\n", s.URL(l.Addr()))
		go func() { failed <- web.Serve(l) }()
		defer web.Close()
	}
	var entered atomic.Int32 // lines since the table was drawn: each moved it up
	readDrops(in, func() {
		entered.Add(1)
		_ = s.Do("tail", "1") // it fails after MaxActions
	})
	drive, stop := context.WithCancel(ctx)
	defer stop()
	go func() { failed <- s.Drive(drive) }()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	lines := 0
	for {
		select {
		case err := <-failed:
			if err == nil || errors.Is(err, http.ErrServerClosed) {
				return nil
			}
			return err
		case <-ctx.Done():
			results := s.State().Results
			width := widthOf(out)
			fmt.Fprintf(out, "\x1b[%dA\x1b[J%s\n%s\n", lines, lanes.Table(results, width), narrow(lanes.Verdict(results), width))
			return nil
		case <-tick.C:
			text := liveText(s.State(), widthOf(out))
			lines += int(entered.Swap(0))
			if lines > 0 {
				fmt.Fprintf(out, "\x1b[%dA\x1b[J", lines)
			}
			io.WriteString(out, text)
			lines = strings.Count(text, "\n")
		}
	}
}

// liveText is what a terminal of a width shows of a run.
func liveText(state demo.State, width int) string {
	text := lanes.Table(state.Results, width) + "\n" + state.Loss
	switch {
	case state.Work != nil:
		text += fmt.Sprintf("Running again: %s, %.0f %%.\n", state.Work.What, 100*state.Work.Done)
	case state.Paused:
		text += "Paused by the page.\n"
	}
	return narrow(text+"Enter loses the end of the next response. Ctrl-C ends it, with a verdict.\n", width)
}
