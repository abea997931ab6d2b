package cli

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"tcpwheel/internal/record"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/tasks"
	"tcpwheel/pcaps/track"
)

// analysis is a run of analyze.
type analysis struct {
	asJSON, asCSV bool
	csvConns      bool // with asCSV: connections instead of episodes
	top           int
	all           bool
	details       bool
	explain       int64 // a packet, for its episode
	filter        connFilter
	maxConns      int
	reports       *reports
	jobs          int
	shard         string
	following     bool
	live          *live // with --follow

	stdout, stderr io.Writer
	enc            *json.Encoder
	csv            *csv.Writer
	progress       *readProgress // nil for a single file
	shares         int           // goroutines that follow the connections of a file
}

func newAnalyze() *cobra.Command {
	var (
		a        = analysis{reports: &reports{}}
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
			"of the connections. With --follow it prints a line for each recovery as soon as it\n" +
			"is settled, and the rest at the end of the stream or after Ctrl-C. docs/captures.md has the words and the fields.\n\n" + inputHelp + "\n" +
			"docs/corpora.md has thousands of them, on many machines.",
		Example: "  tcpwheel analyze sample:burst\n" +
			"  tcpwheel samples captures\n" +
			"  tcpwheel analyze --html page.html captures/burst/a.pcapng.gz\n" +
			"  tcpwheel analyze --annotate notes.pcapng captures/burst/a.pcapng.gz\n" +
			"  tcpwheel analyze --conn :24600 captures/burst/b.pcapng.gz\n" +
			"  tcpwheel analyze --csv 'captures/*/*.pcapng.gz'\n" +
			"  tcpwheel analyze --follow - < captures/outage/a.pcapng.gz",
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
			case a.explain < 0:
				return usage(cmd, fmt.Errorf("explain %d, want a packet from 1 on", a.explain))
			case a.explain > 0 && (a.asJSON || a.asCSV || a.csvConns):
				return usage(cmd, errors.New("analyze: --explain and --json or --csv, want one of them"))
			case a.jobs < 0 || a.jobs > 4096:
				return usage(cmd, fmt.Errorf("jobs %d, want 0 to 4096", a.jobs))
			case a.maxConns < 1:
				return usage(cmd, fmt.Errorf("max-conns %d, want at least 1", a.maxConns))
			}
			if err := a.checkFollow(cmd.Flags().Changed, files); err != nil {
				return usage(cmd, err)
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
	f.StringArrayVar(&conns, "conn", nil, "only this `connection`: its number, or an end, as 10.0.0.1, 10.0.0.1:80 or :80")
	f.StringVar(&from, "from", "", "only from that `time` on: 2026-01-02T15:04:05Z, or since the first packet, as 1.5s")
	f.StringVar(&to, "to", "", "only up to that `time`")
	f.IntVar(&a.top, "top", 10, "episodes in the table, the longest")
	f.BoolVar(&a.all, "all", false, "show all episodes, by connection")
	f.BoolVar(&a.details, "details", false, "show kinds, hosts with their timers, and what else was seen")
	f.Int64Var(&a.explain, "explain", 0, "show what the report of the episode with this retransmission, a `packet`, rests on")
	f.IntVar(&a.maxConns, "max-conns", 1<<18, fmt.Sprintf("connections at once, to bound memory; %d with --follow unless given", followedConns))
	f.BoolVar(&a.asJSON, "json", false, "print one JSON object per line")
	f.BoolVar(&a.asCSV, "csv", false, "print the episodes as CSV")
	f.BoolVar(&a.csvConns, "csv-conns", false, "print the connections as CSV, a line for each direction")
	f.StringVar(&a.reports.html, "html", "", "write a page with diagrams to this `file` too")
	f.StringVar(&a.reports.annotate, "annotate", "", "write a copy of the capture to this `file` too, as pcapng with comments that Wireshark shows")
	f.BoolVar(&a.following, "follow", false, "read a stream or a growing file, and print each recovery as soon as it is settled; Ctrl-C ends it")
	f.IntVarP(&a.jobs, "jobs", "j", 0, "captures at a time; 0 is the number of processors. The connections of fewer are spread over them")
	f.StringVar(&a.shard, "shard", "", "only a part of the captures, by size: `i/n`, auto or auto/n")
	return cmd
}

// run analyses the files, several at a time, and prints in their order. A file that cannot be read
// does not stop the run.
func (a *analysis) run(cmd *cobra.Command, args []string) error {
	objects, err := listCaptures(args)
	if err != nil {
		return err
	}
	if objects, err = shardOf(a.shard, objects); err != nil {
		return usage(cmd, err)
	}
	if a.reports.annotate != "" && len(objects) != 1 {
		return usage(cmd, fmt.Errorf("analyze: --annotate copies one file, and there are %d", len(objects)))
	}
	out, err := a.begin()
	if err != nil {
		return err
	}
	if a.following {
		a.live = newLive(cmd)
	} else {
		collectRarely()
	}
	workers := cmp.Or(a.jobs, runtime.GOMAXPROCS(0))
	a.shares = min(workers/max(len(objects), 1), maxShares)
	if a.reports.html != "" || a.reports.annotate != "" {
		workers = 1 // the page is written in order
	}
	if len(objects) > 1 {
		a.progress = newProgress(objects)
		defer a.progress.show(a.stderr)()
	}
	var (
		failed error
		others notCaptures
	)
	err = tasks.Each(cmd.Context(), len(objects), workers, func(_ context.Context, i int) error {
		turn := out.of(i)
		wrong := a.writingTo(turn).file(cmd, &objects[i])
		if others.has(&objects[i], wrong) {
			wrong = nil
		}
		lost := turn.done(func() {
			if wrong != nil && failed != nil {
				fmt.Fprintf(a.stderr, "tcpwheel: error: %v\n", failed)
			}
			failed = cmp.Or(wrong, failed)
		})
		var broken *outputError
		if errors.As(wrong, &broken) {
			return broken.err
		}
		return lost
	})
	if cmd.Context().Err() != nil {
		return cmd.Context().Err()
	}
	if err == nil {
		err = cmp.Or(others.end(a.stderr, len(objects)), a.reports.write())
	}
	return cmp.Or(failed, err)
}

// begin writes the header of CSV and returns the output, which the files write in turn.
func (a *analysis) begin() (*turns, error) {
	if !a.asCSV {
		separator := "\n"
		if a.asJSON {
			separator = ""
		}
		return newTurns(a.stdout, separator), nil
	}
	header := csv.NewWriter(a.stdout)
	header.Write(a.header())
	header.Flush()
	return newTurns(a.stdout, ""), header.Error()
}

// writingTo returns the analysis of one file, which prints to w.
func (a *analysis) writingTo(w io.Writer) *analysis {
	one := *a
	one.stdout, one.enc, one.csv = w, newJSONLines(w), csv.NewWriter(w)
	return &one
}

// header returns the columns of CSV.
func (a *analysis) header() []string {
	if a.csvConns {
		return record.Header[flowRow]()
	}
	return record.Header[track.EpisodeRecord]()
}

// outputError is a failure to write results. It stops the run.
type outputError struct{ err error }

func (e *outputError) Error() string { return e.err.Error() }

// file analyses one file. It analyses a truncated file up to the cut, and says so. A panic is an
// error of the file.
func (a *analysis) file(cmd *cobra.Command, o *captureFile) error {
	s := newSummary(o.Name, a)
	rep := a.reports.begin(o.Name)
	var err error
	if failed := track.Guard(func() error { err = a.read(cmd, o, s, rep); return nil }); failed != nil {
		err = fmt.Errorf("%s: %w", o.Name, failed)
	}
	if a.progress != nil {
		a.progress.files.Add(1)
	}
	if cmd.Context().Err() != nil {
		return cmd.Context().Err()
	}
	var broken *outputError
	if errors.As(err, &broken) {
		return err
	}
	if s.cut = errors.Is(err, capture.ErrCutShort); s.cut {
		fmt.Fprintf(cmd.ErrOrStderr(), "tcpwheel: %v; what comes before was analysed\n", err)
		err = nil
	}
	if err != nil {
		s.err = err.Error()
	}
	if err != nil && s.stats.Packets == 0 {
		rep.unread(err)
		if a.asJSON && !(o.Listed && errors.Is(err, capture.ErrNotCapture)) {
			return cmp.Or(a.enc.Encode(s.record()), err)
		}
		return err // nothing was read
	}
	if wrong := s.write(); wrong != nil {
		return &outputError{wrong}
	}
	if failed := a.reports.end(cmd, rep, o, s, err); err == nil {
		err = failed
	}
	return err
}

// read passes the connections of a file to its summary and its reports.
func (a *analysis) read(cmd *cobra.Command, o *captureFile, s *summary, rep *fileReport) (err error) {
	if a.live != nil {
		return a.follow(cmd, o, s, rep)
	}
	var wrong error
	cfg := track.Config{MaxConns: a.maxConns, Event: rep.event(), Reuse: rep == nil, Done: func(c *track.Conn) {
		s.first = c.Origin
		skipped := s.skips(c)
		if wrong == nil && !skipped {
			wrong = s.add(c)
		}
		rep.done(c, !skipped, func(e *track.Episode) bool { return a.filter.hasTime(e.Seen, s.first) })
	}}
	if a.shares > 1 && rep == nil {
		s.stats, s.evicted, err = a.readShares(cmd, o, cfg, &wrong)
	} else {
		tracker := track.New(cfg)
		s.stats, err = readCapture(cmd, o, a.progress, tracker.ICMP, func(p *capture.Packet) error {
			tracker.Add(p)
			return wrong
		})
		tracker.Close()
		s.evicted = tracker.Evicted()
	}
	if wrong != nil {
		return &outputError{wrong}
	}
	return err
}

// maxShares bounds the shares of a capture, as each reads all of its records.
const maxShares = 16

// readShares follows the connections of a file on several goroutines, until *wrong is an error.
func (a *analysis) readShares(cmd *cobra.Command, o *captureFile, cfg track.Config, wrong *error) (stats capture.Stats, evicted int, err error) {
	stats, err = readWith(cmd, o, a.progress, func(r *capture.Reader) (capture.Stats, error) {
		done := cfg.Done
		cfg.Done = func(c *track.Conn) {
			if done(c); *wrong != nil {
				r.Stop()
			}
		}
		shares := r.Share(a.shares)
		evicted, err = track.FollowShares(cfg, shares)
		return capture.StatsOf(shares), err
	})
	return stats, evicted, err
}
