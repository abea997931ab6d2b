package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// run replays the files, one after the other, and writes what came out. One that cannot be read does not keep the others from it.
func (r *replaying) run(cmd *cobra.Command, files []string) error {
	r.first = map[string]wheel.Time{}
	var failed error
	for _, name := range files {
		err := r.file(cmd, name)
		if errors.Is(err, context.Canceled) {
			return err
		}
		if err != nil && failed != nil {
			fmt.Fprintf(r.stderr, "tcpwheel: error: %v\n", failed)
		}
		if err != nil {
			failed = err
		}
	}
	if failed != nil && r.conns == 0 {
		return failed
	}
	err := r.write()
	if failed == nil {
		return err
	}
	if err != nil {
		fmt.Fprintf(r.stderr, "tcpwheel: error: %v\n", err)
	}
	return failed
}

// write writes what is known of all files.
func (r *replaying) write() error {
	switch {
	case r.validating:
		return r.validate()
	case r.wire:
		return r.wires()
	}
	var err error
	switch {
	case r.asJSON:
		err = r.writeJSON()
	case r.asCSV:
		err = writeCSV(r.stdout, r.records())
	default:
		err = r.writeTables()
	}
	if err == nil && r.html != "" {
		err = r.writeHTML()
	}
	return cmp.Or(err, r.verdict())
}

// verdict returns why there is nothing to compare though there was a loss that counts, nil if there is.
func (r *replaying) verdict() error {
	if r.lossy == 0 {
		return nil
	}
	if len(r.results) == 0 {
		return fmt.Errorf("replay: none of %s with losses can be replayed", plural(int64(r.lossy), "connection"))
	}
	given := false // for some connection and policy
	for i := range r.study.Choices {
		if s := replay.Summarize(r.results, i); s.N > 0 {
			return nil
		} else if s.Refused < len(r.results) {
			given = true
		}
	}
	switch c := replay.CapturedSummary(r.results); {
	case !given:
		return &violation{fmt.Errorf("replay: no verdict: the capture tells less than %.0f %% of what the policies sent", 100*(1-replay.MostImputed))}
	case c.N > 0:
		return &violation{errors.New("replay: no verdict: where one could be had, no policy repairs what was lost")}
	}
	return nil
}

// file replays the connections of a file. One that is cut short is replayed up to the cut, and that is said.
func (r *replaying) file(cmd *cobra.Command, name string) error {
	var (
		begun    bool
		wrong    error
		replayed atomic.Int64
	)
	shown := name
	if name == "-" {
		shown = "standard input"
	}
	rec := replay.NewRecorder(replay.Config{MaxConns: r.maxConns, Done: func(c *track.Conn, s *replay.Script, err error) {
		if wrong == nil && cmd.Context().Err() == nil && r.filter.hasConn(c, r.first[shown]) {
			wrong = r.conn(shown, c, s, err)
			replayed.Store(int64(len(r.results)))
		}
	}})
	_, err := readCapture(cmd, name, func(p *capture.Packet) error {
		if !begun {
			r.first[shown], begun = p.Time.Add(-p.Since), true
		}
		rec.Add(p)
		return wrong
	})
	status := statusLine{w: r.stderr} // most connections are replayed when all was read
	status.start(func(time.Duration) string {
		return fmt.Sprintf("%s: read, replayed so far: %d", shown, replayed.Load())
	})
	rec.Close()
	status.stop()
	if n := rec.Evicted(); n > 0 {
		fmt.Fprintf(r.stderr, "tcpwheel: %s: %s left out to bound memory, see --max-conns\n", shown, plural(int64(n), "connection"))
	}
	if errors.Is(err, capture.ErrCutShort) {
		fmt.Fprintf(r.stderr, "tcpwheel: %v; what comes before was replayed\n", err)
		err = nil
	}
	if wrong != nil {
		return wrong
	}
	if err == nil {
		err = cmd.Context().Err()
	}
	return err
}

// conn replays a connection of a file: s is its script, or nil if nothing was lost in it, and refused is why there is none.
func (r *replaying) conn(file string, c *track.Conn, s *replay.Script, refused error) error {
	r.conns++
	if s == nil && refused == nil {
		return nil
	}
	r.lossy++
	var x *replay.Result
	err := refused
	if err == nil {
		study := &r.study
		if r.wire {
			study = &replay.Study{} // only the open loop is run
		}
		x, err = study.Run(file, c, s)
	}
	var refusal *replay.Refusal
	switch {
	case errors.As(err, &refusal):
		r.refusals = append(r.refusals, refusedConn{file, fmt.Sprintf("%v > %v", c.Flows[0].Src, c.Flows[0].Dst), refusal.Reason})
	case err != nil:
		return fmt.Errorf("%s: connection %d: %w", file, c.ID, err)
	default:
		r.results = append(r.results, x)
	}
	return nil
}
