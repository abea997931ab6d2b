package tcptimers

import "time"

// linux is the estimator of Linux (tcp_rtt_estimator in net/ipv4/tcp_input.c), described in P. Sarolahti and A. Kuznetsov,
// "Congestion Control in Linux TCP" (USENIX 2002). It differs from RFC 6298 in three points. The floor is on the
// variation and not on the timeout: RTO = SRTT + max(200 ms, 4·RTTVAR), so that a connection with a steady round trip of
// 20 ms has an RTO of 220 ms and not of 200. The variation follows the largest deviation of each round trip, at once
// upwards and by a quarter downwards. And a sample below the average raises the variation with an eighth of the gain, so that
// the RTO does not rise when the round-trip time falls.
type linux struct {
	Bounds
	floor                 time.Duration // TCP_RTO_MIN, on the variation
	srtt8                 time.Duration // SRTT·8
	mdev4, mdevMax, rttv4 time.Duration // mean deviation, its maximum in this round trip, and RTTVAR: ·4
	measured              bool
	backoffs              uint8
}

// LinuxBounds are the limits of Linux: TCP_TIMEOUT_INIT 1 s, TCP_RTO_MIN 200 ms (on the variation), TCP_RTO_MAX 120 s.
var LinuxBounds = Bounds{Initial: time.Second, Min: 200 * time.Millisecond, Max: 120 * time.Second}

// NewLinux returns Linux's estimator. b.Min is the floor on 4·RTTVAR; zero fields stand for those of LinuxBounds.
func NewLinux(b Bounds) Estimator {
	b = b.or(LinuxBounds)
	e := &linux{Bounds: b, floor: b.Min}
	e.Min = 0
	return e
}

func (e *linux) Sample(s Sample) {
	e.backoffs = 0
	m := max(s.RTT, 0)
	if !e.measured {
		e.srtt8, e.mdev4, e.measured = m<<3, m<<1, true
		e.rttv4 = max(e.mdev4, e.floor)
		e.mdevMax = e.rttv4
		return
	}
	m -= e.srtt8 >> 3 // the error of the estimate
	e.srtt8 += m
	if m < 0 {
		if m = -m - e.mdev4>>2; m > 0 {
			m >>= 3
		}
	} else {
		m -= e.mdev4 >> 2
	}
	e.mdev4 += m
	if e.mdev4 > e.mdevMax {
		e.mdevMax = e.mdev4
		e.rttv4 = max(e.rttv4, e.mdevMax)
	}
	if s.Round {
		if e.mdevMax < e.rttv4 {
			e.rttv4 -= (e.rttv4 - e.mdevMax) >> 2
		}
		e.mdevMax = e.floor
	}
}

func (e *linux) RTO() time.Duration {
	if !e.measured {
		return e.backedOff(e.Initial, int(e.backoffs))
	}
	return e.backedOff(e.srtt8>>3+e.rttv4, int(e.backoffs))
}

func (e *linux) Backoff() {
	if e.backoffs < maxBackoffs {
		e.backoffs++
	}
}

func (e *linux) Backoffs() int         { return int(e.backoffs) }
func (e *linux) ResetBackoff()         { e.backoffs = 0 }
func (e *linux) SRTT() time.Duration   { return e.srtt8 >> 3 }
func (e *linux) RTTVar() time.Duration { return e.rttv4 >> 2 }

// Spurious does nothing but end the backing off: Linux leaves the rest to the samples that follow.
func (e *linux) Spurious(time.Duration) { e.backoffs = 0 }
