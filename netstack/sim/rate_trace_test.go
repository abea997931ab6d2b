package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tcpwheel/wheel"
)

func mustTrace(t testing.TB, text string) *RateTrace {
	t.Helper()
	x, err := ParseTrace("test", text)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestTraceByHand follows packets over a trace with opportunities at 10, 10 and 20 ms, which begins
// again each 30 ms.
func TestTraceByHand(t *testing.T) {
	l := newTestLink(t, LinkConfig{Trace: mustTrace(t, "10\n10\n20\n30\n"), Delay: 5 * time.Millisecond})
	for i, c := range []struct {
		now  wheel.Time
		size uint32
		want wheel.Time // when its last byte leaves
	}{
		{0, 1000, 10 * ms},        // the first opportunity, 500 bytes are left of it
		{0, 500, 10 * ms},         // those
		{1 * ms, 100, 10 * ms},    // the second
		{1 * ms, 1500, 20 * ms},   // the rest of it, and 100 bytes of the third
		{20 * ms, 100, 30 * ms},   // an opportunity at the time of its arrival has passed
		{95 * ms, 100, 100 * ms},  // idle; the fourth round begins at 90 ms
		{100 * ms, 100, 110 * ms}, // what was left at 100 ms is wasted
		{111 * ms, 4000, 130 * ms},
	} {
		if got := l.sendSize(c.now, c.size).At; got != c.want+5*ms {
			t.Errorf("packet %d: arrives at %v, want %v", i, time.Duration(got), time.Duration(c.want+5*ms))
		}
	}
}

// dumbTrace is mahimahi's link: at each opportunity it carries 1500 bytes of what waits.
type dumbTrace struct {
	ms      []uint32
	next    int64 // opportunities so far
	waiting []int // bytes left of each packet
	numbers []int
	left    map[int]int64 // when each packet left, in ms
}

func (d *dumbTrace) until(now int64) {
	n := int64(len(d.ms))
	for {
		at := d.next/n*int64(d.ms[n-1]) + int64(d.ms[d.next%n])
		if at > now {
			return
		}
		d.next++
		for room := TraceBytes; room > 0 && len(d.waiting) > 0; {
			used := min(room, d.waiting[0])
			room -= used
			if d.waiting[0] -= used; d.waiting[0] == 0 {
				d.left[d.numbers[0]] = at
				d.waiting, d.numbers = d.waiting[1:], d.numbers[1:]
			}
		}
	}
}

// TestTraceAgreesWithItsTwin sends packets at random over random traces.
func TestTraceAgreesWithItsTwin(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		var text strings.Builder
		at := 0
		for range 1 + r.IntN(20) {
			at += r.IntN(4) * r.IntN(10)
			fmt.Fprintln(&text, at)
		}
		fmt.Fprintln(&text, at+1)
		trace := mustTrace(t, text.String())
		l, twin := newTestLink(t, LinkConfig{Trace: trace}), &dumbTrace{ms: trace.ms, left: map[int]int64{}}
		now, sent := int64(0), map[int]wheel.Time{}
		for k := range 300 {
			now += int64(r.IntN(3) * r.IntN(8))
			twin.until(now)
			size := 1 + r.IntN(3000)
			twin.waiting, twin.numbers = append(twin.waiting, size), append(twin.numbers, k)
			sent[k] = l.sendSize(wheel.Time(now)*ms, uint32(size)).At
		}
		for ; len(twin.waiting) > 0; now += 100 {
			twin.until(now)
		}
		for k, got := range sent {
			if want := wheel.Time(twin.left[k]) * ms; got != want {
				t.Fatalf("seed %d, trace %v: packet %d leaves at %v, want %v", seed, trace.ms, k, time.Duration(got), time.Duration(want))
			}
		}
	}
}

