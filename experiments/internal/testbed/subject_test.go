package testbed

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
)

// spec is work over a path with an RTT of 20 ms and a sender with Linux's timers. An object is 5
// segments for all subjects.
func spec(kind Kind, shape Shape, fates string) *Spec {
	f, err := ParseFates(fates)
	if err != nil {
		panic(err)
	}
	link := sim.LinkConfig{Delay: 10 * time.Millisecond}
	s := &Spec{
		Kind: kind, Timers: MustTimers("linux"), Peer: MustTimers("linux delack=off"), Seed: 1,
		Work: Work{Shape: shape, Objects: 12, Warm: 4, Bytes: 5 * 1400, Think: 100 * time.Millisecond},
		Path: Path{Data: link, Acks: link, Fates: f}, Flows: 2, Stagger: 500 * time.Millisecond, Limit: time.Minute,
	}
	if shape == Bulk {
		s.Work.Objects, s.Work.Warm, s.Work.Bytes = 1, 0, 300_000
	}
	return s
}

func mustRun(t *testing.T, s *Spec) Result {
	t.Helper()
	r, err := Run(context.Background(), s)
	if err != nil {
		t.Fatalf("%s %s: %v", s.Kind, s.Work.Shape, err)
	}
	return r
}

// TestSubjectsMeetTheSame runs each work with each subject twice. Engine and Binding are one TCP in
// two surroundings: their results agree to the nanosecond. Without loss, all subjects take the same
// time.
func TestSubjectsMeetTheSame(t *testing.T) {
	for _, shape := range Shapes() {
		for _, fates := range []string{"none", "fates:0.05", "tail:1", "bernoulli:0.05"} {
			var texts []string
			for _, kind := range Kinds() {
				if kind != Engine && shape == StopAndWait {
					continue
				}
				s := spec(kind, shape, fates)
				r, again := mustRun(t, s), mustRun(t, s)
				r.Wheel, again.Wheel = nil, nil
				text, _ := json.Marshal(r)
				if other, _ := json.Marshal(again); string(text) != string(other) {
					t.Errorf("%s, %s, %s: two runs differ:\n%s\n%s", kind, shape, fates, text, other)
				}
				if want := 2 * (s.objects() - s.Work.Warm); len(r.Times) != want || r.Unfinished != 0 ||
					r.Retransmitted < r.Spurious || r.Repaired != r.Lost {
					t.Errorf("%s, %s, %s: %d objects, want %d, complete and repaired: %s", kind, shape, fates, len(r.Times), want,
						text)
				}
				if lossless := fates == "none"; lossless != (r.Lost == 0) || lossless != (r.Retransmitted == 0) {
					t.Errorf("%s, %s, %s: %d lost, %d retransmitted", kind, shape, fates, r.Lost, r.Retransmitted)
				}
				if kind == GVisor {
					text, _ = json.Marshal(r.Times)
					if fates == "none" && !strings.Contains(texts[0], string(text)) {
						t.Errorf("%s without loss: gVisor takes %s, the engine %s", shape, text, texts[0])
					}
					continue
				}
				texts = append(texts, string(text))
			}
			if len(texts) == 2 && texts[0] != texts[1] {
				t.Errorf("%s, %s: engine and binding differ:\n%s\n%s", shape, fates, texts[0], texts[1])
			}
		}
	}
}

// TestTailIsLostOnce loses the last segment of each object once, and checks when the timers
// retransmit.
func TestTailIsLostOnce(t *testing.T) {
	for timers, want := range map[string]time.Duration{
		// RTO = SRTT + 200 ms, from the segment's transmission, and from the ACK of the segments before,
		// a round trip later.
		"per-segment@exact var-min=200ms floor=10ms -tlp -rack": 220 * time.Millisecond,
		"linux@exact rexmit=restart -tlp -rack":                 240 * time.Millisecond,
	} {
		s := spec(Engine, Answers, "tail:1")
		s.Timers = MustTimers(timers)
		r := mustRun(t, s)
		if r.Lost != 16 || r.Retransmitted != 16 || r.Spurious != 0 || r.Repaired != 16 {
			t.Fatalf("%s: %d lost, %d retransmitted, %d of them spurious", timers, r.Lost, r.Retransmitted, r.Spurious)
		}
		for _, w := range r.Waits {
			if w < want || w > want+10*time.Millisecond {
				t.Errorf("%s: retransmitted after %v, want %v plus the variation left by earlier timeouts", timers, w, want)
			}
		}
	}
	s := spec(Engine, Tail, "tail:2@2")
	if r := mustRun(t, s); r.Lost != 64 {
		t.Errorf("tail:2@2 of 16 objects: %d lost, want 64", r.Lost)
	}
}

