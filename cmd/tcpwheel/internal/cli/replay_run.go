package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"tcpwheel/internal/quantity"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/replay"
	pages "tcpwheel/pcaps/report"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// run replays the files, and writes the results. A file that cannot be read does not keep the
// others from it.
func (r *replaying) run(cmd *cobra.Command, args []string) error {
	collectOften()
	objects, err := listCaptures(args)
	if err != nil {
		return err
	}
	r.first, r.Choices = map[string]wheel.Time{}, r.study.Choices
	r.First = func(x *replay.Result) wheel.Time { return r.first[x.File] }
	errs := fileErrors{w: r.stderr}
	for i := range objects {
		err := r.file(cmd, &objects[i])
		if errors.Is(err, context.Canceled) {
			return err
		}
		errs.note(&objects[i], err)
	}
	if err := errs.end(len(objects)); err != nil {
		return err
	}
	if errs.last == nil {
		return r.write()
	}
	if r.Conns > 0 {
		if err := r.write(); err != nil {
			fmt.Fprintf(r.stderr, "tcpwheel: error: %s\n", errorText(err))
		}
	}
	return errs.last
}

// write writes what is known of all files.
func (r *replaying) write() error {
	if r.wire {
		return cmp.Or(r.printWires(), r.lacks())
	}
	write := r.writeTables
	if r.asJSON {
		write = r.writeJSON
	}
	err := write()
	if err == nil && r.html != "" {
		err = writeFile(r.stderr, r.html, r.Write)
	}
	return cmp.Or(err, r.verdict())
}

// verdict returns why no loss counts though some were needed, or what lacks returns.
func (r *replaying) verdict() error {
	if r.Lossy > 0 && len(r.Results) == 0 {
		return fmt.Errorf("replay: none of %s with losses can be replayed", quantity.Count(r.Lossy, "connection"))
	}
	if g := replay.SummarizeGate(r.Results); g.Needed > 0 && g.Passed == 0 {
		return violation("replay: no verdict: none of %d losses could be replayed", g.Needed)
	}
	return r.lacks()
}

// lacks returns the exit status of captures that lack something; nil is success.
func (r *replaying) lacks() error {
	switch {
	case r.cut:
		return exit(exitCut) // it was reported
	case r.Conns == 0 && len(r.filter.flags) > 0:
		return nothing("replay: " + r.filter.unmatched())
	case r.Conns == 0:
		return nothing("replay: no TCP connection in it")
	}
	return nil
}

// file replays the connections of a file. If it is cut short, it replays what comes before, and
// says so.
func (r *replaying) file(cmd *cobra.Command, o *captureFile) error {
	err := r.guarded(cmd, o)
	var p *track.PanicError
	if errors.As(err, &p) {
		fmt.Fprintf(r.stderr, "tcpwheel: %v\n%s", err, p.Stack)
	}
	if errors.Is(err, capture.ErrCutShort) {
		fmt.Fprintf(r.stderr, "tcpwheel: %s; what comes before was replayed\n", errorText(err))
		r.cut = true
		return nil
	}
	return err
}

// guarded is read. A panic, in the file or in one of its connections, is an error of the file.
func (r *replaying) guarded(cmd *cobra.Command, o *captureFile) error {
	before, faults := len(r.Results), len(r.faults)
	err := track.Guard(func() error { return r.read(cmd, o) })
	var p *track.PanicError
	if errors.As(err, &p) {
		r.Results = r.Results[:before] // they are not replayed
		return fmt.Errorf("%s: %w", o.Name, err)
	}
	return cmp.Or(err, errors.Join(r.faults[faults:]...))
}

// read replays the connections of a file, and returns why it could not be read to its end.
func (r *replaying) read(cmd *cobra.Command, o *captureFile) (err error) {
	begun := false
	shown := o.Name
	if shown == "-" {
		shown = "standard input"
	}
	before := len(r.Results)
	var hosts track.Hosts
	rec := replay.NewRecorder(replay.Config{MaxConns: r.maxConns, Done: func(c *track.Conn, s *replay.CapturedConn, err error) {
		hosts.Add(c)
		if cmd.Context().Err() == nil && r.filter.hasConn(c, r.first[shown]) {
			r.conn(shown, c, s, err)
		}
	}})
	_, err = readCapture(cmd, o, true, rec.ICMP, func(p *capture.Packet) error {
		if !begun {
			r.first[shown], begun = p.Time.Add(-p.Since), true
		}
		rec.Add(p)
		return nil
	})
	rec.Close()
	for _, x := range r.Results[before:] {
		x.SetTimers(&hosts)
	}
	if n := rec.Evicted(); n > 0 {
		fmt.Fprintf(r.stderr, "tcpwheel: %s: %s left out to bound memory: replay parts of the capture (--from, --to)\n", quantity.Printable(shown), quantity.Count(n, "connection"))
	}
	wrong := r.replay(cmd.Context(), shown, r.Results[before:])
	r.Results = slices.DeleteFunc(r.Results, func(x *replay.Result) bool {
		if x.Err != nil {
			r.refuse(pages.KeyOf(x), x.Err)
		}
		return x.Err != nil
	})
	return cmp.Or(wrong, err)
}

// refuse notes a connection that is not replayed.
func (r *replaying) refuse(key pages.ConnKey, why error) {
	reason := why.Error()
	var refusal *replay.Refusal
	if !errors.As(why, &refusal) {
		reason = "of a fault in tcpwheel, please report it: " + strings.ReplaceAll(reason, "\n", "; ")
		r.faults = append(r.faults, fmt.Errorf("%s: connection %d: %w", key.File, key.Conn, why))
	}
	r.Refuse(key, reason)
}

// replay replays connections of a file.
func (r *replaying) replay(ctx context.Context, file string, results []*replay.Result) error {
	if r.wire {
		return nil // only the open loop runs
	}
	var done atomic.Int64
	status := statusLine{w: r.stderr}
	status.start(func(time.Duration) string {
		return fmt.Sprintf("%s: replayed %d of %d", file, done.Load(), len(results))
	})
	defer status.stop()
	return r.study.RunAll(ctx, results, func() { done.Add(1) })
}

// conn notes a connection of a file. s is what was captured of it, nil if it had no loss or, with
// refused, cannot be replayed.
func (r *replaying) conn(file string, c *track.Conn, s *replay.CapturedConn, refused error) {
	r.Conns++
	if s == nil && refused == nil {
		return
	}
	r.Lossy++
	if refused != nil {
		r.refuse(pages.ConnKey{File: file, Conn: c.ID, Client: c.Flows[0].Src.String(), Server: c.Flows[0].Dst.String()}, refused)
		return
	}
	r.Results = append(r.Results, replay.NewResult(file, c, s))
}
