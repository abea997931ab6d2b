package sim

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"tcpwheel/wheel"
)

const (
	us = wheel.Time(time.Microsecond)
	ms = wheel.Time(time.Millisecond)
)

func newTestLink(t testing.TB, cfg LinkConfig) *Link {
	t.Helper()
	l, err := NewLink(cfg, LinkKey(1, "test"))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *Link) sendSize(now wheel.Time, size uint32) Fate {
	return l.Send(now, &Packet{Size: size, ECN: ECT0})
}

// A busy link sends exactly Rate bits each second, even if a packet takes a fraction of a
// nanosecond.
func TestUtilisationIsExact(t *testing.T) {
	const rate, n = 7_777_777_777, 1_000_000
	l := newTestLink(t, LinkConfig{Rate: rate})
	var last Fate
	for k := range n {
		now := last.At - 3*us // always before the link falls idle
		if k == 0 {
			now = 0
		}
		last = l.sendSize(now, 1499)
	}
	want := wheel.Time(math.Ceil(1499 * 8 * n / (rate / 1e9)))
	if last.At != want {
		t.Errorf("%d packets are sent by %d ns, want %d", n, last.At, want)
	}
}

func TestMarkingAboveTheThreshold(t *testing.T) {
	l := newTestLink(t, LinkConfig{Rate: 8_000_000, Mark: Limit{Packets: 2}})
	for k := range 6 {
		if got, want := l.sendSize(0, 1000).Marked, k > 2; got != want { // the first is on the wire
			t.Errorf("packet %d: marked %v, want %v", k, got, want)
		}
	}
	// RFC 3168 §5: packets that are not ECN-capable carry the codepoint 00, and are not marked.
	if f := l.Send(0, &Packet{Size: 1000, ECN: NotECT}); f.Marked || f.Outcome != Delivered {
		t.Errorf("not-ECT: %+v, want delivered and not marked", f)
	}
	if got := l.Counts().Marked; got != 3 {
		t.Errorf("marked = %d, want 3", got)
	}
}

// TestJitterHold checks that packets of one burst see one delay, and different bursts different
// ones.
func TestJitterHold(t *testing.T) {
	l := newTestLink(t, LinkConfig{Delay: 100 * time.Millisecond, Jitter: Jitter{Amount: 30 * time.Millisecond, Normal: true, Hold: 10 * time.Millisecond}})
	var took [3]wheel.Time
	for burst := range took {
		for k := range wheel.Time(8) {
			now := wheel.Time(burst)*1000*ms + k*ms
			d := l.sendSize(now, 100).At - now
			if k == 0 {
				took[burst] = d
			} else if d != took[burst] {
				t.Errorf("burst %d: packet %d takes %v, and the first one %v", burst, k, d, took[burst])
			}
		}
	}
	if took[0] == took[1] || took[1] == took[2] {
		t.Errorf("bursts take %v, want them to differ", took)
	}
}

func TestJitterKeepsOrderUnlessItMayOvertake(t *testing.T) {
	for _, normal := range []bool{false, true} {
		for _, overtake := range []bool{false, true} {
			l := newTestLink(t, LinkConfig{Delay: 20 * time.Millisecond, Jitter: Jitter{Amount: 5 * time.Millisecond, Normal: normal, Overtake: overtake}})
			var last wheel.Time
			overtaken, sum, squares := 0, 0.0, 0.0
			const n = 100_000
			for k := range wheel.Time(n) {
				now := k * ms
				f := l.sendSize(now, 100)
				if f.At < last {
					overtaken++
				}
				if f.At < now || f.At > now+50*ms {
					t.Fatalf("packet %d takes %v, want 0 to 50ms", k, f.At-now)
				}
				last = f.At
				d := float64(f.At-now) / float64(ms)
				sum, squares = sum+d, squares+d*d
			}
			if (overtaken > 0) != overtake {
				t.Errorf("normal %v, overtake %v: %d packets overtook others", normal, overtake, overtaken)
			}
			if !overtake {
				continue // the limit makes the mean longer
			}
			mean := sum / n
			near(t, "mean delay", mean, 20, 0.01)
			sigma := 5 / math.Sqrt(3)
			if normal {
				sigma = 5
			}
			near(t, "standard deviation", math.Sqrt(squares/n-mean*mean), sigma, 0.02)
		}
	}
}

