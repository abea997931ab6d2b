package track

import (
	"path/filepath"
	"testing"
	"time"

	"tcpwheel/pcaps/capture"
	lossy "tcpwheel/pcaps/samples"
	"tcpwheel/wheel"
)

// settledEpisode identifies an episode within a capture.
type settledEpisode struct {
	conn   int
	packet int64
}

// bothWays returns the episodes of a capture as Done and as Settled report them.
func bothWays(t *testing.T, open func() (*capture.Reader, error)) (done, settled map[settledEpisode]*Episode) {
	t.Helper()
	done, settled = map[settledEpisode]*Episode{}, map[settledEpisode]*Episode{}
	follow := func(cfg Config) *Tracker {
		r, err := open()
		if err != nil {
			t.Logf("%v", err)
			return New(cfg)
		}
		defer r.Close()
		tr := New(cfg)
		for {
			p, err := r.Next()
			if err != nil {
				tr.Close()
				return tr
			}
			tr.Add(p)
		}
	}
	follow(Config{Done: func(c *Conn) {
		for i := range c.Flows {
			for _, e := range c.Flows[i].Episodes {
				done[settledEpisode{c.ID, e.DetectedPacket}] = e
			}
		}
	}})
	follow(Config{Reuse: true, Settled: func(c *Conn, _ *Flow, e *Episode) {
		id := settledEpisode{c.ID, e.DetectedPacket}
		if settled[id] != nil {
			t.Errorf("connection %d, packet %d: settled twice", id.conn, id.packet)
		}
		settled[id] = e
	}})
	return done, settled
}

// TestSettledEpisodesAreThoseOfDone compares the episodes settled early with those of complete
// connections: in the samples, and in the public captures if they are there. Times are equal. At
// most one kind or verdict in a hundred changes after an episode is settled.
func TestSettledEpisodesAreThoseOfDone(t *testing.T) {
	all, kinds, verdicts, lost := 0, 0, 0, 0
	compare := func(name string, open func() (*capture.Reader, error)) {
		done, settled := bothWays(t, open)
		if len(done) != len(settled) {
			t.Errorf("%s: %d episodes settled, want %d", name, len(settled), len(done))
		}
		for id, e := range done {
			s := settled[id]
			all++
			switch {
			case s == nil:
				t.Errorf("%s: connection %d, packet %d: not settled", name, id.conn, id.packet)
				continue
			case s.D != e.D || s.TRec != e.TRec || s.Total != e.Total || s.EndedPacket != e.EndedPacket || s.Seq != e.Seq:
				t.Errorf("%s: connection %d, packet %d: D %v, T_rec %v, want %v, %v", name, id.conn, id.packet, s.D, s.TRec, e.D, e.TRec)
			}
			if s.Kind != e.Kind {
				kinds++
			}
			if s.Spurious != e.Spurious {
				verdicts++
			}
			if s.TimeLost != e.TimeLost {
				lost++
			}
		}
	}
	for _, s := range lossy.List() {
		for _, name := range s.Captures {
			compare(name, func() (*capture.Reader, error) {
				f, err := lossy.Open(name)
				if err != nil {
					return nil, err
				}
				return capture.NewReader(f, name)
			})
		}
	}
	for _, dir := range []string{captures, secondCaptures} {
		files, _ := filepath.Glob(dir + "/*.*p*")
		for _, name := range files {
			compare(name, func() (*capture.Reader, error) { return capture.Open(name) })
		}
	}
	t.Logf("of %d episodes, %d kinds, %d verdicts and %d times lost changed after they settled", all, kinds, verdicts, lost)
	if 100*kinds > all+99 || 100*verdicts > all+99 {
		t.Errorf("of %d episodes, %d kinds and %d verdicts changed, want 1 %% at most", all, kinds, verdicts)
	}
}

// settlingLab is a lab with one timeout. It returns the time of the last packet.
func settlingLab(t *testing.T, settled func(*Conn, *Flow, *Episode)) (*lab, wheel.Time) {
	l := newLab(t, Config{Settled: settled})
	l.open(0)
	l.send(100, true, 1, 500, 1)
	l.send(150, false, 1, 0, 501)
	l.send(200, true, 501, 500, 1) // lost
	l.send(500, true, 501, 500, 1)
	l.send(550, false, 1, 0, 1001)
	return l, wheel.Time(time.Hour).Add(550 * ms)
}

// TestAdvanceSettles settles the episode of a connection that has fallen silent.
func TestAdvanceSettles(t *testing.T) {
	n := 0
	l, end := settlingLab(t, func(_ *Conn, _ *Flow, e *Episode) {
		n++
		if !e.Repaired || e.Kind != RTO || e.TimeLost != 300*ms {
			t.Errorf("repaired %v, %v, %v", e.Repaired, e.Kind, e.TimeLost)
		}
	})
	for _, step := range []struct {
		after time.Duration
		want  int
	}{{settleAfter - ms, 0}, {settleAfter, 1}, {2 * settleAfter, 1}} {
		if l.tr.Advance(end.Add(step.after)); n != step.want {
			t.Errorf("after %v %d episodes are settled, want %d", step.after, n, step.want)
		}
	}
	if f := &l.done(1)[0].Flows[0]; n != 1 || len(f.Episodes) != 0 || f.TimeLost != 300*ms {
		t.Errorf("%d episodes settled, %d kept, %v lost, want 1, 0, 300ms", n, len(f.Episodes), f.TimeLost)
	}
}

// TestClockSetBackSettles settles everything when the clock is set back: the time that the episode
// waits for may not come.
func TestClockSetBackSettles(t *testing.T) {
	n := 0
	l, _ := settlingLab(t, func(*Conn, *Flow, *Episode) { n++ })
	l.send(-3_600_000, true, 1001, 500, 1)
	if n != 1 {
		t.Errorf("%d episodes are settled, want 1", n)
	}
}

// TestAdvanceKeepsTheClock: packets that waited in another program while Advance was called have
// their own times, and settle nothing early.
func TestAdvanceKeepsTheClock(t *testing.T) {
	n := 0
	l, end := settlingLab(t, func(*Conn, *Flow, *Episode) { n++ })
	l.tr.Advance(end.Add(time.Minute))
	l.send(600, true, 1001, 500, 1) // lost
	l.send(900, true, 1001, 500, 1)
	l.send(950, false, 1, 0, 1501)
	l.send(1000, true, 1501, 500, 1)
	if n != 1 {
		t.Errorf("%d episodes are settled, want the first", n)
	}
	if c := l.done(1)[0]; n != 2 || c.Last != end.Add(450*ms) || c.Flows[0].TimeLost != 600*ms {
		t.Errorf("%d settled, last packet at %v, %v lost, want 2, %v, 600ms", n, c.Last, c.Flows[0].TimeLost, end.Add(450*ms))
	}
}
