package tcptimers

import "time"

// SlowTick is the period of 4.4BSD's slow timeout (PR_SLOWHZ 2), in which it counts everything but delayed ACKs, and
// FastTick that of the fast timeout (PR_FASTHZ 5), at which it sends those.
const (
	SlowTick = 500 * time.Millisecond
	FastTick = 200 * time.Millisecond
)

// Constants of 4.4BSD's tcp_timer.h, in slow ticks.
const (
	bsdMin      = 2   // TCPTV_MIN, 1 s
	bsdMax      = 128 // TCPTV_REXMTMAX, 64 s
	bsdDefault  = 6   // TCPTV_SRTTDFLT, 3 s
	bsdRTTShift = 3   // t_srtt is scaled by 8
	bsdVarShift = 2   // t_rttvar is scaled by 4
)

// bsdBackoff is tcp_backoff[] of 4.4BSD: the factor by the number of expiries, TCP_MAXRXTSHIFT = 12 of them.
var bsdBackoff = [maxBackoffs + 1]int{1, 2, 4, 8, 16, 32, 64, 64, 64, 64, 64, 64, 64}

// bsd is the integer estimator of 4.4BSD (tcp_xmit_timer in netinet/tcp_input.c; G. Wright and R. Stevens, TCP/IP
// Illustrated, Volume 2, §25.10). It counts slow ticks: a round trip that crosses k of them is one of k+1, so that 1 is the
// least, and the code takes that 1 off again. At round-trip times far below a tick it settles at t_srtt = 7 and
// t_rttvar = 3, whose RTO is 3 ticks for ever: 1000 to 1500 ms from START to expiry, as the next tick may be near.
type bsd struct {
	srtt8, rttvar4 int // t_srtt, t_rttvar: in slow ticks, scaled
	backoffs       uint8
}

// NewBSD returns the estimator of 4.4BSD. Its RTO is a number of slow ticks, RTO/SlowTick, and must be counted in them.
func NewBSD() Estimator { return &bsd{rttvar4: bsdDefault << bsdVarShift} }

// Sample takes the round trip as its slow ticks tell: Sample.RTT must be the number of ticks crossed, in SlowTick.
func (e *bsd) Sample(s Sample) {
	e.backoffs = 0
	rtt := int(max(s.RTT, 0)/SlowTick) + 1 // t_rtt began at 1
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

// ticks is TCP_REXMTVAL, within its range, and before the first sample what tcp_newtcpcb sets.
func (e *bsd) ticks() int {
	if e.srtt8 == 0 {
		return bsdDefault << 2 >> 1
	}
	return e.srtt8>>bsdRTTShift + e.rttvar4
}

func (e *bsd) RTO() time.Duration {
	n := min(max(e.ticks()*bsdBackoff[e.backoffs], bsdMin), bsdMax)
	return time.Duration(n) * SlowTick
}

func (e *bsd) Backoff() {
	if e.backoffs < maxBackoffs {
		e.backoffs++
	}
}

func (e *bsd) Backoffs() int         { return int(e.backoffs) }
func (e *bsd) ResetBackoff()         { e.backoffs = 0 }
func (e *bsd) SRTT() time.Duration   { return SlowTick * time.Duration(e.srtt8) >> bsdRTTShift }
func (e *bsd) RTTVar() time.Duration { return SlowTick * time.Duration(e.rttvar4) >> bsdVarShift }

// Spurious does nothing: 4.4BSD cannot tell.
func (e *bsd) Spurious(time.Duration) {}
