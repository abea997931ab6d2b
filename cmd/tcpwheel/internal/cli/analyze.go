package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/spf13/cobra"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/tasks"
	"tcpwheel/pcaps/track"
)

// tally is what decides the exit status of a run over several files.
type tally struct {
	mu        sync.Mutex
	cut       bool // a file was
	tcp, some bool // TCP, and what was asked for
}

// note notes what a file has.
func (f *tally) note(s *summary) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cut = f.cut || s.cut
	f.tcp = f.tcp || s.stats.TCP > 0
	if s.a.explain > 0 {
		f.some = f.some || s.explained != nil
	} else {
		f.some = f.some || s.losses.Conns > 0
	}
}

// outcome returns the error of a run that could read its files, nil for success.
func (f *tally) outcome(a *analysis) error {
	switch {
	case f.cut && a.live == nil:
		return exit(exitCut) // it was reported
	case !f.tcp:
		return nothing("analyze: no TCP in it")
	case !f.some && a.explain > 0:
		return nothing(fmt.Sprintf("analyze: packet %d is no retransmission of an episode", a.explain))
	case !f.some:
		return nothing("analyze: " + a.filter.unmatched())
	}
	return nil
}

// analysis is a run of analyze.
type analysis struct {
	inputFlags
	all       bool
	details   bool
	explain   int64 // a packet, for its episode
	maxConns  int
	reports   *reports
	shard     string
	following bool
	live      *live // with --follow

	stdout, stderr io.Writer
	enc            *json.Encoder
	progress       *readProgress // nil for a single file
	found          *tally
}

func newAnalyze() *cobra.Command {
	a := analysis{reports: &reports{}, maxConns: 1 << 18, found: &tally{}}
	cmd := &cobra.Command{
		Use:   "analyze FILE...",
		Short: "report the losses in captures: why, whether needed, and their cost",
		Long:  `Analyze finds each loss in captures, pcap or pcapng, plain or compressed: what was retransmitted, whether a timer or ACKs caused it, whether it was needed, and how long the repair took. FILE - is standard input. ` + inputHelp + ` 'tcpwheel help terms' explains the columns, docs/captures.md has all.`,
		Example: `  tcpwheel analyze sample:burst
  tcpwheel samples captures
  tcpwheel analyze --html page.html captures/burst/a.pcapng.gz
  tcpwheel analyze --conn :24600 captures/burst/b.pcapng.gz
  tcpwheel analyze --follow - < captures/outage/a.pcapng.gz`,
		RunE: func(cmd *cobra.Command, files []string) error {
			switch {
			case len(files) == 0:
				return usage(cmd, errors.New("analyze: no file given"))
			case a.explain < 0:
				return usage(cmd, fmt.Errorf("explain %d, want a packet from 1 on", a.explain))
			case a.explain > 0 && a.asJSON:
				return usage(cmd, errors.New("analyze: --explain and --json, want one of them"))
			}
			if err := a.checkFollow(cmd.Flags().Changed, files); err != nil {
				return usage(cmd, err)
			}
			if err := a.reports.check(cmd.Flags().Changed, a.html, files); err != nil {
				return usage(cmd, err)
			}
			if err := a.check(); err != nil {
				return usage(cmd, err)
			}
			a.stdout, a.stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return a.run(cmd, files)
		},
	}
	f := cmd.Flags()
	a.register(f, "episodes")
	f.BoolVar(&a.all, "all", false, "show all episodes, by connection")
	f.BoolVar(&a.details, "details", false, "show kinds, and hosts with their timers")
	f.Int64Var(&a.explain, "explain", 0, "show the evidence on the episode with this retransmission, a `packet`")
	f.StringVar(&a.reports.annotate, "annotate", "", "write the capture with comments for Wireshark to this `file` too")
	f.BoolVar(&a.following, "follow", false, "read a stream, and print each recovery as soon as it is settled; Ctrl-C ends it")
	f.StringVar(&a.shard, "shard", "", "only part `i/n` of the captures, from 0/n to n-1/n, alike in size")
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
	separator := "\n"
	if a.asJSON {
		separator = ""
	}
	out := newTurns(a.stdout, separator)
	if a.following {
		a.live = newLive(cmd)
	} else {
		collectRarely()
	}
	workers := runtime.GOMAXPROCS(0)
	if a.reports.html != "" || a.reports.annotate != "" {
		workers = 1 // the page is written in order
	}
	if len(objects) > 1 {
		a.progress = &readProgress{of: len(objects)}
		defer a.progress.show(a.stderr)()
	}
	errs := fileErrors{w: a.stderr}
	err = tasks.Each(cmd.Context(), len(objects), workers, func(_ context.Context, i int) error {
		turn := out.of(i)
		wrong := a.writingTo(turn).file(cmd, &objects[i])
		lost := turn.done(func() { errs.note(&objects[i], wrong) })
		if broken := (*outputError)(nil); errors.As(wrong, &broken) {
			return broken.err
		}
		return lost
	})
	if cmd.Context().Err() != nil {
		return cmd.Context().Err()
	}
	if err == nil {
		err = cmp.Or(errs.end(len(objects)), a.reports.write(a.stderr))
	}
	if err = cmp.Or(errs.last, err); err == nil && len(objects) > 0 {
		err = a.found.outcome(a)
	}
	return err
}

// writingTo returns the analysis of one file, which prints to w.
func (a *analysis) writingTo(w io.Writer) *analysis {
	one := *a
	one.stdout, one.enc = w, newJSONLines(w)
	return &one
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
		fmt.Fprintf(cmd.ErrOrStderr(), "tcpwheel: %s; what comes before was analysed\n", errorText(err))
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
	a.found.note(s)
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
	cfg := track.Config{MaxConns: a.maxConns, Event: rep.event(), Reuse: rep == nil, Limits: !a.asJSON, Done: func(c *track.Conn) {
		s.first = c.Origin
		skipped := s.skips(c)
		if wrong == nil && !skipped {
			wrong = s.add(c)
		}
		rep.done(c, !skipped, func(e *track.Episode) bool { return a.filter.hasTime(e.Seen, s.first) })
	}}
	tracker := track.New(cfg)
	s.stats, err = readCapture(cmd, o, a.progress == nil, tracker.ICMP, func(p *capture.Packet) error {
		tracker.Add(p)
		return wrong
	})
	tracker.Close()
	s.evicted = tracker.Evicted()
	if wrong != nil {
		return &outputError{wrong}
	}
	return err
}
