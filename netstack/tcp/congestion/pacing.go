package congestion

import (
	"math/bits"
	"time"

	"tcpwheel/wheel"
)

// Gains of the pacing rate in percent: Linux's defaults (tcp_pacing_ss_ratio, tcp_pacing_ca_ratio).
const (
	pacingSlowStart = 200
	pacingAvoidance = 120
)

// PacingRate returns the sending rate in bytes per second: cwnd per smoothed RTT, times 2 in slow
// start while cwnd is below half of ssthresh, and times 1.2 later. RFC 9002 §7.7 has the same
// formula. ok is false without an RTT; then segments are not paced.
func PacingRate(cwnd, ssthresh uint32, srtt time.Duration) (rate uint64, ok bool) {
	if srtt <= 0 {
		return 0, false
	}
	gain := uint64(pacingAvoidance)
	if cwnd < ssthresh/2 {
		gain = pacingSlowStart
	}
	// cwnd·gain·10^7 < 2^32·2^8·2^24 fits.
	return max(uint64(cwnd)*gain*uint64(time.Second/100)/uint64(srtt), 1), true
}

// Pacer spaces departures. It accumulates no credit, so no burst follows a pause. The zero value
// allows the first segment at once, for non-negative times.
type Pacer struct {
	next wheel.Time
}

// Next returns when the next segment may depart, at or after now.
func (p *Pacer) Next(now wheel.Time) wheel.Time { return max(p.next, now) }

// OnSent records that n bytes departed at now, with a rate in bytes per second; 0 disables pacing.
// The time until the next departure is rounded up to a nanosecond, so the rate is never exceeded.
func (p *Pacer) OnSent(now wheel.Time, n uint32, rate uint64) {
	if rate == 0 {
		p.next = now
		return
	}
	hi, lo := bits.Mul64(uint64(n), uint64(time.Second))
	lo, carry := bits.Add64(lo, rate-1, 0)
	hi += carry
	span := time.Duration(1<<63 - 1)
	if hi < rate {
		if q, _ := bits.Div64(hi, lo, rate); q < 1<<63 {
			span = time.Duration(q)
		}
	}
	p.next = p.Next(now).Add(span)
}