func TestOrderIsKeptWithoutReorder(t *testing.T) {
	l := newTestLink(t, LinkConfig{Rate: 1_000_000_000, Delay: ms10, Loss: Losses{Bernoulli{0.1}}, Duplicate: 0.1, Corrupt: 0.1})
	r := rand.New(rand.NewPCG(1, 2))
	var now, last wheel.Time
	for range 50_000 {
		now += wheel.Time(r.IntN(20_000))
		if f := l.sendSize(now, 1+uint32(r.IntN(1500))); f.Outcome == Delivered {
			if f.At <= last {
				t.Fatalf("arrives at %v, not after %v", f.At, last)
			}
			last = f.At
		}
	}
}

const ms10 = 10 * time.Millisecond

func TestReorder(t *testing.T) {
	// Like Linux's netem: every fifth packet skips the delay, with certainty.
	l := newTestLink(t, LinkConfig{Delay: ms10, Reorder: Reorder{Probability: 1, Gap: 5}})
	late := newTestLink(t, LinkConfig{Delay: ms10, Reorder: Reorder{Probability: 1, Gap: 5, Extra: 3 * time.Millisecond}})
	for k := wheel.Time(1); k <= 20; k++ {
		want, wantLate := k*ms+10*ms, k*ms+10*ms
		if k%5 == 0 {
			want, wantLate = k*ms, k*ms+13*ms
		}
		if got := l.sendSize(k*ms, 100); got.At != want || got.Reordered != (k%5 == 0) {
			t.Errorf("packet %d: %+v, want arrival at %v", k, got, want)
		}
		if got := late.sendSize(k*ms, 100); got.At != wantLate {
			t.Errorf("packet %d, extra: %+v, want arrival at %v", k, got, wantLate)
		}
	}
}

func TestDuplicatesAndFlippedBits(t *testing.T) {
	const n = 200_000
	l := newTestLink(t, LinkConfig{Duplicate: 0.02, Corrupt: 0.05, Reorder: Reorder{Probability: 0.25, Extra: time.Second}})
	duplicated, corrupted, high := 0, 0, 0
	for range n {
		f := l.sendSize(0, 100)
		if f.Duplicated {
			duplicated++
		}
		if f.Corrupt {
			corrupted++
			if f.Bit >= 800 {
				t.Fatalf("bit %d of 100 bytes", f.Bit)
			}
			if f.Bit >= 400 {
				high++
			}
		}
	}
	near(t, "duplicated", float64(duplicated), 0.02*n, 0.05)
	near(t, "corrupted", float64(corrupted), 0.05*n, 0.05)
	near(t, "in the second half", float64(high), 0.025*n, 0.05)
	near(t, "reordered", float64(l.Counts().Reordered), 0.25*n, 0.05)
	if c := l.Counts(); c.Packets != n || c.Delivered != n || c.Duplicated != uint64(duplicated) || c.WireBytes != 100*n {
		t.Errorf("counts %+v do not add up", c)
	}
}

// Common random numbers: the fate of packet n does not depend on the rest of the plan.
func TestDrawsDoNotDependOnTheRest(t *testing.T) {
	base := LinkConfig{Loss: Losses{GilbertElliott{P: 0.05, R: 0.3, Bad: 1}}}
	other := base
	other.Rate, other.Queue, other.Duplicate, other.Corrupt = 10_000_000, Limit{Packets: 5}, 0.5, 0.5
	a, b := newTestLink(t, base), newTestLink(t, other)
	queueDrops := 0
	for k := range wheel.Time(100_000) {
		x, y := a.sendSize(k*ms, 1500), b.sendSize(k*ms, 1500)
		if y.Outcome == QueueDropped {
			queueDrops++
		} else if x.Outcome != y.Outcome {
			t.Fatalf("packet %d: %v and %v", k, x.Outcome, y.Outcome)
		}
	}
	if queueDrops == 0 {
		t.Error("the queue dropped nothing: the test proves nothing")
	}
}

// dumbQueue is an event-by-event twin of the queue. Its times are in units of 1/rate ns, so that
// nothing is rounded early.
type dumbQueue struct {
	cfg     LinkConfig
	waiting []uint64 // bytes
	busy    bool
	done    uint64 // in 1/rate ns
}

func (q *dumbQueue) advance(now uint64) {
	for q.busy && q.done <= now*q.cfg.Rate {
		q.busy = len(q.waiting) > 0
		if q.busy {
			q.done += q.waiting[0] * 8 * 1e9
			q.waiting = q.waiting[1:]
		}
	}
}