// TestTraceQueue fills the queue of a link that waits for its opportunity.
func TestTraceQueue(t *testing.T) {
	l := newTestLink(t, LinkConfig{Trace: mustTrace(t, "10\n"), Queue: Limit{Packets: 3}})
	for k := range 5 {
		if got, want := l.sendSize(0, 1500).Outcome == Delivered, k < 3; got != want {
			t.Errorf("packet %d: delivered %v, want %v", k, got, want)
		}
	}
	if l.sendSize(10*ms, 1500).Outcome != Delivered {
		t.Error("no place after the first packet has left")
	}
	if one := newTestLink(t, LinkConfig{Trace: mustTrace(t, "10\n"), Queue: Limit{Bytes: 1}}); one.sendSize(0, 1500).Outcome != Delivered {
		t.Error("a packet that finds the queue empty is dropped")
	}
}

// TestSampleTraces checks the samples' mean rates, that they are the same on each machine, and that
// a busy link carries the mean rate.
func TestSampleTraces(t *testing.T) {
	want := map[string]struct {
		sum  uint64
		mean string
	}{"cellular": {0xbbc0fd3cf6757006, "2.052Mbit"}, "handover": {0xe3c2a1fbceb2a6ba, "9.9234Mbit"}}
	for _, s := range SampleTraces {
		trace, err := ReadTrace("sample:" + s.Name)
		if err != nil {
			t.Fatal(err)
		}
		h := fnv.New64a()
		h.Write([]byte(trace.Text()))
		if w := want[s.Name]; h.Sum64() != w.sum || trace.Mean().String() != w.mean || trace.Period() != 20*time.Second {
			t.Errorf("%s: sum %#x, mean %v, period %v, want %#x, %s and 20 s", s.Name, h.Sum64(), trace.Mean(), trace.Period(), w.sum, w.mean)
		}
		l, bits := newTestLink(t, LinkConfig{Trace: trace}), 0.0
		for last := wheel.Time(0); last < wheel.Time(60*time.Second); bits += TraceBytes * 8 {
			last = l.sendSize(0, TraceBytes).At
		}
		if rate, mean := bits/60, float64(trace.Mean()); rate < 0.99*mean || rate > 1.01*mean {
			t.Errorf("%s: carries %.0f bit/s over three rounds, want %.0f", s.Name, rate, mean)
		}
		other, err := GenerateTrace(s.Name, 2)
		if err != nil || other.Text() == trace.Text() {
			t.Errorf("%s with another seed: the same trace, %v", s.Name, err)
		}
	}
}

// withFiles lets texts name one file.
func withFiles(t *testing.T) {
	TraceFile = func(name string) (string, error) {
		if name != "dir/a.trace" {
			return "", errors.New("no such file")
		}
		return "1\n2\r\n2\n", nil
	}
	t.Cleanup(func() { TraceFile = nil })
}

// TestTraceOfAFile reads a trace by the name of its file, and writes it as JSON and back.
func TestTraceOfAFile(t *testing.T) {
	const name = "dir/a.trace"
	withFiles(t)
	c, err := ParseLinkConfig([]byte(`{"rate": "trace:` + name + `", "delay": "5ms"}`))
	if err != nil || c.Trace == nil || c.Trace.Text() != "1\n2\n2\n" || c.Rate != 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	text, err := json.Marshal(c)
	if err != nil || string(text) != `{"rate":"trace:`+name+`","delay":"5ms"}` {
		t.Errorf("as JSON %s, %v", text, err)
	}
	if again, err := ParseLinkConfig(text); err != nil || again.Trace.Text() != c.Trace.Text() {
		t.Errorf("read back: %+v, %v", again, err)
	}
	if err := c.Set("rate", "8Mbit"); err != nil || c.Trace != nil || c.Rate != 8e6 {
		t.Errorf("after a fixed rate %+v, %v", c, err)
	}
}

