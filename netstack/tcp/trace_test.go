package tcp

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tcpwheel/wheel"
)

// TestTraceIsGolden traces a handshake, data with a segment lost and repaired by SACK, a segment
// lost together with its probe so that the retransmission timer expires, and a reset.
// UPDATE_TRACE=1 rewrites the file.
func TestTraceIsGolden(t *testing.T) {
	golden := filepath.Join("testdata", "trace.golden")
	got := traceOfARun(t)
	if os.Getenv("UPDATE_TRACE") != "" {
		if err := os.WriteFile(golden, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	gotLines, wantLines := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range gotLines {
		if i >= len(wantLines) || gotLines[i] != wantLines[i] {
			t.Fatalf("line %d:\n got %s\nwant %s\nUPDATE_TRACE=1 rewrites the file: explain the diff in the commit", i+1, gotLines[i], append(wantLines, "")[min(i, len(wantLines))])
		}
	}
	t.Fatalf("%d lines, want %d", len(gotLines), len(wantLines))
}

func traceOfARun(t *testing.T) []byte {
	var out bytes.Buffer
	p := newEnginePair(t, func(c *EngineConfig) { c.Trace = traceText{&out} }, nil)
	l := engineListen(t, p.server(), ListenConfig{Backlog: 1})
	client, _ := p.connect(l)
	sent := 0
	p.lose = func(_ int, q *Packet) bool {
		if q.Len == 0 {
			return false
		}
		sent++
		return sent == 2 || sent == 7 || sent == 8 // one of five; a lone segment, and its probe
	}
	p.client().Wrote(p.now, client, 5*1448, 0)
	p.run(p.now.Add(time.Second))
	p.client().Wrote(p.now, client, 100, 0)
	p.run(p.now.Add(time.Second))
	if client.Conn().Acked() != 5*1448+100 {
		t.Errorf("%d bytes acknowledged, want %d", client.Conn().Acked(), 5*1448+100)
	}
	p.client().Abort(p.now, client)
	p.run(p.now.Add(time.Second))
	p.client().Input(p.now, engineSegment(ACK, 1, 2, 0)) // of no connection
	return out.Bytes()
}

// traceText writes an event as a line.
type traceText struct{ *bytes.Buffer }

func (w traceText) Trace(ev *TraceEvent) {
	fmt.Fprintf(w, "%d %d %v", ev.T, ev.Conn, ev.Kind)
	switch h := &ev.Header; ev.Kind {
	case TraceOpened:
		fmt.Fprintf(w, " %v %v", ev.Local, ev.Remote)
	case TraceReceived, TraceSent:
		o := &h.Options
		fmt.Fprintf(w, " %v seq %d ack %d win %d len %d rexmit %d ts %d %d sack %v", h.Flags, h.Seq, h.Ack, h.Window, ev.Len, ev.Rexmit, o.TSVal, o.TSEcr, o.SACK[:o.NumSACK])
		if ev.Timed {
			fmt.Fprintf(w, " by %v", ev.Timer)
		}
	case TraceArmed, TraceStopped, TraceExpired:
		fmt.Fprintf(w, " %v seq %d from %d to %d", ev.Timer, ev.Seq, ev.Armed, ev.Deadline)
	case TraceUpdated:
		fmt.Fprintf(w, " %b %+v", ev.Changed, ev.Vars)
	case TraceClosed:
		fmt.Fprintf(w, " %v", ev.Err)
	}
	w.WriteByte('\n')
}

// traceRecorder checks that the traced timer events are consistent.
type traceRecorder struct {
	t       *testing.T
	kinds   [traceKinds]int
	running map[[2]uint64]wheel.Time
	last    wheel.Time
}

func (r *traceRecorder) Trace(ev *TraceEvent) {
	r.kinds[ev.Kind]++
	if ev.T < r.last {
		r.t.Errorf("%v at %v, after an event at %v", ev.Kind, ev.T, r.last)
	}
	r.last = ev.T
	key := [2]uint64{ev.Conn, uint64(ev.Slot)}
	at, runs := r.running[key]
	switch ev.Kind {
	case TraceArmed:
		r.running[key] = ev.Deadline
	case TraceStopped, TraceExpired:
		if !runs || at != ev.Deadline {
			r.t.Errorf("%v of %v at %v with the deadline %v, armed for %v, %v", ev.Kind, ev.Timer, ev.T, ev.Deadline, at, runs)
		}
		if late := ev.T.Sub(ev.Deadline); ev.Kind == TraceExpired && late < 0 {
			r.t.Errorf("%v expires %v early", ev.Timer, -late)
		}
		delete(r.running, key)
	case TraceClosed:
		for key := range r.running {
			if key[0] == ev.Conn {
				r.t.Errorf("connection %d is closed, and its timer of slot %d runs", key[0], key[1])
			}
		}
	}
}

func TestTraceHasEveryTimer(t *testing.T) {
	recorders := [2]*traceRecorder{}
	i := 0
	engineTransfer(t, func(c *EngineConfig) {
		r := &traceRecorder{t: t, running: map[[2]uint64]wheel.Time{}}
		recorders[i] = r
		i++
		c.Trace = r
	})
	for _, r := range recorders {
		for kind, n := range r.kinds {
			if n == 0 {
				t.Errorf("no %v", TraceKind(kind))
			}
		}
		if len(r.running) != 0 {
			t.Errorf("%d timers run at the end, as traced", len(r.running))
		}
		if r.kinds[TraceArmed] < r.kinds[TraceStopped]+r.kinds[TraceExpired] {
			t.Errorf("%d timers armed, %d stopped, %d expired", r.kinds[TraceArmed], r.kinds[TraceStopped], r.kinds[TraceExpired])
		}
	}
}
