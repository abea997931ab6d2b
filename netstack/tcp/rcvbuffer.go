package tcp

import (
	"time"

	"tcpwheel/wheel"
)

// recvRTT is the receiver's estimate of the RTT, for receivers that send no data. The zero value
// has none. All methods cost O(1).
type recvRTT struct {
	rtt     time.Duration
	began   wheel.Time
	until   Seq
	ok      bool
	stamped bool // from timestamps: rounds are ignored
	round   bool // a round is under way
}

// RTT returns the estimate, and whether there is one.
func (r *recvRTT) RTT() (time.Duration, bool) { return r.rtt, r.ok }

// OnTimestamp takes the time since the segment was sent whose timestamp an arriving one echoes. It
// moves the estimate by an eighth of the difference. From then on rounds are ignored.
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

// OnData takes an arriving segment; nxt is RCV.NXT after it, and wnd is RCV.WND. A whole window
// takes at least one RTT to arrive, so the shortest such round is the estimate.
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

// recvBufferTuner sizes the receive buffer (dynamic right-sizing, Fisk and Feng 2001, as in Linux).
// The buffer is twice what the application reads in an RTT, because a sender in slow start doubles
// each RTT. It never shrinks.
type recvBufferTuner struct {
	began wheel.Time
	most  uint32 // most bytes read in any round so far
	read  uint32 // bytes read in this round
}

// Init starts at now with initial, the bytes per round that are no reason to grow.
func (t *recvBufferTuner) Init(now wheel.Time, initial uint32) {
	*t = recvBufferTuner{began: now, most: initial}
}

// OnRead records n bytes read at now. At the end of a round of length rtt, if more was read than
// in any round before, it returns the new buffer size, at most bound. That is twice what was read,
// plus as much again in proportion to the growth over the last round, plus 16·mss for slow start.
// It costs O(1).
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
	want += 2 * read * min(read-before, before) / before // this at most doubles it
	return uint32(min(want, uint64(bound))), true
}
