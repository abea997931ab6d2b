package tcptimers

import (
	"fmt"
	"time"
)

// StandardConfig are the parameters of the standard estimator. The zero value of a field stands for its default.
type StandardConfig struct {
	Bounds

	// G is the granularity of the clock that measures round-trip times, the least that the variation counts for:
	// RTO = SRTT + max(G, K·RTTVAR). It rounds nothing by itself. 1 ns by default, up to 24 h.
	G time.Duration

	// VarMin is a floor on the same term, and not of the clock: RTO = SRTT + max(G, VarMin, K·RTTVAR). Not less than the
	// time for which the peer may delay an ACK, it keeps the RTO above every sample that a steady path gives, whatever
	// the mix of samples was, since SRTT is never below the round-trip time of the path. None by default, up to 24 h.
	VarMin time.Duration

	K        int // 4 by default, up to 64
	AlphaInv int // 1/alpha, the gain of SRTT: 8 by default, up to 2^20
	BetaInv  int // 1/beta, the gain of RTTVAR: 4 by default, up to 2^20
}

// RFC 6298 §2 (2.1): "Until a round-trip time (RTT) measurement has been made for a segment sent between the sender and
// receiver, the sender SHOULD set RTO <- 1 second"; (2.4): "if it is less than 1 second, then the RTO SHOULD be rounded up
// to 1 second"; (2.5): "A maximum value MAY be placed on RTO provided it is at least 60 seconds."
var standardBounds = Bounds{Initial: time.Second, Min: time.Second, Max: 60 * time.Second}

func (c StandardConfig) withDefaults() StandardConfig {
	c.Bounds = c.Bounds.or(standardBounds)
	c.G = max(c.G, 1)
	if c.K == 0 {
		c.K = 4
	}
	if c.AlphaInv == 0 {
		c.AlphaInv = 8
	}
	if c.BetaInv == 0 {
		c.BetaInv = 4
	}
	const maxGain = 1 << 20
	if c.G > maxTimeout || c.VarMin < 0 || c.VarMin > maxTimeout ||
		c.K < 0 || c.K > 64 || c.AlphaInv < 0 || c.AlphaInv > maxGain || c.BetaInv < 0 || c.BetaInv > maxGain {
		panic(fmt.Sprintf("BUG: tcptimers: parameters of RFC 6298 out of bounds: %+v", c))
	}
	return c
}

// rfc6298 is the estimator of RFC 6298 §2, with the gains diluted as RFC 7323 has it where there are many samples in a
// round trip.
type rfc6298 struct {
	*StandardConfig // that of all that New makes from one
	backoffs
	srtt, rttvar time.Duration
	fallback     time.Duration // after a SYN timed out, until the next sample: the least that the timeout is
	measured     bool
}

// NewRFC6298 returns the standard estimator, that of RFC 6298. It panics if a parameter is out of its bounds.
func NewRFC6298(cfg StandardConfig) Estimator {
	cfg = cfg.withDefaults()
	return &rfc6298{StandardConfig: &cfg}
}

func (e *rfc6298) New() Estimator { return &rfc6298{StandardConfig: e.StandardConfig} }

func (e *rfc6298) Copy() Estimator {
	c := *e
	return &c
}

func (e *rfc6298) Sample(s Sample) {
	e.backoffs, e.fallback = 0, 0
	r := holdRTT(s.RTT)
	if !e.measured {
		// RFC 6298 §2 (2.2): "SRTT <- R", "RTTVAR <- R/2".
		e.srtt, e.rttvar, e.measured = r, r/2, true
		return
	}
	// RFC 6298 §2 (2.3): "RTTVAR <- (1 - beta) * RTTVAR + beta * |SRTT - R'|", "SRTT <- (1 - alpha) * SRTT + alpha * R'",
	// in this order. RFC 7323 §G divides both gains by the number of samples in a round trip, so that a history
	// is as long in round trips as with one.
	// RTTVAR and SRTT come to rest within BetaInv·n and AlphaInv·n ns of their limits, where the quotients are 0.
	n := time.Duration(min(max(s.Expected, 1), 1<<20))
	e.rttvar += ((e.srtt - r).Abs() - e.rttvar) / (time.Duration(e.BetaInv) * n)
	e.srtt += (r - e.srtt) / (time.Duration(e.AlphaInv) * n)
}

// RTO is RFC 6298 §2 (2.3): "After the computation, a host MUST update RTO <- SRTT + max (G, K*RTTVAR)", and RFC 6298 §5
// (5.5): "The host MUST set RTO <- RTO * 2 ("back off the timer")."
func (e *rfc6298) RTO() time.Duration {
	rto := e.Initial
	if e.measured {
		rto = e.srtt + max(e.G, e.VarMin, time.Duration(e.K)*e.rttvar)
	}
	return e.backedOff(max(rto, e.fallback), e.backoffs)
}

func (e *rfc6298) SRTT() time.Duration   { return e.srtt }
func (e *rfc6298) RTTVar() time.Duration { return e.rttvar }

func (e *rfc6298) SynTimedOut() { e.backoffs, e.fallback = 0, synFallback }

// Spurious is the Eifel response. RFC 4015 §3 keeps SRTT + 2·G and RTTVAR from before the timeout, and sets SRTT to the
// larger of the first and the sample, and RTTVAR to the larger of the second and half of the sample. So the RTO is never
// shorter than it was, and covers the delay that was taken for a loss.
func (e *rfc6298) Spurious(rtt time.Duration) {
	e.backoffs, e.fallback = 0, 0
	rtt = holdRTT(rtt)
	if !e.measured {
		e.Sample(Sample{RTT: rtt})
		return
	}
	e.srtt, e.rttvar = min(max(e.srtt+2*e.G, rtt), maxRTT), max(e.rttvar, rtt/2)
}
