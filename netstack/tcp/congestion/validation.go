package congestion

import (
	"time"

	"tcpwheel/wheel"
)

// nonvalidatedPeriod is for how long RFC 7661 §4.4.3 preserves a window that is not used: five
// minutes.
const nonvalidatedPeriod = 5 * time.Minute

const pipeBuckets = 4

// validation tells whether a congestion window was used lately (RFC 7661), so that it may be
// believed. It measures pipeACK, the bytes acknowledged in a round trip, and remembers the largest
// of a period of max(3·RTT, 1 s), in buckets of a quarter of it. The zero value is ready, and takes
// any window for valid until there is a measurement.
type validation struct {
	samples     [pipeBuckets]uint32
	acked       uint32     // in this round so far
	roundEnd    uint32     // the round ends when this is acknowledged
	bucketStart wheel.Time // when the current bucket was begun
	bucketSize  time.Duration
	unusedSince wheel.Time // when the nonvalidated phase began
	inRound     bool       // a round is under way
	defined     bool       // there is a sample
	unused      bool       // in the nonvalidated phase
	bucket      uint8      // the current one
}

// OnAck counts bytes acknowledged. una is SND.UNA after the ACK, nxt SND.NXT.
func (v *validation) OnAck(now wheel.Time, acked, una, nxt uint32, srtt time.Duration) {
	v.age(now, srtt)
	if !v.inRound {
		v.inRound, v.roundEnd, v.acked = true, nxt, 0
	}
	v.acked = uint32(min(uint64(v.acked)+uint64(acked), maxWindow))
	b := &v.samples[v.bucket]
	if v.defined || !before(una, v.roundEnd) {
		*b = max(*b, v.acked) // a round that goes on already counts with what it has
	}
	if !before(una, v.roundEnd) {
		v.defined, v.roundEnd, v.acked = true, nxt, 0
	}
}

// OnIdle lets samples age while nothing is acknowledged.
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

// PipeACK returns the measure, in bytes, and whether there is one.
func (v *validation) PipeACK() (octets uint32, ok bool) {
	for _, s := range v.samples {
		octets = max(octets, s)
	}
	return octets, v.defined
}

// Validated reports whether a window of cwnd bytes is in the validated phase: pipeACK is half of
// it, or not known.
func (v *validation) Validated(cwnd uint32) bool {
	p, ok := v.PipeACK()
	return !ok || p >= cwnd/2
}

// expired reports whether the window was not validated for the whole period, and begins another if
// so.
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

// lossFlight is what was in the network before a loss in the nonvalidated phase: RFC 7661 §4.4.1
// takes the larger of pipeACK and the flight. In the validated phase it is 0, and FlightSize
// decides.
func (v *validation) lossFlight(cwnd uint32) uint32 {
	if v.Validated(cwnd) {
		return 0
	}
	p, _ := v.PipeACK()
	return p
}

// reset forgets the measurement, which congestion made void.
func (v *validation) reset() { *v = validation{bucketSize: v.bucketSize, bucketStart: v.bucketStart} }

// before reports whether sequence number s comes before t.
func before(s, t uint32) bool { return int32(s-t) < 0 }
