package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"tcpwheel/internal/record"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// checkFollow returns what is wrong with a call that has --follow. changed reports whether a flag
// was given.
func (a *analysis) checkFollow(changed func(flag string) bool, files []string) error {
	if !a.following {
		return nil
	}
	if len(files) != 1 {
		return fmt.Errorf("analyze: --follow reads one file or -, and %d were given", len(files))
	}
	if info, err := os.Stat(files[0]); err == nil && info.IsDir() {
		return fmt.Errorf("analyze: --follow reads one file or -, and %s is a directory", files[0])
	}
	for _, other := range []string{"annotate", "all", "shard"} {
		if changed(other) {
			return fmt.Errorf("analyze: --follow and --%s, want one of them", other)
		}
	}
	a.maxConns = followedConns
	return nil
}

// followedConns bounds the connections at once with --follow: some 200 MB on a busy host. Tests
// change it.
var followedConns = 1 << 14

const (
	// followedEpisodes is how many settled episodes of a flow are kept for a page.
	followedEpisodes = 1 << 12

	// drainTime is how long what a pipe still holds is read after the end was asked for.
	drainTime = 300 * time.Millisecond
)

// live is what a run with --follow has in addition.
type live struct {
	ended context.Context // the caller wants the summary
	begun bool            // the heading of the lines is printed
	kept  map[*track.Flow][]*track.Episode
}

// newLive makes the signals that would interrupt cmd end the stream alone.
func newLive(cmd *cobra.Command) *live {
	ended := cmd.Context()
	cmd.SetContext(context.WithoutCancel(ended))
	return &live{ended: ended, kept: map[*track.Flow][]*track.Episode{}}
}

// recoveryLine is a recovery as a line of text.
type recoveryLine struct {
	*track.Episode
	Clock string `json:"-" head:"time"`
	Ends  string `json:"-" head:"connection"`
}

var recoveryLayout = record.NewLayout[recoveryLine]("%-12Clock  %-7kind %6spurious %7t_rec_s %7time_lost_s  %Ends")

// recoveryObject is a recovery as a line of JSON, with OpenTelemetry's name of its kind.
type recoveryObject struct {
	*track.Episode
	Name string `json:"network.tcp.retransmit.type,omitempty"`
}

// MarshalJSON returns the record.
func (o recoveryObject) MarshalJSON() ([]byte, error) { return record.Marshal(o) }

// retransmitTypes are OpenTelemetry's names of kinds. It has none for the others.
var retransmitTypes = map[track.Kind]string{track.Fast: "fast", track.TLP: "tail_loss_probe", track.RTO: "timeout", track.SYN: "timeout"}

// print prints a recovery that has settled, at once.
func (l *live) print(a *analysis, r *track.Episode) error {
	if a.asJSON {
		o := recoveryObject{r, retransmitTypes[r.Kind]}
		if r.Spurious == track.Spurious {
			o.Name = "spurious"
		}
		return a.enc.Encode(o)
	}
	text := recoveryLayout.Row(&recoveryLine{r, time.Unix(0, int64(r.Seen)).Format("15:04:05.000"), r.Src.String() + " > " + r.Dst.String()})
	if !l.begun {
		l.begun = true
		text = recoveryLayout.Head() + text
	}
	_, err := io.WriteString(a.stdout, text)
	return err
}

// follow is read for a stream: recoveries go to the summary when they settle.
func (a *analysis) follow(cmd *cobra.Command, o *captureFile, s *summary, rep *fileReport) error {
	var (
		mu    sync.Mutex // of all that follows, and of s
		wrong error
		over  bool
		last  wheel.Time // the latest packet
		heard = time.Now()
	)
	tracker := track.New(track.Config{
		MaxConns: a.maxConns, Event: rep.event(), Reuse: rep == nil,
		Settled: func(c *track.Conn, f *track.Flow, e *track.Episode) {
			s.first = c.Origin
			if wrong != nil || !a.filter.hasConn(c, s.first) || !a.filter.hasTime(e.Seen, s.first) {
				return
			}
			wrong = s.episode(c, f, e)
			// The connection counts as lossy by one of them. A page shows all.
			if kept := a.live.kept[f]; len(kept) == 0 || rep != nil && len(kept) < followedEpisodes {
				a.live.kept[f] = append(kept, e)
			}
		},
		Done: func(c *track.Conn) {
			s.first = c.Origin
			for i := range c.Flows {
				f := &c.Flows[i]
				f.Episodes = a.live.kept[f]
				delete(a.live.kept, f)
			}
			skipped := s.skips(c)
			if wrong == nil && !skipped {
				wrong = s.add(c)
			}
			rep.done(c, !skipped, func(*track.Episode) bool { return true })
		},
	})
	icmp := func(e capture.ICMPError) {
		mu.Lock()
		defer mu.Unlock()
		tracker.ICMP(e)
	}
	take := func(p *capture.Packet, stats capture.Stats) error {
		mu.Lock()
		defer mu.Unlock()
		if over {
			return io.EOF
		}
		if p != nil {
			tracker.Add(p)
			last = p.Time
		}
		s.stats, heard = stats, time.Now()
		return wrong
	}
	read := func() error {
		r, done, err := openCapture(cmd, o)
		if err != nil {
			return err
		}
		defer done()
		r.OnICMPError(icmp)
		for {
			p, err := r.Next()
			if err := cmp.Or(take(p, r.Stats()), err); err != nil {
				return err
			}
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- track.Guard(read) }()
	err := a.live.wait(ended, func(now time.Time) error {
		mu.Lock()
		defer mu.Unlock()
		if silent := now.Sub(heard); last != 0 && silent > 0 {
			tracker.Advance(last.Add(silent))
		}
		return wrong
	})
	mu.Lock()
	defer mu.Unlock()
	over = true
	tracker.Close()
	s.evicted = tracker.Evicted()
	switch {
	case wrong != nil:
		return &outputError{wrong}
	case errors.Is(err, io.EOF):
		return nil
	}
	return err
}

// wait calls advance each second until that fails or the reader has ended, and returns the error. If
// the end was asked for and the reader goes on, it returns nil after drainTime.
func (l *live) wait(ended <-chan error, advance func(now time.Time) error) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case now := <-tick.C:
			if err := advance(now); err != nil {
				return err
			}
		case <-l.ended.Done():
			select {
			case err := <-ended:
				return err
			case <-time.After(drainTime):
				return nil
			}
		}
	}
}
