package tcp

import (
	"bytes"
	"encoding/json"
	"errors"
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
	tracer := NewJSONTracer(&out)
	p := newEnginePair(t, func(c *EngineConfig) { c.Trace = tracer }, nil)
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
	if err := tracer.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
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
		if ev.Kind == TraceExpired && ev.late() < 0 {
			r.t.Errorf("%v expires %v early", ev.Timer, -ev.late())
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

func TestTraceLinesAreJSON(t *testing.T) {
	all := traceEventWithEverything()
	for kind := range traceKinds {
		ev := all
		ev.Kind = kind
		line := ev.appendJSON(nil)
		var fields map[string]any
		if err := json.Unmarshal(line, &fields); err != nil {
			t.Fatalf("%v: %v: %s", kind, err, line)
		}
		if fields["event"] != kind.String() || fields["conn"] != 3.0 || fields["t"] != -5.0 {
			t.Errorf("%v: %s", kind, line)
		}
	}
	all.Kind = TraceSent
	want := `{"t":-5,"conn":3,"event":"segment_sent","local":"[2001:db8::1]:80","remote":"[fe80::1]:7","flags":"S.UE","seq":1,"ack":2,` +
		`"win":3,"len":9,"urg":4,"mss":1460,"wscale":7,"sack_permitted":true,"ts_val":5,"ts_ecr":6,"user_timeout_ns":60000000000,` +
		`"sack":[[1,2],[3,4]],"ce":true,"ect":true,"retransmissions":1,"timer":"tlp"}`
	if got := string(all.appendJSON(nil)); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func traceEventWithEverything() TraceEvent {
	return TraceEvent{
		T: -5, Conn: 3, Local: mustEnd("[2001:db8::1]:80"), Remote: mustEnd("[fe80::1%\"eth0\"]:7"),
		Header: Header{
			Seq: 1, Ack: 2, Flags: SYN | ACK | URG | ECE, Window: 3, Urgent: 4,
			Options: Options{
				HasMSS: true, MSS: 1460, HasWScale: true, WScale: 7, SACKPermitted: true, HasTimestamps: true, TSVal: 5, TSEcr: 6,
				HasUserTimeout: true, UserTimeout: time.Minute, NumSACK: 2, SACK: [MaxSACKBlocks]SeqRange{{1, 2}, {3, 4}},
			},
		},
		Len: 9, CE: true, ECT: true, Rexmit: 1, Timed: true,
		Timer: 4, Slot: segmentSlot(2), Seq: 77, Armed: 1, Deadline: 2,
		Vars: TraceVars{State: StateEstablished, CAState: CALoss, Cwnd: 1, RTO: 5}, Changed: 1<<11 - 1,
		Err: ErrReset,
	}
}

func TestJSONTracerDoesNotAllocate(t *testing.T) {
	tracer := NewJSONTracer(discard{})
	ev := traceEventWithEverything()
	ev.Err = nil // the text of an error, once per connection
	line := func() {
		for kind := range traceKinds {
			ev.Kind = kind
			tracer.Trace(&ev)
		}
	}
	for range 1000 { // until the buffer has grown
		line()
	}
	if n := testing.AllocsPerRun(1000, line); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func TestJSONTracerKeepsTheFirstError(t *testing.T) {
	w := &failing{}
	tracer := NewJSONTracer(w)
	for range 3 {
		tracer.Trace(&TraceEvent{})
		if err := tracer.Flush(); !errors.Is(err, errTrace) {
			t.Errorf("Flush: %v, want %v", err, errTrace)
		}
	}
	if w.calls != 1 {
		t.Errorf("%d writes, want 1", w.calls)
	}
}

var errTrace = errors.New("no room")

type failing struct{ calls int }

func (f *failing) Write([]byte) (int, error) { f.calls++; return 0, errTrace }

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
