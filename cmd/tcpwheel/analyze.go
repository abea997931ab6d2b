package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/track"
)

// analysis is analyze at work.
type analysis struct {
	asJSON, asCSV bool
	top           int
	all           bool
	filter        connFilter
	maxConns      int

	stdin          io.Reader
	stdout, stderr io.Writer
	enc            *json.Encoder
	printed        bool // a summary
	csv            *csv.Writer
}

func newAnalyze() *cobra.Command {
	var (
		a        analysis
		from, to string
		conns    []string
	)
	cmd := &cobra.Command{
		Use:   "analyze FILE...",
		Short: "tell of captures, loss by loss, what was sent again and what it cost",
		Long: "Analyze follows the TCP connections of captures and finds each loss episode:\n" +
			"what was retransmitted, whether a timer or ACKs made it leave, whether it was\n" +
			"needed, and how long the repair took. A FILE that is - is standard input. It\n" +
			"reads pcap and pcapng, plain or compressed.\n\n" +
			"D is the time from a transmission to the first retransmission, and T_rec to\n" +
			"the acknowledgement, by the sender's clock. The tax is what of D a timer with\n" +
			"an exact clock and no floor, or ACKs if there were some, would have saved.\n\n" +
			"With --json it prints a line for each connection, for each episode and, at\n" +
			"last, for the file; with --csv a table of the episodes. docs/captures.md has\n" +
			"the fields, and what other tools make of the same captures.",
		Example: "  tcpwheel analyze --conn :443 lossy.pcapng.gz",
		RunE: func(cmd *cobra.Command, files []string) error {
			switch {
			case len(files) == 0:
				return usage(cmd, errors.New("analyze: no file given"))
			case a.asJSON && a.asCSV:
				return usage(cmd, errors.New("analyze: --json and --csv, want one of them"))
			case a.top < 0:
				return usage(cmd, fmt.Errorf("top %d, want 0 or more", a.top))
			case a.maxConns < 1:
				return usage(cmd, fmt.Errorf("max-conns %d, want at least 1", a.maxConns))
			}
			var err error
			if a.filter, err = parseConnFilter(conns, from, to); err != nil {
				return usage(cmd, err)
			}
			a.stdin, a.stdout, a.stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			return a.run(cmd.Context(), files)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&conns, "conn", nil, "only this `connection`: its number, or an end,\nas 10.0.0.1, 10.0.0.1:80 or :80")
	f.StringVar(&from, "from", "", "only from that `time` on: 2026-01-02T15:04:05Z,\nor since the first packet, as 1.5s")
	f.StringVar(&to, "to", "", "only up to that `time`")
	f.IntVar(&a.top, "top", 10, "episodes in the table, the longest")
	f.BoolVar(&a.all, "all", false, "show all episodes, by connection")
	f.IntVar(&a.maxConns, "max-conns", 1<<18, "connections at once, to bound memory")
	f.BoolVar(&a.asJSON, "json", false, "print one JSON object per line")
	f.BoolVar(&a.asCSV, "csv", false, "print the episodes as CSV")
	return cmd
}

// run analyses the files, one after the other. One that cannot be read does not keep the others from it.
func (a *analysis) run(ctx context.Context, files []string) error {
	a.enc = json.NewEncoder(a.stdout)
	a.enc.SetEscapeHTML(false)
	if a.asCSV {
		a.csv = csv.NewWriter(a.stdout)
		if err := a.csv.Write(csvHeader()); err != nil {
			return err
		}
	}
	var failed error
	for _, name := range files {
		err := a.file(ctx, name)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var broken *outputError
		if errors.As(err, &broken) {
			return broken.err
		}
		if err != nil && failed != nil {
			fmt.Fprintf(a.stderr, "tcpwheel: error: %v\n", failed)
		}
		if err != nil {
			failed = err
		}
	}
	return failed
}

// outputError is one of writing results: there is no use in going on.
type outputError struct{ err error }

func (e *outputError) Error() string { return e.err.Error() }

// file analyses one file. One that is cut short is analysed up to the cut, and that is said.
func (a *analysis) file(ctx context.Context, name string) error {
	var (
		r   *capture.Reader
		err error
	)
	if name == "-" {
		r, err = capture.NewReader(a.stdin, "standard input")
	} else {
		r, err = capture.Open(name)
	}
	if err != nil {
		return err
	}
	defer r.Close()
	s := newSummary(r.Name(), a)
	var wrong error
	tracker := track.New(track.Config{MaxConns: a.maxConns, Done: func(c *track.Conn) {
		if wrong == nil && !s.skips(c) {
			wrong = s.add(c)
		}
	}})
	progress := progressOf(r, a.stderr)
	for n := 0; ; n++ {
		var p *capture.Packet
		if p, err = r.Next(); err != nil {
			break
		}
		if n == 0 {
			s.begin(p.Time)
		}
		tracker.Add(p)
		if n&0xfff == 0xfff {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if wrong != nil {
				break
			}
			progress()
		}
	}
	tracker.Close()
	s.stats, s.evicted = r.Stats(), tracker.Evicted()
	if err == io.EOF {
		err = nil
	}
	if errors.Is(err, capture.ErrCutShort) {
		fmt.Fprintf(a.stderr, "tcpwheel: %v; what comes before was analysed\n", err)
		s.cut, err = true, nil
	}
	if wrong == nil {
		wrong = s.write()
	}
	if wrong != nil {
		return &outputError{wrong}
	}
	return err
}

// progressOf returns what is to be called now and then: on a terminal it tells how far the file is read, each second from the second on.
func progressOf(r *capture.Reader, stderr io.Writer) func() {
	f, ok := stderr.(*os.File)
	if !ok {
		return func() {}
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return func() {}
	}
	last := time.Now().Add(time.Second)
	return func() {
		if time.Since(last) < time.Second {
			return
		}
		last = time.Now()
		if read, size := r.Progress(); size > 0 {
			fmt.Fprintf(f, "%s: %d%% of %d MB\r", r.Name(), 100*read/size, size>>20)
		}
	}
}
