package tcptimers

import "time"

// linux is the estimator of Linux (tcp_rtt_estimator in net/ipv4/tcp_input.c), described in P.
// Sarolahti and A. Kuznetsov, "Congestion Control in Linux TCP" (USENIX 2002). It differs from
// RFC 6298 in three points:
//
//   - The floor is on the variation and not on the timeout: RTO = SRTT + max(200 ms, 4·RTTVAR). A
//     connection with a steady round trip of 20 ms has an RTO of 220 ms and not of 200 ms.
//   - The variation follows the largest deviation of each round trip: upwards at once, downwards
//     by a quarter.
//   - A sample below the average raises the variation with an eighth of the gain, so that the RTO
//     does not rise when the round-trip time falls.
type linux struct {
	Bounds
	backoffs
	floor                 time.Duration // TCP_RTO_MIN, on the variation
	tick                  time.Duration // timeouts round up to it before doubling; 0 for none
	srtt8                 time.Duration // SRTT·8
	mdev4, mdevMax, rttv4 time.Duration // mean deviation, its maximum this round, RTTVAR; all ·4
	fallback              time.Duration // TCP_TIMEOUT_FALLBACK until the first sample
	measured              bool
}

// LinuxBounds are the limits of Linux: TCP_TIMEOUT_INIT 1 s, TCP_RTO_MIN 200 ms (on the
// variation), TCP_RTO_MAX 120 s.
var LinuxBounds = Bounds{Initial: time.Second, Min: 200 * time.Millisecond, Max: 120 * time.Second}

// LinuxSynLinearTimeouts is the default of net.ipv4.tcp_syn_linear_timeouts, which Linux has
// since 6.5.
const LinuxSynLinearTimeouts = 4

// NewLinux returns Linux's estimator. b.Min is the floor on 4·RTTVAR. Zero fields mean those of
// LinuxBounds. It panics if b is invalid.
func NewLinux(b Bounds) Estimator {
	b = b.or(LinuxBounds)
	e := &linux{Bounds: b, floor: b.Min}
	e.Min = 0
	return e
}

func (e *linux) New() Estimator { return &linux{Bounds: e.Bounds, floor: e.floor, tick: e.tick} }

func (e *linux) Copy() Estimator {
	c := *e
	return &c
}

func (e *linux) Sample(s Sample) {
	e.backoffs = 0
	m := clampRTT(s.RTT)
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
	rto := max(e.Initial, e.fallback)
	if e.measured {
		rto = e.srtt8>>3 + e.rttv4
	}
	if e.tick > 0 {
		rto = roundUp(rto, e.tick)
	}
	return e.backedOff(rto, e.backoffs)
}

func (e *linux) SRTT() time.Duration   { return e.srtt8 >> 3 }
func (e *linux) RTTVar() time.Duration { return e.rttv4 >> 2 }

// SynTimedOut sets TCP_TIMEOUT_FALLBACK, as tcp_init_metrics does. DEVIATION RFC 6298 §5 (5.7),
// MUST: only if the handshake gave no sample. A sample by timestamps is of this path, and Linux
// trusts it.
func (e *linux) SynTimedOut() {
	e.backoffs = 0
	e.fallback = synFallback
}

// Spurious is an ordinary sample: Linux relies on the variation, which rises at once.
func (e *linux) Spurious(rtt time.Duration) { e.Sample(Sample{RTT: rtt}) }
