package congestion

import (
	"math"
	"testing"
)

func TestSlowStartCountsBytes(t *testing.T) {
	for _, name := range []string{"newreno", "cubic"} {
		h := newControlTest(t, name, Config{SlowStart: StandardSlowStart})
		h.ack(mss)
		h.want(11*mss, math.MaxUint32)
		h.ack(2 * mss)
		h.want(13*mss, math.MaxUint32)
		// RFC 3465 §2.3: "This document specifies that TCP implementations MAY use L=2*SMSS bytes
		// and MUST NOT use L > 2*SMSS bytes."
		h.ack(5 * mss)
		h.want(15*mss, math.MaxUint32)
		h.ack(1)
		h.want(15*mss+1, math.MaxUint32)
	}
}

func TestSlowStartAfterTimeout(t *testing.T) {
	for _, name := range []string{"newreno", "cubic"} {
		h := newControlTest(t, name, Config{Reduce: ReduceFlight, SlowStart: StandardSlowStart})
		h.congested(20)
		h.c.OnTimeout(h.now, 20*mss, true)
		threshold := h.c.Ssthresh()
		// RFC 3465 §2.3: in the slow start after a timeout L is 1*SMSS. A stretched ACK counts for
		// one segment.
		h.c.OnAck(h.now, Ack{Acked: 9 * mss, Flight: 20 * mss, Una: 1, Nxt: 2, Limited: true})
		h.want(2*mss, threshold)
	}
}

func TestCongestionAvoidance(t *testing.T) {
	// RFC 5681 §3.1: "When the number of bytes acknowledged reaches cwnd, then cwnd can be
	// incremented by up to SMSS bytes."
	h := newControlTest(t, "newreno", Config{})
	h.congested(20)
	for range 19 {
		h.ack(mss)
	}
	h.want(20*mss, 20*mss)
	h.ack(mss)
	h.want(21*mss, 20*mss)
	for range 10 {
		h.round()
	}
	h.want(31*mss, 20*mss)
}

// TestACKDivision checks RFC 3465 §2: a receiver that acknowledges a segment in a thousand pieces
// gains nothing.
func TestACKDivision(t *testing.T) {
	for _, name := range []string{"newreno", "cubic"} {
		for _, out := range []bool{false, true} {
			honest := newControlTest(t, name, Config{Reduce: ReduceFlight, SlowStart: StandardSlowStart})
			divided := newControlTest(t, name, Config{Reduce: ReduceFlight, SlowStart: StandardSlowStart})
			if out {
				honest.congested(20)
				divided.congested(20)
			}
			for range 40 {
				honest.ack(mss)
				for range mss {
					divided.ack(1)
				}
			}
			if h, d := honest.c.Cwnd(), divided.c.Cwnd(); d > h+1 {
				t.Errorf("%s: divided ACKs give %d bytes, whole ones %d", name, d, h)
			}
		}
	}
}

// TestOptimisticAcks checks that an ACK counts for no more than the flight.
func TestOptimisticAcks(t *testing.T) {
	forAll(t, func(t *testing.T, name string) {
		h := newControlTest(t, name, Config{Paced: true})
		for i := range uint32(100) {
			h.c.OnAck(h.now, Ack{Acked: math.MaxUint32, Delivered: math.MaxUint32, Flight: 10, Una: i, Nxt: i + 1, Limited: true})
		}
		if h.c.Cwnd() > 10*mss+100*10 {
			t.Errorf("window of %d bytes after 1000 bytes in flight", h.c.Cwnd())
		}
	})
}

func TestHalvesFlight(t *testing.T) {
	// RFC 5681 §3.1: "ssthresh = max (FlightSize / 2, 2*SMSS)": FlightSize, not cwnd.
	for _, cause := range []Cause{FastRetransmit, ECN} {
		h := newControlTest(t, "newreno", Config{})
		h.congested(20)
		h.c.OnCongestion(h.now, 15*mss, cause)
		h.want(7500, 7500)
		h.c.OnCongestion(h.now, math.MaxUint32, cause) // a flight beyond the window does not raise it
		h.want(3750, 3750)
	}
}

func TestLimitBurst(t *testing.T) {
	// RFC 6582 §3.2: "min (ssthresh, max(FlightSize, SMSS) + SMSS)"
	for _, test := range []struct{ flight, want uint32 }{{0, 2 * mss}, {3 * mss, 4 * mss}, {50 * mss, 5 * mss}, {math.MaxUint32, 5 * mss}} {
		h := newControlTest(t, "newreno", Config{LimitBurst: true})
		h.c.OnCongestion(0, 10*mss, FastRetransmit)
		h.c.OnRecovered(0, test.flight)
		h.want(test.want, 5*mss)
	}
}

func TestRecoveredAfterTimeoutKeepsSlowStart(t *testing.T) {
	h := newControlTest(t, "newreno", Config{})
	h.c.OnCongestion(0, 10*mss, FastRetransmit)
	h.c.OnTimeout(0, 5*mss, true)
	h.c.OnRecovered(0, mss)
	h.want(mss, 2500)
}

func TestUndoFastRetransmit(t *testing.T) {
	// RFC 4015 §3.4: cwnd <- FlightSize + min(bytes_acked, IW), here 18 segments, and ssthresh <-
	// pipe_prev.
	h := newControlTest(t, "newreno", Config{})
	h.congested(20)
	h.c.OnCongestion(h.now, 20*mss, FastRetransmit)
	h.want(10*mss, 10*mss)
	h.c.Undo(h.now, 8*mss, 25*mss)
	h.want(18*mss, 20*mss)
}

// TestUndoDuringRecovery checks that the end of an undone recovery leaves cwnd and ssthresh alone.
func TestUndoDuringRecovery(t *testing.T) {
	forAll(t, func(t *testing.T, name string) {
		h := newControlTest(t, name, Config{})
		h.c.OnCongestion(0, 10*mss, FastRetransmit)
		h.c.Undo(0, 8*mss, 2*mss)
		h.c.OnRecovered(0, 8*mss)
		h.want(10*mss, math.MaxUint32)
	})
}
