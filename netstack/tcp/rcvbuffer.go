package tcp

import (
	"time"

	"tcpwheel/wheel"
)

// recvRTT is the receiver's estimate of the round-trip time, which a receiver that sends nothing
// has no other way to know. The zero value has none. All methods cost O(1).
type recvRTT struct {
	rtt     time.Duration
	began   wheel.Time
	until   Seq
	ok      bool
	stamped bool // timestamps gave it: rounds are not needed
	round   bool // a round is under way
}

// RTT returns the estimate, and whether there is one.
func (r *recvRTT) RTT() (time.Duration, bool) { return r.rtt, r.ok }

// OnTimestamp takes the time since the segment whose timestamp the arriving one echoes was sent,
// and moves the estimate by an eighth of the difference. From then on rounds are not looked at.
func (r *recvRTT) OnTimestamp(sample time.Duration) {
	if sample <= 0 {
		return
	}
	if !r.ok || !r.stamped {
		r.rtt, r.ok, r.stamped = sample, true, true
		return
	}
	r.rtt += (sample - r.rtt) / 8
}

// OnData takes an arriving segment: nxt is RCV.NXT after it, and wnd RCV.WND. A window takes a
// round-trip time or more to arrive, so that the shortest of such rounds is the estimate.
func (r *recvRTT) OnData(now wheel.Time, nxt Seq, wnd uint32) {
	if r.stamped {
		return
	}
	if r.round {
		if nxt.Before(r.until) {
			return
		}
		if d := now.Sub(r.began); d > 0 && (!r.ok || d < r.rtt) {
			r.rtt, r.ok = d, true
		}
	}
	r.round, r.began, r.until = true, now, nxt.Add(max(wnd, 1))
}

// recvBufferTuner sizes the receive buffer by what the application reads in a round-trip time
// (dynamic right-sizing, Fisk and Feng 2001, as Linux has it): twice that, since a sender in slow
// start doubles in each. The buffer never shrinks.
type recvBufferTuner struct {
	began wheel.Time
	most  uint32 // bytes read in any round so far
	read  uint32 // in this one
}

// Init starts at now with the initial window of bytes, which are no reason to grow.
func (t *recvBufferTuner) Init(now wheel.Time, initial uint32) {
	*t = recvBufferTuner{began: now, most: initial}
}

// OnRead takes n bytes that the application reads at now. When a round of rtt is over in which
// more was read than in any before, it returns the buffer to have, at most bound: twice what was
// read, and as much again by which it exceeds the round before it, in proportion, and sixteen
// segments of mss for what slow start adds on the way. It costs O(1).
func (t *recvBufferTuner) OnRead(now wheel.Time, n uint32, rtt time.Duration, mss, bound uint32) (buff uint32, ok bool) {
	t.read += min(n, 1<<31-min(t.read, 1<<31))
	if now.Sub(t.began) < rtt || rtt <= 0 {
		return 0, false
	}
	read, before := uint64(t.read), uint64(max(t.most, 1))
	t.began, t.read = now, 0
	if read <= before {
		return 0, false
	}
	t.most = uint32(read)
	want := 2*read + 16*uint64(mss)
	want += 2 * read * min(read-before, before) / before // at most doubled by it
	return uint32(min(want, uint64(bound))), true
}