func (q *dumbQueue) send(now uint64, size uint64) (at uint64, ok bool) {
	q.advance(now)
	if !q.busy {
		q.busy, q.done = true, now*q.cfg.Rate+size*8*1e9
		return (q.done + q.cfg.Rate - 1) / q.cfg.Rate, true
	}
	bytes := uint64(0)
	for _, o := range q.waiting {
		bytes += o
	}
	if l := q.cfg.Queue; l.Packets != 0 && len(q.waiting) >= int(l.Packets) || l.Bytes != 0 && bytes+size > l.Bytes {
		return 0, false
	}
	q.waiting = append(q.waiting, size)
	at = q.done
	for _, o := range q.waiting {
		at += o * 8 * 1e9
	}
	return (at + q.cfg.Rate - 1) / q.cfg.Rate, true
}

func TestQueueAgreesWithItsTwin(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		cfg := LinkConfig{Rate: 1 + r.Uint64N(1_000_000_000)>>r.IntN(4)}
		if r.IntN(2) == 0 {
			cfg.Queue.Packets = 1 + uint32(r.IntN(20))
		}
		if r.IntN(2) == 0 {
			cfg.Queue.Bytes = 1 + uint64(r.IntN(20_000))
		}
		l, twin := newTestLink(t, cfg), &dumbQueue{cfg: cfg}
		now, gap := uint64(0), int64(float64(750*8*1e9)/float64(cfg.Rate)*2)
		for k := range 300 {
			if r.IntN(3) > 0 {
				now += uint64(r.Int64N(gap + 1))
			}
			if now > 10_000_000_000 { // the twin's units fit into 64 bits up to here
				break
			}
			size := 1 + r.Uint64N(1500)
			f := l.sendSize(wheel.Time(now), uint32(size))
			at, ok := twin.send(now, size)
			if ok != (f.Outcome == Delivered) || ok && uint64(f.At) != at {
				t.Fatalf("seed %d, %+v, packet %d of %d bytes at %d: %+v, want %d, %v", seed, cfg, k, size, now, f, at, ok)
			}
			if n, _ := l.Queued(wheel.Time(now)); int(n) != len(twin.waiting) {
				t.Fatalf("seed %d, packet %d: %d wait, want %d", seed, k, n, len(twin.waiting))
			}
		}
	}
}

func TestAClockThatStepsBack(t *testing.T) {
	l := newTestLink(t, LinkConfig{Delay: ms10})
	l.sendSize(50*ms, 100)
	if got := l.sendSize(20*ms, 100).At; got != 60*ms {
		t.Errorf("sent at an earlier now, arrives at %v, want 60ms", got)
	}
}

func TestSendDoesNotAllocate(t *testing.T) {
	l := newTestLink(t, LinkConfig{Rate: 100_000_000, Queue: Limit{Packets: 100}, Mark: Limit{Packets: 50}, Delay: ms10,
		Jitter: Jitter{Amount: time.Millisecond, Normal: true}, Loss: Losses{GilbertElliott{0.01, 0.2, 0, 1}, Outages{{1, 2}}},
		Reorder: Reorder{Probability: 0.1}, Duplicate: 0.1, Corrupt: 0.1})
	now, p := wheel.Time(0), Packet{Size: 1500, ECN: ECT0}
	for range 1000 { // the queue grows to its limit
		l.Send(now, &p)
	}
	if n := testing.AllocsPerRun(10_000, func() { now += 100 * us; l.Send(now, &p) }); n != 0 {
		t.Errorf("Send allocates %v times, want 0", n)
	}
}

func TestLinkErrorsNameFieldValueAndBound(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`{"rate":2000000000000000}`, `sim: link: rate "2000000000000000", want none, or whole bit/s from 1 to 1e15`},
		{`{"overhead":65536}`, `overhead "65536", want a whole number, at most 65535`},
		{`{"queue":{"packets":16777217}}`, `queue.packets "16777217", want a whole number, at most 16777216`},
		{`{"mark":{"bytes":2000000000000}}`, `mark.bytes "2000000000000", want a number of bytes such as 64KiB or 1e6, at most 1TiB`},
		{`{"delay":"-1s"}`, `delay "-1s", want a duration such as 20ms, 0s to 24h`},
		{`{"delay":"25h"}`, `delay "25h", want a duration such as 20ms, 0s to 24h`},
		{`{"delay":25}`, `delay "25", want a duration such as 20ms, 0s to 24h`},
		{`{"delay":"1s","jitter":{"amount":"2s"}}`, "sim: jitter 2s, want 0s to 1s"},
		{`{"reorder":{"probability":2}}`, `reorder.probability "2", want a probability such as 0.02 or 2%, 0 to 1`},
		{`{"reorder":{"probability":1,"extra":"25h"}}`, `reorder.extra "25h", want a duration such as 20ms, 0s to 24h`},
		{`{"duplicate":-0.5}`, `duplicate "-0.5", want a probability such as 0.02 or 2%, 0 to 1`},
		{`{"corrupt":7}`, `corrupt "7", want a probability such as 0.02 or 2%, 0 to 1`},
		{`{"loss":"bernoulli:3"}`, `loss "bernoulli:3": probability "3", want a probability from 0 to 1`},
		{`{"speed":1}`, `setting "speed", want one of corrupt, delay, duplicate, hold, hold.every, hold.least, hold.longest, jitter, jitter.amount, `},
		{`{"queue":"64K"}`, `queue "64K", want packets such as 100, or bytes such as 64KiB`},
		{`{"queue":{"packets":{}}}`, `queue.packets "{}", want a whole number`},
		{`{"jitter":{"normal":2}}`, `jitter.normal "2", want true or false`},
		{`{"overhead":1e10}`, `overhead "1e10", want a whole number, at most 65535`},
		{`{} {}`, "after top-level value"},
	} {
		if _, err := ParseLinkConfig([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("ParseLinkConfig(%s): error %v, want %q", test.text, err, test.want)
		}
	}
}