// TestTraceErrors names the line, and never quotes the file.
func TestTraceErrors(t *testing.T) {
	for text, want := range map[string]string{
		"": "line 1, want a time in milliseconds", "1\nsecret\n": "line 2, want a time in milliseconds", "5\n4\n": "line 2: 4 ms is before 5 ms",
		"0\n0\n": "no time above 0 ms", "1\n\n2\n": "line 2", "-1\n": "line 1", "99999999999\n": "line 1", "86400001": "from 0 to 86400000",
	} {
		if _, err := ParseTrace("x", text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("ParseTrace(%q): %v, want %q", text, err, want)
		}
	}
	if _, err := ParseLinkRate("trace:dir/a.trace"); err == nil || !strings.Contains(err.Error(), "reads no files") {
		t.Errorf("without files: %v", err)
	}
	withFiles(t)
	for text, want := range map[string]string{
		"trace:/nonexistent": "no such file", "trace:sample:moon": "want cellular or handover", "fast": "or trace:FILE", "trace:": "no such file",
	} {
		if _, err := ParseLinkRate(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseLinkRate(%q): %v, want %q", text, err, want)
		}
	}
	both := LinkConfig{Rate: 1, Trace: mustTrace(t, "1\n")}
	if err := both.Check(); err == nil || !strings.Contains(err.Error(), "want one of them") {
		t.Errorf("a rate and a trace: %v", err)
	}
}

// TestSetRate changes a link while packets wait: they keep their fate and their order.
func TestSetRate(t *testing.T) {
	l := newTestLink(t, LinkConfig{Rate: 12_000_000, Queue: Limit{Packets: 5}}) // 1 ms for each packet
	for range 3 {
		l.sendSize(0, 1500)
	}
	set := func(text string, delay time.Duration) {
		t.Helper()
		r, err := ParseLinkRate(text)
		if err == nil {
			err = l.SetRate(r, delay)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	set("6Mbit", 10*time.Millisecond)
	if got := l.sendSize(0, 1500).At; got != 15*ms {
		t.Errorf("after a change the fourth packet arrives at %v, want 3 + 2 + 10 ms", time.Duration(got))
	}
	l.cfg.Queue.Packets = 3
	if got := l.sendSize(0, 1500).Outcome; got != QueueDropped {
		t.Errorf("a packet more than the queue holds: %v", got)
	}
	r := LinkRate{Trace: mustTrace(t, "4\n8\n")}
	if err := l.SetRate(r, 0); err != nil {
		t.Fatal(err)
	}
	l.cfg.Queue.Packets = 10
	if got := l.sendSize(0, 1500).At; got != 15*ms { // it leaves at 8 ms and does not overtake
		t.Errorf("by the trace the fifth packet arrives at %v, want 15 ms", time.Duration(got))
	}
	if got := l.sendSize(9*ms, 1500).At; got != 15*ms {
		t.Errorf("the sixth arrives at %v, want 15 ms", time.Duration(got))
	}
	if got := l.sendSize(20*ms, 1500).At; got != 24*ms {
		t.Errorf("the seventh arrives at %v, want 24 ms", time.Duration(got))
	}
}

func FuzzParseTrace(f *testing.F) {
	f.Add("1\n2\n")
	f.Add("0\n0\n5")
	f.Fuzz(func(t *testing.T, text string) {
		trace, err := ParseTrace("x", text)
		if err != nil {
			return
		}
		again, err := ParseTrace("x", trace.Text())
		if err != nil || again.Text() != trace.Text() {
			t.Fatalf("%q reads back as %q, %v", trace.Text(), again.Text(), err)
		}
		l, last := newTestLink(t, LinkConfig{Trace: trace}), wheel.Time(0)
		for k := range 20 {
			at := l.sendSize(wheel.Time(k)*ms, 700).At
			if at < last || at <= wheel.Time(k)*ms {
				t.Fatalf("packet %d sent at %d ms arrives at %v, the one before at %v", k, k, at, last)
			}
			last = at
		}
	})
}
