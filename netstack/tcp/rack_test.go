package tcp

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tcpwheel/wheel"
)

// rackTest has segments of 100 bytes, numbered from 0, and a connection without a clock.
type rackTest struct {
	*testing.T
	q     sentQueue
	r     rackState
	st    rackInput
	now   wheel.Time
	slack time.Duration
	sent  int
	lost  []int
}

func newRackTest(t *testing.T) *rackTest {
	q, err := newSentQueue(1 << 17)
	if err != nil {
		t.Fatal(err)
	}
	rt := &rackTest{T: t, q: q, st: rackInput{SRTT: 100 * ms}}
	rt.r.SampleRTT(0, 100*ms)
	return rt
}

func (t *rackTest) push(n int) {
	for range n {
		if _, ok := t.q.Push(t.now, Seq(100*t.sent), 100, 0); !ok {
			t.Fatalf("segment %d is refused", t.sent)
		}
		t.sent++
		t.st.SndNxt = Seq(100 * t.sent)
	}
}

func (t *rackTest) at(d time.Duration) { t.now = wheel.Time(d) }

func (t *rackTest) deliver(id segmentID) { t.r.Delivered(t.now, t.q.Get(id), false, t.slack) }

func (t *rackTest) sack(i int) { t.q.Sack(SeqRange{Seq(100 * i), Seq(100*i + 100)}, t.deliver) }

func (t *rackTest) ack(i int) {
	t.q.Ack(Seq(100*i), t.deliver)
	t.st.SndUna = Seq(100 * i)
}

func (t *rackTest) retransmit(i int) { t.q.Retransmit(t.now, t.q.Find(Seq(100*i))) }

func (t *rackTest) note(id segmentID) { t.lost = append(t.lost, int(t.q.Get(id).Seq/100)) }

// detect checks which segments are lost, and that the reordering timer runs for timeout, or not if
// 0.
func (t *rackTest) detect(timeout time.Duration, lost ...int) {
	t.Helper()
	t.lost = nil
	got, ok := t.r.Detect(t.now, &t.q, t.st, t.note)
	if !slices.Equal(t.lost, lost) {
		t.Errorf("at %v: lost %v, want %v", t.now, t.lost, lost)
	}
	if got != timeout || ok != (timeout != 0) {
		t.Errorf("at %v: the timer runs for %v, %v, want %v", t.now, got, ok, timeout)
	}
	if err := t.q.check(); err != nil {
		t.Error(err)
	}
}

// RFC 8985 §6.2 step 4: "If RACK.reordering_seen is FALSE: If in Fast or RTO recovery: Return 0
// Else if RACK.segs_sacked >= DupThresh: Return 0".
func TestRackWindowIsZero(t *testing.T) {
	for _, inRecovery := range []bool{false, true} {
		test := newRackTest(t)
		test.push(5)
		test.at(100 * ms)
		test.st.InRecovery = inRecovery
		test.sack(2)
		if inRecovery {
			test.detect(0, 0, 1)
			continue
		}
		test.sack(3)
		test.detect(25 * ms)
		test.sack(4)
		test.detect(0, 0, 1)
	}
}

// RFC 8985 §6.2 step 2: an ACK of a retransmission may belong to the original, by its timestamp or
// within min_RTT.
func TestRackSpuriousRetransmission(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		stale bool
		want  bool
	}{{99 * ms, false, false}, {100 * ms, false, true}, {150 * ms, true, false}} {
		test := newRackTest(t)
		test.push(2)
		test.at(90 * ms)
		test.retransmit(0)
		test.now = test.now.Add(c.after)
		test.r.Delivered(test.now, test.q.Get(test.q.Front()), c.stale, 0)
		if rtt, ok := test.r.RTT(); ok != c.want || ok && rtt != c.after {
			t.Errorf("acknowledged after %v, stale %v: RTT %v, %v, want %v", c.after, c.stale, rtt, ok, c.want)
		}
	}
}

// RFC 8985 §6.2 step 4: the window grows by a quarter of min_RTT in each round that sees a DSACK,
// up to SRTT, and is reset after 16 recoveries without one.
func TestRackWindowAdapts(t *testing.T) {
	test := newRackTest(t)
	want := func(d time.Duration) {
		t.Helper()
		test.detect(0)
		if got := test.r.ReoWnd(); got != d {
			t.Errorf("window %v, want %v", got, d)
		}
	}
	want(25 * ms)
	for _, d := range []time.Duration{50 * ms, 75 * ms, 100 * ms, 100 * ms} {
		test.push(2)
		test.st.DSACK = true
		want(d)
		want(d) // once per round
		test.ack(test.sent)
	}
	test.st.DSACK = false
	test.st.LeavingRecovery = true
	for range 15 {
		want(100 * ms)
	}
	want(25 * ms)
}

// RFC 8985 §6.3: on RTO segments are lost after their time.
func TestRackMarkLossesOnRTO(t *testing.T) {
	test := newRackTest(t)
	test.push(3)
	test.at(100 * ms)
	test.ack(1)
	test.detect(0)
	test.at(150 * ms)
	test.push(1)
	test.retransmit(1)
	test.at(200 * ms)
	test.r.MarkLossesOnRTO(test.now, &test.q, test.note)
	if want := []int{2}; !slices.Equal(test.lost, want) {
		t.Errorf("lost %v, want %v", test.lost, want)
	}
}

