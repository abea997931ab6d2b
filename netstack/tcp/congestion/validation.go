package congestion

import (
	"time"

	"tcpwheel/wheel"
)

// nonvalidatedPeriod is how long RFC 7661 §4.4.3 preserves an unused window: five minutes.
const nonvalidatedPeriod = 5 * time.Minute

const pipeBuckets = 4

// validation tracks whether the congestion window was used recently (RFC 7661). It measures
// pipeACK, the bytes acknowledged per RTT, and keeps the maximum over max(3·RTT, 1 s) in four
// buckets. The zero value is ready; without a measurement every window is valid.
type validation struct {
	samples     [pipeBuckets]uint32
	acked       uint32     // in this round
	roundEnd    uint32     // the ACK of this ends the round
	bucketStart wheel.Time // start of the current bucket
	bucketSize  time.Duration
	unusedSince wheel.Time // start of the nonvalidated phase, if unused
	inRound     bool       // a round is under way
	defined     bool       // there is a measurement
	unused      bool       // in the nonvalidated phase
	bucket      uint8      // current bucket
}

// OnAck counts acknowledged bytes. una is SND.UNA after the ACK, and nxt is SND.NXT.
func (v *validation) OnAck(now wheel.Time, acked, una, nxt uint32, srtt time.Duration) {
	v.age(now, srtt)
	if !v.inRound {
		v.inRound, v.roundEnd, v.acked = true, nxt, 0
	}
	v.acked = uint32(min(uint64(v.acked)+uint64(acked), maxWindow))
	b := &v.samples[v.bucket]
	if v.defined || !before(una, v.roundEnd) {
		*b = max(*b, v.acked) // count the unfinished round with what it has
	}
	if !before(una, v.roundEnd) {
		v.defined, v.roundEnd, v.acked = true, nxt, 0
	}
}

// OnIdle ages the samples while nothing is acknowledged.
func (v *validation) OnIdle(now wheel.Time) { v.age(now, 0) }

func (v *validation) age(now wheel.Time, srtt time.Duration) {
	if srtt > 0 || v.bucketSize == 0 {
		v.bucketSize = max(3*min(max(srtt, 0), time.Hour), time.Second) / pipeBuckets
	}
	n := now.Sub(v.bucketStart) / v.bucketSize
	if n <= 0 {
		return
	}
	for range min(n, pipeBuckets) {
		v.bucket = (v.bucket + 1) % pipeBuckets
		v.samples[v.bucket] = 0
	}
	v.bucketStart = now
}

// PipeACK returns the measurement in bytes, and whether there is one.
func (v *validation) PipeACK() (bytes uint32, ok bool) {
	for _, s := range v.samples {
		bytes = max(bytes, s)
	}
	return bytes, v.defined
}

// Validated reports whether a window of cwnd bytes is validated: pipeACK is at least half of it, or
// unknown.
func (v *validation) Validated(cwnd uint32) bool {
	p, ok := v.PipeACK()
	return !ok || p >= cwnd/2
}

// expired reports whether the window was not validated for a whole period, and starts the next
// period if so.
func (v *validation) expired(now wheel.Time, cwnd uint32) bool {
	if v.Validated(cwnd) {
		v.unused = false
		return false
	}
	if !v.unused {
		v.unused, v.unusedSince = true, now
	}
	if now.Sub(v.unusedSince) < nonvalidatedPeriod {
		return false
	}
	v.unusedSince = now
	return true
}

// lossFlight returns pipeACK after a loss in the nonvalidated phase: RFC 7661 §4.4.1 uses the
// larger of pipeACK and FlightSize. In the validated phase it returns 0.
func (v *validation) lossFlight(cwnd uint32) uint32 {
	if v.Validated(cwnd) {
		return 0
	}
	p, _ := v.PipeACK()
	return p
}

// reset forgets the measurement, which congestion invalidates.
func (v *validation) reset() { *v = validation{bucketSize: v.bucketSize, bucketStart: v.bucketStart} }

// before reports whether sequence number s precedes t.
func before(s, t uint32) bool { return int32(s-t) < 0 }