// TestOneDrawForAllTimes loses what one draw picks: a share of the tails, or of the segments, in
// their first transmissions.
func TestOneDrawForAllTimes(t *testing.T) {
	s := spec(Engine, Answers, "tail:1@2,p=0.5")
	s.Work.Objects = 54
	if r := mustRun(t, s); r.Lost%2 != 0 || r.Lost < 60 || r.Lost > 140 {
		t.Errorf("%d lost, want two transmissions of about half of 100 tails", r.Lost)
	}
	s = spec(Engine, Answers, "fates:0.05,times=3")
	if r := mustRun(t, s); r.Lost == 0 || r.Lost%3 != 0 {
		t.Errorf("%d lost, want three transmissions of each segment that is picked", r.Lost)
	}
}

// TestStreamDoesNotWait: the writes of a stream keep their pace over a path of any length.
func TestStreamDoesNotWait(t *testing.T) {
	for _, rtt := range []time.Duration{2 * time.Millisecond, 300 * time.Millisecond} {
		s := spec(Engine, Stream, "none")
		s.Path.Data.Delay, s.Path.Acks.Delay = rtt/2, rtt/2
		s.Work.Bytes, s.Work.Think, s.Work.Objects, s.Flows = 1000, 50*time.Millisecond, 104, 1
		r := mustRun(t, s)
		if r.Span < 4500*time.Millisecond || r.Span > 5500*time.Millisecond+rtt {
			t.Errorf("round trip %v: 104 writes take %v, want about 5.2 s", rtt, r.Span)
		}
		for _, d := range r.Times {
			if d != rtt/2 {
				t.Fatalf("round trip %v: a write took %v, want half of it", rtt, d)
			}
		}
	}
}

// TestSpikes: while the delay is higher, objects take longer by as much.
func TestSpikes(t *testing.T) {
	s := spec(Engine, Stream, "none")
	s.Path.Spikes = Spikes{Rise: 90 * time.Millisecond, Lasts: 300 * time.Millisecond, Every: time.Second}
	s.Work.Bytes, s.Work.Think, s.Work.Objects, s.Flows = 1000, 10*time.Millisecond, 1004, 1
	slow := 0
	for _, d := range mustRun(t, s).Times {
		if d > 10*time.Millisecond {
			slow++
		}
		if d > 100*time.Millisecond {
			t.Errorf("a write took %v, want at most 100ms", d)
		}
	}
	if slow < 250 || slow > 480 {
		t.Errorf("%d of 1000 writes are slow, want 3 or more in 10", slow)
	}
	s.Path.Spikes.Every = 0
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), "spikes") {
		t.Errorf("%v, want a fault of the spikes", err)
	}
}

// TestSACKOfTheFINRevealsALostTail: a FIN follows the tail, and its SACK reveals the loss before
// any timer.
func TestSACKOfTheFINRevealsALostTail(t *testing.T) {
	for _, kind := range []Kind{Engine, Binding} {
		r := mustRun(t, spec(kind, Web, "tail:1"))
		if r.Lost != 16 || r.Repaired != 16 || r.Timeouts+r.Probes != 0 {
			t.Errorf("%s: %d lost, %d repaired, by %d timeouts and %d probes", kind, r.Lost, r.Repaired, r.Timeouts, r.Probes)
		}
		for _, w := range r.Waits {
			if w < 20*time.Millisecond || w > 40*time.Millisecond {
				t.Errorf("%s: retransmitted after %v, want 1 to 2 round trips", kind, w)
			}
		}
	}
}

// TestStopAndWaitWaitsForTheHeartbeat: 4.4BSD delays ACKs to a heartbeat of 200 ms, so a sender
// that waits for each sends five segments a second.
func TestStopAndWaitWaitsForTheHeartbeat(t *testing.T) {
	s := spec(Engine, StopAndWait, "none")
	s.Peer, s.Work.Think, s.Work.Bytes, s.Work.Objects, s.Flows = MustTimers("bsd"), 0, 1000, 24, 1
	for _, d := range mustRun(t, s).Times {
		if d != 200*time.Millisecond {
			t.Errorf("a segment took %v, want 200ms", d)
		}
	}
}

// TestDroppedByTheQueue checks that packets dropped by a queue count as lost, and are
// retransmitted.
func TestDroppedByTheQueue(t *testing.T) {
	for _, kind := range Kinds() {
		s := spec(kind, Bulk, "none")
		s.Path.Data.Rate, s.Path.Data.Queue = 10_000_000, sim.Limit{Packets: 20}
		r := mustRun(t, s)
		if r.Lost == 0 || r.Repaired != r.Lost || r.Goodput() < 3e6 || r.Goodput() > 10e6 {
			t.Errorf("%s: %d lost, %d repaired, %.0f bit/s", kind, r.Lost, r.Repaired, r.Goodput())
		}
	}
}