// RFC 8985 §6.2 step 1: min_RTT follows a path that became longer.
func TestRackMinRTTIsWindowed(t *testing.T) {
	var r rackState
	for _, c := range []struct {
		at        time.Duration
		rtt, want time.Duration
	}{
		{0, 10 * ms, 10 * ms},
		{time.Second, 50 * ms, 10 * ms},
		{minRTTWindow, 60 * ms, 10 * ms},
		{2 * minRTTWindow, 70 * ms, 60 * ms},
	} {
		r.SampleRTT(wheel.Time(c.at), c.rtt)
		if got, ok := r.MinRTT(); got != c.want || !ok {
			t.Errorf("at %v: min_RTT %v, %v, want %v", c.at, got, ok, c.want)
		}
	}
}

// TestRackAgreesWithTheRFC compares with the walk over all segments in RFC 8985 §6.2 step 5.
func TestRackAgreesWithTheRFC(t *testing.T) {
	for seed := range uint64(100) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		test := newRackTest(t)
		for range 200 {
			test.now = test.now.Add(time.Duration(rnd.IntN(3)) * 10 * ms)
			test.st.InRecovery = rnd.IntN(2) == 0
			switch id := test.q.Back(); {
			case id == 0 || rnd.IntN(3) == 0:
				test.push(1 + rnd.IntN(5))
			case rnd.IntN(2) == 0:
				id = test.q.at(uint32(rnd.IntN(test.q.Len())))
				test.sack(int(test.q.Get(id).Seq / 100))
			case rnd.IntN(8) == 0:
				id = test.q.at(uint32(rnd.IntN(test.q.Len())))
				test.ack(int(test.q.Get(id).Seq/100) + 1)
			default:
				id = test.q.at(uint32(rnd.IntN(test.q.Len())))
				if !test.q.Get(id).Sacked() {
					test.q.Retransmit(test.now, id)
				}
			}
			test.r.updateReoWnd(&test.q, test.st)
			var lost []int
			timeout := time.Duration(0)
			for id := test.q.Front(); id != 0 && test.r.delivered; id = test.q.Next(id) {
				s := test.q.Get(id)
				if s.Sacked() || s.Lost() && !s.RetransOut() || !test.r.overtook(&test.q, id) {
					continue
				}
				if left := test.r.remaining(test.now, &test.q, id); left <= 0 {
					lost = append(lost, int(s.Seq/100))
				} else {
					timeout = max(timeout, left)
				}
			}
			test.lost = nil
			got, ok := test.r.Detect(test.now, &test.q, test.st, test.note)
			slices.Sort(test.lost)
			if !slices.Equal(test.lost, lost) || got != timeout || ok != (timeout > 0) {
				t.Fatalf("seed %d: lost %v, timer %v %v, want %v, %v", seed, test.lost, got, ok, lost, timeout)
			}
			if err := test.q.check(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
}

// TestRackWork bounds the visits of Detect with 10^5 segments in flight, each ACK SACKing one.
func TestRackWork(t *testing.T) {
	const n = 100_000
	test := newRackTest(t)
	for range n {
		test.now++
		test.push(1)
	}
	test.at(100 * ms)
	before := test.q.visits
	for i := 1; i < n; i += 2 {
		test.now++
		test.sack(i)
		test.r.Detect(test.now, &test.q, test.st, nil)
	}
	searches := uint64(n/2) * 64
	if got := test.q.visits - before; got > searches {
		t.Errorf("%d visits for %d ACKs, want at most %d", got, n/2, searches)
	}
	if got := test.q.Lost().Segments; got == 0 {
		t.Errorf("none is lost")
	}
}

// TestRackWorkFromTheEnd SACKs from the newest segment down, each time the one that the reordering
// timer waits for.
func TestRackWorkFromTheEnd(t *testing.T) {
	const n = 2000
	test := newRackTest(t)
	test.push(n)
	test.at(100 * ms)
	test.sack(n - 1)
	test.r.Detect(test.now, &test.q, test.st, nil)
	test.r.reorderingSeen = true // otherwise the window is 0 with three SACKed
	for i := n - 2; i > 0; i-- { // with 0, the RFC 6675 edge rises over all of them once
		before := test.q.visits
		test.sack(i)
		test.r.Detect(test.now, &test.q, test.st, nil)
		if got := test.q.visits - before; got > 40 {
			t.Fatalf("ACK of %d visits %d segments, want at most 40", i, got)
		}
	}
}

// TestRackTimingSlack: with a slack, the ACK of a retransmission may come a little sooner than the
// least round trip and still counts as its own.
func TestRackTimingSlack(t *testing.T) {
	for _, slack := range []time.Duration{0, ms} {
		rt := newRackTest(t)
		rt.slack = slack
		rt.push(2)
		rt.at(200 * ms)
		rt.retransmit(1)
		rt.at(300*ms - ms)
		rt.sack(1)
		rt.at(400 * ms)
		// RFC 8985 §6.2 step 2: an ACK within less than the minimum RTT, 100 ms, belongs to the
		// first transmission.
		if _, delivered := rt.r.RTT(); delivered != (slack > 0) {
			t.Errorf("slack %v: it counts: %v", slack, delivered)
		}
	}
}
