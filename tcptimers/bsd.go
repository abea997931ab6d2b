package tcptimers

import (
	"fmt"
	"time"
)

// SlowTick is the period of 4.4BSD's slow timeout (PR_SLOWHZ 2), which counts all timers but
// delayed ACKs. FastTick is that of the fast timeout (PR_FASTHZ 5), which sends delayed ACKs.
const (
	SlowTick = 500 * time.Millisecond
	FastTick = 200 * time.Millisecond
)

// BSDBounds are the limits of 4.4BSD: 6 s for a SYN (half of four times TCPTV_SRTTDFLT, 3 s), and
// from TCPTV_MIN, 1 s, to TCPTV_REXMTMAX, 64 s, for the rest.
var BSDBounds = Bounds{Initial: 6 * time.Second, Min: time.Second, Max: 64 * time.Second}

// Constants of 4.4BSD's tcp_var.h and tcp_timer.h.
const (
	bsdRTTShift    = 3  // t_srtt is scaled by 8
	bsdVarShift    = 2  // t_rttvar is scaled by 4
	bsdMaxRxtShift = 12 // TCP_MAXRXTSHIFT
)

// bsdBackoff is tcp_backoff[] of 4.4BSD: the factor by the number of expiries.
var bsdBackoff = [bsdMaxRxtShift + 1]int64{1, 2, 4, 8, 16, 32, 64, 64, 64, 64, 64, 64, 64}

// bsd is the integer estimator of 4.4BSD (tcp_xmit_timer in netinet/tcp_input.c; G. Wright and R.
// Stevens, TCP/IP Illustrated, Volume 2, §25.10). It counts slow ticks. A round trip that crosses
// k of them counts as k+1, so the least is 1; for all but the first sample the code subtracts
// that 1 again. At round-trip times far below a tick it settles at t_srtt = 7 and t_rttvar = 3,
// whose RTO is 3 ticks: 1000 to 1500 ms from START to expiry, because the next tick may be near.
type bsd struct {
	backoffs
	tick           time.Duration
	initial        int64 // timeout of a SYN, in ticks
	least, most    int64 // the bounds, in ticks
	srtt8, rttvar4 int64 // t_srtt, t_rttvar: in ticks, scaled
	measured       bool
	rtoShift       uint8 // the RTO is scaled by 2 to this: 1 in 4.3BSD-Tahoe
}

// NewBSD returns the estimator of 4.4BSD over ticks of the given size; the original has SlowTick.
// Its RTO is a whole number of ticks and must be counted in them. Zero fields of b mean those of
// BSDBounds. Bounds round up to a tick. It panics if tick is not above 0 and at most 1 h, or if b
// is invalid.
func NewBSD(tick time.Duration, b Bounds) Estimator {
	if tick <= 0 || tick > time.Hour {
		panic(fmt.Sprintf("BUG: tcptimers: tick %v, want above 0 and up to 1h", tick))
	}
	b = b.or(BSDBounds)
	e := &bsd{tick: tick}
	e.initial, e.least, e.most = ticksUp(b.Initial, tick), ticksUp(b.Min, tick), ticksUp(b.Max, tick)
	// tcp_newtcpcb: t_rttvar is 4·TCPTV_SRTTDFLT, and the first timeout half of it.
	e.rttvar4 = 2 * e.initial
	return e
}

// NewTahoe returns the estimator of 4.3BSD-Tahoe (1988): NewBSD with RTO = SRTT + 2·RTTVAR, after
// V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988. At round-trip times far below a
// tick it rests at 2 ticks, the least: 500 to 1000 ms from START to expiry.
func NewTahoe(tick time.Duration, b Bounds) Estimator {
	e := NewBSD(tick, b).(*bsd)
	e.rtoShift = 1
	return e
}

func (e *bsd) New() Estimator {
	return &bsd{tick: e.tick, initial: e.initial, least: e.least, most: e.most, rttvar4: 2 * e.initial, rtoShift: e.rtoShift}
}

func (e *bsd) Copy() Estimator {
	c := *e
	return &c
}

// ticksUp returns d in ticks, rounded up.
func ticksUp(d, tick time.Duration) int64 {
	n := int64(d / tick)
	if d%tick > 0 {
		n++
	}
	return n
}

// Sample takes Sample.RTT as a number of slow ticks crossed, times the tick.
func (e *bsd) Sample(s Sample) {
	e.backoffs, e.measured = 0, true
	rtt := int64(clampRTT(s.RTT)/e.tick) + 1 // t_rtt began at 1
	if e.srtt8 == 0 {
		e.srtt8, e.rttvar4 = rtt<<bsdRTTShift, rtt<<(bsdVarShift-1)
		return
	}
	delta := rtt - 1 - e.srtt8>>bsdRTTShift
	e.srtt8 = max(e.srtt8+delta, 1)
	if delta < 0 {
		delta = -delta
	}
	delta -= e.rttvar4 >> bsdVarShift
	e.rttvar4 = max(e.rttvar4+delta, 1)
}

// value is the timeout in ticks, without bounds: TCP_REXMTVAL of 4.4BSD, and of 4.3BSD-Tahoe
// ((t_srtt >> 2) + t_rttvar) >> 1.
func (e *bsd) value() int64 {
	return (e.average() + e.rttvar4) >> e.rtoShift
}

// average is t_srtt, scaled as the RTO.
func (e *bsd) average() int64 { return e.srtt8 >> (bsdRTTShift - e.rtoShift) }

// RTO is value times tcp_backoff[], in its range. For a SYN that was sent once it is the
// initial timeout of tcp_newtcpcb. From then on a lost SYN waits for value, so 4.4BSD retransmits
// it after 6, 24 and 48 s.
func (e *bsd) RTO() time.Duration {
	n := e.value()
	if !e.measured && e.backoffs == 0 {
		n = e.initial
	}
	n = min(max(n*bsdBackoff[min(e.backoffs, bsdMaxRxtShift)], e.least), e.most)
	return time.Duration(n) * e.tick
}

// Backoff clears the average after the fourth expiry, as tcp_timers does. RFC 6298 §5 allows it:
// "a TCP implementation MAY clear SRTT and RTTVAR after backing off the timer multiple times".
// The timeout stays, and the next sample counts as the first.
func (e *bsd) Backoff() {
	e.backoffs.Backoff()
	if e.backoffs > bsdMaxRxtShift/4 {
		e.rttvar4 += e.average()
		e.srtt8 = 0
	}
}

func (e *bsd) SRTT() time.Duration   { return e.tick * time.Duration(e.srtt8) >> bsdRTTShift }
func (e *bsd) RTTVar() time.Duration { return e.tick * time.Duration(e.rttvar4) >> bsdVarShift }

// SynTimedOut does nothing: 4.4BSD has no such rule. Its timeout stays backed off until the first
// sample, far above the 3 s of RFC 6298 §5 (5.7).
func (e *bsd) SynTimedOut() {}

// Spurious is an ordinary sample: 4.4BSD does not detect spurious timeouts.
func (e *bsd) Spurious(rtt time.Duration) { e.Sample(Sample{RTT: rtt}) }
