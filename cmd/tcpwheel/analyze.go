package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/track"
)

// analysis is a run of analyze.
type analysis struct {
	asJSON, asCSV bool
	csvConns      bool // with asCSV: connections instead of episodes
	top           int
	all           bool
	details       bool
	filter        connFilter
	maxConns      int
	reports       reports

	stdout, stderr io.Writer
	enc            *json.Encoder
	csv            *csv.Writer
	printed        bool // a summary was printed
}

func newAnalyze() *cobra.Command {
	var (
		a        analysis
		from, to string
		conns    []string
	)
	cmd := &cobra.Command{
		Use:   "analyze FILE...",
		Short: "report the losses in captures: why, whether needed, and their cost",
		Long: "Analyze follows the TCP connections of captures and finds each loss episode:\n" +
			"what was retransmitted, whether a timer or ACKs caused it, whether it was\n" +
			"needed, and how long the repair took. FILE - is standard input. It reads pcap\n" +
			"and pcapng, plain or compressed.\n\n" +
			"D is the time from a transmission to the first retransmission, and T_rec to\n" +
			"the acknowledgement, by the sender's clock. The tax is the part of D that a\n" +
			"timer with an exact clock and no floor, or ACKs if any came, would have saved.\n\n" +
			"With --json it prints a line for each connection and episode, and at last for\n" +
			"each host and the file; with --csv a table of the episodes, with --csv-conns one\n" +
			"of the connections. docs/captures.md has the words and the fields.",
		Example: "  tcpwheel analyze --conn :443 lossy.pcapng.gz\n" +
			"  tcpwheel analyze --html page.html --annotate notes.pcapng lossy.pcap",
		RunE: func(cmd *cobra.Command, files []string) error {
			switch {
			case len(files) == 0:
				return usage(cmd, errors.New("analyze: no file given"))
			case a.asJSON && a.asCSV:
				return usage(cmd, errors.New("analyze: --json and --csv, want one of them"))
			case a.csvConns && (a.asJSON || a.asCSV):
				return usage(cmd, errors.New("analyze: --csv-conns and --json or --csv, want one of them"))
			case a.top < 0:
				return usage(cmd, fmt.Errorf("top %d, want 0 or more", a.top))
			case a.maxConns < 1:
				return usage(cmd, fmt.Errorf("max-conns %d, want at least 1", a.maxConns))
			}
			a.asCSV = a.asCSV || a.csvConns
			err := a.reports.check(cmd.Flags().Changed, files)
			if err != nil {
				return usage(cmd, err)
			}
			if a.filter, err = parseConnFilter(conns, from, to); err != nil {
				return usage(cmd, err)
			}
			a.stdout, a.stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return a.run(cmd, files)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&conns, "conn", nil, "only this `connection`: its number, or an end,\nas 10.0.0.1, 10.0.0.1:80 or :80")
	f.StringVar(&from, "from", "", "only from that `time` on: 2026-01-02T15:04:05Z,\nor since the first packet, as 1.5s")
	f.StringVar(&to, "to", "", "only up to that `time`")
	f.IntVar(&a.top, "top", 10, "episodes in the table, the longest")
	f.BoolVar(&a.all, "all", false, "show all episodes, by connection")
	f.BoolVar(&a.details, "details", false, "show kinds, hosts with their timers, and what else\nwas seen")
	f.IntVar(&a.maxConns, "max-conns", 1<<18, "connections at once, to bound memory")
	f.BoolVar(&a.asJSON, "json", false, "print one JSON object per line")
	f.BoolVar(&a.asCSV, "csv", false, "print the episodes as CSV")
	f.BoolVar(&a.csvConns, "csv-conns", false, "print the connections as CSV, a line for each\ndirection")
	f.StringVar(&a.reports.html, "html", "", "write a page with diagrams to this `file` too")
	f.StringVar(&a.reports.annotate, "annotate", "", "write a copy of the capture to this `file` too, as\npcapng with comments that Wireshark shows")
	return cmd
}

// run analyses the files in order. A file that cannot be read does not stop the run.
func (a *analysis) run(cmd *cobra.Command, files []string) error {
	a.enc = newJSONLines(a.stdout)
	if a.asCSV {
		a.csv = csv.NewWriter(a.stdout)
		if err := a.csv.Write(a.header()); err != nil {
			return err
		}
	}
	var failed error
	for _, name := range files {
		err := a.file(cmd, name)
		if cmd.Context().Err() != nil {
			return cmd.Context().Err()
		}
		var broken *outputError
		if errors.As(err, &broken) {
			return broken.err
		}
		if err != nil && failed != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "tcpwheel: error: %v\n", failed)
		}
		if err != nil {
			failed = err
		}
	}
	if err := a.reports.write(); err != nil && failed == nil {
		failed = err
	}
	return failed
}

// header returns the columns of CSV.
func (a *analysis) header() []string {
	if a.csvConns {
		return flowHeader()
	}
	return episodeHeader()
}

// outputError is a failure to write results. It stops the run.
type outputError struct{ err error }

func (e *outputError) Error() string { return e.err.Error() }

// file analyses one file. It analyses a truncated file up to the cut, and says so.
func (a *analysis) file(cmd *cobra.Command, name string) error {
	s := newSummary(name, a)
	rep := a.reports.begin(name)
	var wrong error
	tracker := track.New(track.Config{MaxConns: a.maxConns, Event: rep.event(), Reuse: rep == nil, Done: func(c *track.Conn) {
		skipped := s.skips(c)
		if wrong == nil && !skipped {
			wrong = s.add(c)
		}
		rep.done(c, !skipped, func(e *track.Episode) bool { return a.filter.hasTime(e.Seen, s.first) })
	}})
	stats, err := readCaptureAndICMP(cmd, name, tracker.TooBig, func(p *capture.Packet) error {
		s.first = p.Time.Add(-p.Since)
		tracker.Add(p)
		return wrong
	})
	if cmd.Context().Err() != nil {
		return cmd.Context().Err()
	}
	if err != nil && stats.Packets == 0 && !errors.Is(err, capture.ErrCutShort) {
		rep.unread(err)
		return err // nothing was read
	}
	tracker.Close()
	s.stats, s.evicted = stats, tracker.Evicted()
	if errors.Is(err, capture.ErrCutShort) {
		fmt.Fprintf(cmd.ErrOrStderr(), "tcpwheel: %v; what comes before was analysed\n", err)
		s.cut, err = true, nil
	}
	if wrong == nil {
		wrong = s.write()
	}
	if wrong != nil {
		return &outputError{wrong}
	}
	if failed := a.reports.end(cmd, rep, s, err); err == nil {
		err = failed
	}
	return err
}