func TestLinkFieldsTakeTextAndNumbers(t *testing.T) {
	want := LinkConfig{
		Rate: 100_000_000, Queue: Limit{Bytes: 65536}, Mark: Limit{Packets: 20}, Delay: 25 * time.Millisecond,
		Jitter: Jitter{Amount: time.Millisecond}, Loss: Losses{Bernoulli{0.02}}, Reorder: Reorder{Probability: 0.01}, Corrupt: 0.001,
	}
	for _, text := range []string{
		`{"rate":"100Mbit", "queue":"64KiB", "mark":20, "delay":"25ms", "jitter":"1ms", "loss":"2%", "reorder":"1%", "corrupt":1e-3}`,
		`{"rate":1e8, "queue":{"bytes":"64KiB"}, "mark":{"packets":20}, "delay":"0.025s", "jitter":{"amount":"1ms"}, "loss":0.02,
		  "reorder":{"probability":0.01}, "corrupt":"0.1%", "duplicate":null}`,
	} {
		if c, err := ParseLinkConfig([]byte(text)); err != nil || !reflect.DeepEqual(c, want) {
			t.Errorf("ParseLinkConfig(%s) = %+v, %v, want %+v", text, c, err, want)
		}
	}
}

func FuzzLinkConfig(f *testing.F) {
	f.Add([]byte(`{"rate":10000000,"overhead":38,"queue":{"packets":20},"mark":{"bytes":9000},"delay":"25ms",` +
		`"jitter":{"amount":"1ms","normal":true},"loss":"gilbert-elliott:p=0.01,r=0.3;packets:3,7-9",` +
		`"reorder":{"probability":0.25,"gap":5},"duplicate":0.01,"corrupt":0.001}`))
	f.Add([]byte(`{"rate":"100Mbit","queue":"64KiB","jitter":"1ms","loss":"2%","reorder":0.1}`))
	f.Add([]byte(`{"loss":"outages:1s-2s;trace:0101*;ranges:1-2@3"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ParseLinkConfig(text)
		if err != nil {
			return
		}
		once, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseLinkConfig(once)
		if err != nil {
			t.Fatalf("%s: %v", once, err)
		}
		if twice, _ := json.Marshal(again); string(once) != string(twice) {
			t.Errorf("%s becomes %s", once, twice)
		}
		l := newTestLink(t, c)
		for k := range wheel.Time(20) {
			now := k * k * us
			if fate := l.sendSize(now, 1500); fate.Outcome == Delivered && fate.At < now {
				t.Errorf("packet sent at %v arrives at %v", now, fate.At)
			}
		}
	})
}

func BenchmarkLinkSend(b *testing.B) {
	l := newTestLink(b, LinkConfig{Rate: 1_000_000_000, Queue: Limit{Packets: 1000}, Delay: ms10, Loss: Losses{Bernoulli{0.01}}})
	b.ReportAllocs()
	now, p := wheel.Time(0), Packet{Size: 1500}
	for b.Loop() {
		now += 12 * us
		l.Send(now, &p)
	}
}

// A fate names the first model that lost the packet.
func TestFateNamesTheModel(t *testing.T) {
	losses, err := ParseLosses("packets:2,3;packets:3-4")
	if err != nil {
		t.Fatal(err)
	}
	l := newTestLink(t, LinkConfig{Loss: losses})
	for n, want := range []Fate{{}, {Outcome: Lost}, {Outcome: Lost}, {Outcome: Lost, Model: 1}, {}} {
		if got := l.sendSize(0, 100); got != want {
			t.Errorf("packet %d: fate %+v, want %+v", n+1, got, want)
		}
	}
}
