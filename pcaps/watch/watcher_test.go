package watch

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/samples"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// pipeSample watches a sample and returns its episodes.
func pipeSample(t *testing.T, name string, c Config) (*Watcher, []*Episode) {
	t.Helper()
	var all []*Episode
	c.Episode = func(e *Episode) { all = append(all, e) }
	w := New(c)
	in, err := samples.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := Pipe(t.Context(), w, in, name); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w, all
}

// analyzed returns the episodes of a capture by connection and packet, as analyze finds them.
func analyzed(t *testing.T, r io.Reader, name string) map[[2]int64]track.EpisodeRecord {
	t.Helper()
	all := map[[2]int64]track.EpisodeRecord{}
	in, err := capture.NewReader(r, name)
	if err != nil {
		t.Fatal(err)
	}
	tr := track.New(track.Config{Done: func(c *track.Conn) {
		for i := range c.Flows {
			for _, e := range c.Flows[i].Episodes {
				all[[2]int64{int64(c.ID), e.DetectedPacket}] = c.Flows[i].Record(name, e)
			}
		}
	}})
	for {
		p, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		tr.Add(p)
	}
	tr.Close()
	return all
}

// asJSON returns a record as text, for comparisons.
func asJSON(t *testing.T, record any) string {
	t.Helper()
	text, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestWatchIsAnalyze pipes the samples: the episodes are the ones of the complete captures, and the
// sums are theirs.
func TestWatchIsAnalyze(t *testing.T) {
	n := 0
	for _, s := range samples.List() {
		for _, name := range s.Captures {
			in, err := samples.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			want := analyzed(t, in, name)
			w, got := pipeSample(t, name, Config{Interface: name})
			if len(got) != len(want) {
				t.Errorf("%s: %d episodes, want %d", name, len(got), len(want))
			}
			lost, spurious := 0.0, 0
			for _, e := range got {
				n++
				r := want[[2]int64{int64(e.Conn), e.RetransmissionPacket}]
				if a, b := asJSON(t, e.EpisodeRecord), asJSON(t, r); a != b {
					t.Errorf("%s:\n%s, want\n%s", name, a, b)
				}
				if e.Uncertain != "" {
					t.Errorf("%s: uncertain: %s", name, e.Uncertain)
				}
				lost += r.TimeLost
				if r.Spurious == "yes" {
					spurious++
				}
			}
			snapshot := w.Snapshot()
			for _, sum := range []Tally{snapshot.Total, snapshot.Minute} {
				if a := sum.All; a.Episodes != len(want) || math.Abs(a.TimeLost-lost) > 1e-6 || a.Spurious != spurious {
					t.Errorf("%s: %+v, want %d episodes, %d spurious, %v s lost", name, a, len(want), spurious, lost)
				}
			}
		}
	}
	if n < 50 {
		t.Errorf("%d episodes, want at least 50", n)
	}
}

// TestDropsAreNoLosses: an episode that overlaps a drop is uncertain and counts as nothing else,
// and others are certain.
func TestDropsAreNoLosses(t *testing.T) {
	const name = "burst/a.pcapng.gz"
	_, all := pipeSample(t, name, Config{})
	if len(all) < 2 {
		t.Fatalf("%d episodes, want 2", len(all))
	}
	at, err := time.Parse(time.RFC3339Nano, all[0].Retransmission)
	if err != nil {
		t.Fatal(err)
	}
	var got []*Episode
	w := New(Config{Episode: func(e *Episode) { got = append(got, e) }})
	w.dropped(3, wheel.Time(at.UnixNano()-1), wheel.Time(at.UnixNano()+1))
	in, err := samples.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := Pipe(t.Context(), w, in, name); err != nil {
		t.Fatal(err)
	}
	w.Close()
	for i, e := range got {
		if want := map[bool]string{true: "dropped"}[i == 0]; e.Uncertain != want {
			t.Errorf("episode %d is uncertain: %q, want %q", i, e.Uncertain, want)
		}
	}
	s := w.Snapshot()
	if s.KernelDropped != 3 || s.Uncertain != 1 || s.UncertainMinute != 1 || s.Total.All.Episodes != len(all)-1 || s.Minute.All.Episodes != len(all)-1 {
		t.Errorf("%d dropped, %d uncertain, %d counted, want 3, 1, %d", s.KernelDropped, s.Uncertain, s.Total.All.Episodes, len(all)-1)
	}
	if text := s.Summary(); !strings.Contains(text, "dropped 3 packets") || !strings.Contains(text, "1 recovery uncertain") {
		t.Errorf("the summary hides the drops:\n%s", text)
	}
}

// TestDropSpans joins and forgets spans in bounded memory.
func TestDropSpans(t *testing.T) {
	var d drops
	at := func(ms int) wheel.Time { return wheel.Time(time.Duration(ms) * time.Millisecond) }
	d.add(1, at(5000), at(5010))
	d.add(2, at(5500), at(5510)) // within the shadow of the one before
	d.add(4, at(9000), at(9010))
	for _, test := range []struct {
		from, to int
		want     bool
	}{{0, 4999, false}, {0, 5000, true}, {5200, 5300, true}, {5511, 8999, false}, {5511, 9000, true}, {9011, 9999, false}, {1, 9999, true}} {
		if got := d.overlap(at(test.from), at(test.to)); got != test.want {
			t.Errorf("%d to %d ms overlaps: %v, want %v", test.from, test.to, got, test.want)
		}
	}
	for i := range 3 * maxDropSpans {
		d.add(1, at(20_000+2000*i), at(20_001+2000*i))
	}
	if len(d.spans) != maxDropSpans || d.n != 7+3*maxDropSpans || !d.overlap(at(5000), at(5001)) {
		t.Errorf("%d spans of %d drops, want %d; a forgotten drop must stay covered", len(d.spans), d.n, maxDropSpans)
	}
}

// TestEvictionIsUncertain: an episode that MaxConns cuts off is uncertain.
func TestEvictionIsUncertain(t *testing.T) {
	cut := 0
	for _, s := range samples.List() {
		w, all := pipeSample(t, s.Captures[0], Config{MaxConns: 1})
		uncertain := 0
		for _, e := range all {
			if e.Uncertain == "evicted" {
				uncertain++
			}
		}
		cut += uncertain
		if s := w.Snapshot(); s.Uncertain != uncertain || s.Total.All.Episodes != len(all)-uncertain || uncertain > 0 && s.Evicted == 0 {
			t.Errorf("%d uncertain, %d counted, %d evicted; want %d, %d", s.Uncertain, s.Total.All.Episodes, s.Evicted, uncertain, len(all)-uncertain)
		}
	}
	if cut == 0 {
		t.Error("no episode was cut off: the test tests nothing")
	}
}

// TestFilterOfAPipe keeps the connections of the filter only.
func TestFilterOfAPipe(t *testing.T) {
	f, err := ParseFilter([]string{"192.0.2.1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if w, all := pipeSample(t, "burst/a.pcapng.gz", Config{Filter: f}); len(all) > 0 || w.Snapshot().Packets > 0 {
		t.Errorf("%d episodes of another host", len(all))
	}
}

// TestCutPipe ends with an error that says so, and keeps what came before.
func TestCutPipe(t *testing.T) {
	in, err := samples.Open("burst/a.pcapng.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	w := New(Config{})
	if err := Pipe(t.Context(), w, io.LimitReader(in, 9_000), "cut"); !errors.Is(err, capture.ErrCutShort) {
		t.Errorf("%v, want ErrCutShort", err)
	}
	if err := Pipe(t.Context(), w, strings.NewReader("no capture"), "text"); err == nil || !strings.Contains(err.Error(), "not a capture") {
		t.Errorf("%v, want: not a capture", err)
	}
	if w.Snapshot().Packets == 0 {
		t.Error("no packet was kept")
	}
}

// TestSilentPipeSettles lets time pass while the pipe is silent: the episode settles before the
// end.
func TestSilentPipeSettles(t *testing.T) {
	in, err := samples.Open("burst/a.pcapng.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	r, w := io.Pipe()
	go func() { _, _ = io.Copy(w, in) }() // and then silence
	ctx, stop := context.WithCancel(t.Context())
	n := 0
	watcher := New(Config{Episode: func(*Episode) {
		if n++; n == 2 {
			stop()
		}
	}})
	if err := Pipe(ctx, watcher, r, "pipe"); err != nil || n != 2 {
		t.Errorf("%v, %d episodes, want 2", err, n)
	}
	r.Close()
}

// TestRecorderKeepsEpisodes records a sample: analyze finds the same episodes in the file, with
// comments on their packets.
func TestRecorderKeepsEpisodes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ring.pcapng")
	for _, s := range samples.List() {
		r, err := Record(name, Rotation{2, 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		_, want := pipeSample(t, s.Captures[0], Config{Recorder: r})
		in, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(want) == 0 {
			continue
		}
		got := map[string]bool{}
		for _, e := range analyzed(t, in, name) {
			got[e.Retransmission] = true
		}
		for _, e := range want {
			if !got[e.Retransmission] {
				t.Errorf("%s: the episode at %s is missing in the file", s.Name, e.Retransmission)
			}
		}
		if text := comments(t, name); !strings.Contains(text, "a loss episode begins: D ") || !strings.Contains(text, "retransmission") {
			t.Errorf("%s: comments %q", s.Name, text)
		}
	}
}

// comments returns the comments in a file.
func comments(t *testing.T, name string) string {
	t.Helper()
	r, err := capture.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all []string
	for {
		if _, err := r.Next(); err != nil {
			return strings.Join(all, "\n")
		}
		all = append(all, r.Comments()...)
	}
}