// TestUnfinished checks that an object cut off by the limit has its age as its time.
func TestUnfinished(t *testing.T) {
	for _, kind := range Kinds() {
		for _, shape := range []Shape{Bulk, Answers, Web, Tail} {
			s := spec(kind, shape, "outages:0s-1h")
			s.Limit, s.Flows = 20*time.Second, 1
			r := mustRun(t, s)
			if r.Unfinished != len(r.Times) || r.Bytes != 0 || r.Goodput() != 0 || slices.Max(r.Times) > s.Limit {
				t.Errorf("%s, %s: %+v, want nothing finished", kind, shape, r)
			}
		}
	}
}

// TestControls checks that all subjects accept the same names of congestion controls, in Timers and
// in Spec.
func TestControls(t *testing.T) {
	for _, control := range []string{"newreno", "cubic"} {
		var times []string
		for _, kind := range Kinds() {
			s := spec(kind, Bulk, "none")
			s.Control = control
			a := mustRun(t, s)
			s.Timers, s.Peer, s.Control = MustTimers("linux control="+control), MustTimers("linux delack=off "+
				"control="+control), ""
			if b := mustRun(t, s); kind != GVisor {
				times = append(times, fmt.Sprint(a.Times, b.Times))
			}
		}
		if times[0] != times[1] {
			t.Errorf("%s: engine %s, binding %s", control, times[0], times[1])
		}
	}
}

func TestFatesText(t *testing.T) {
	for text, want := range map[string]string{
		"":                  `empty, want none or models of loss`,
		"fates:2":           `"fates:2": probability "2", want a probability from 0 to 1, such as 0.02 or 2%`,
		"fates:0.1,burst=0": `"fates:0.1,burst=0": "burst=0", want burst=N, N from 1 to 1000`,
		"fates:0.1,times=0": `"times=0", want burst=N, N from 1 to 1000, or times=N, N from 1 to 10`,
		"tail:1,p=2":        `"tail:1,p=2": probability "2", want`,
		"tail:0":            `"tail:0": "0" segments, want 1 to 1000`,
		"tail:1@20":         `"tail:1@20": "20" times, want 1 to 10`,
		"none;tail:1":       `"none;tail:1": none together with other models`,
		"bernoulli:3":       `3`,
	} {
		if _, err := ParseFates(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseFates(%q): %v, want %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"none": "0 true", "fates:0.02": "0.02 true", "bernoulli:0.01": "0.01 true", "tail:1": "0 " +
			"false", "fates:0.02;tail:1": "0 false",
		"fates:0.1,burst=3": "0 false", "fates:0.1,burst=2,times=2": "0 false", "fates:0.1,times=1": "0 false",
		"tail:1@2,p=0.5": "0 false", "gilbert-elliott:p=0.01,r=0.3": "0 false",
	} {
		f, err := ParseFates(text)
		if p, ok := f.Chance(); err != nil || fmt.Sprint(p, ok) != want || f.String() != text {
			t.Errorf("ParseFates(%q): %v, %v %v, want %s", text, err, p, ok, want)
		}
	}
}

func TestCheck(t *testing.T) {
	for want, change := range map[string]func(*Spec){
		`subject: kind "linux", want one of engine, binding, gvisor`:            func(s *Spec) { s.Kind = "linux" },
		`subject: 0 flows, want 1 to 1000`:                                      func(s *Spec) { s.Flows = 0 },
		`subject: 12 objects to warm up, want 0 to 11, one less than there are`: func(s *Spec) { s.Work.Warm = 12 },
		`subject: 60000 connections, want at most 50000`: func(s *Spec) {
			s.Work.Shape, s.Flows, s.Work.Objects = Web, 1000, 60
		},
		`subject: limit 0s, want more than 0, and up to 24h`:                     func(s *Spec) { s.Limit = 0 },
		`subject: a shared link with loss, duplicates or corruption, want Fates`: func(s *Spec) { s.Path.Acks.Duplicate = 1 },
		`subject: stop-and-wait of subject gvisor, want subject engine: others do not report ACKs`: func(s *Spec) {
			s.Kind,
				s.Work.Shape = GVisor, StopAndWait
		},
		`subject: control "vegas" of subject gvisor, want newreno or cubic`: func(s *Spec) {
			s.Kind,
				s.Control = GVisor, "vegas"
		},
		`subject: wheel "scheme7" of subject binding, want subject engine`: func(s *Spec) {
			s.Kind,
				s.Scheme = Binding, "scheme7"
		},
	} {
		s := spec(Engine, Answers, "none")
		change(s)
		if _, err := Run(context.Background(), s); err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, kind := range Kinds() {
		if _, err := Run(ctx, spec(kind, Bulk, "none")); err == nil {
			t.Errorf("%s goes on after it is cancelled", kind)
		}
	}
}
