package tcptimers

import (
	"fmt"
	"time"
)

// StandardConfig are the parameters of the standard estimator. A zero field means its default.
type StandardConfig struct {
	Bounds

	// G is the granularity of the clock that measures round-trip times, and the least value of
	// the variance term: RTO = SRTT + max(G, K·RTTVAR). It rounds nothing. At most 24 h. Default:
	// 1 ns.
	G time.Duration

	// VarMin is another floor on the same term: RTO = SRTT + max(G, VarMin, K·RTTVAR). If it is
	// at least the time by which the peer may delay an ACK, the RTO stays above every sample of a
	// steady path, whatever the mix of samples, because SRTT is never below the round-trip time
	// of the path. At most 24 h. Default: none.
	VarMin time.Duration

	K        int // at most 64; default: 4
	AlphaInv int // 1/alpha, the gain of SRTT: at most 2^20; default: 8
	BetaInv  int // 1/beta, the gain of RTTVAR: at most 2^20; default: 4
}

// RFC 6298 §2 (2.1): "Until a round-trip time (RTT) measurement has been made for a segment sent
// between the sender and receiver, the sender SHOULD set RTO <- 1 second"; (2.4): "if it is less
// than 1 second, then the RTO SHOULD be rounded up to 1 second"; (2.5): "A maximum value MAY be
// placed on RTO provided it is at least 60 seconds."
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

// rfc6298 is the estimator of RFC 6298 §2, with the gains of RFC 7323 where a round trip has many
// samples.
type rfc6298 struct {
	*StandardConfig // shared by all that New made from one
	backoffs
	srtt, rttvar time.Duration
	fallback     time.Duration // least timeout between a SYN's timeout and the next sample
	measured     bool
}

// NewRFC6298 returns the standard estimator, that of RFC 6298. It panics if a parameter is out of
// bounds.
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
	r := clampRTT(s.RTT)
	if !e.measured {
		// RFC 6298 §2 (2.2): "SRTT <- R", "RTTVAR <- R/2".
		e.srtt, e.rttvar, e.measured = r, r/2, true
		return
	}
	// RFC 6298 §2 (2.3): "RTTVAR <- (1 - beta) * RTTVAR + beta * |SRTT - R'|", "SRTT <- (1 -
	// alpha) * SRTT + alpha * R'", in this order. RFC 7323 §G divides both gains by the number of
	// samples in a round trip, so that the history spans as many round trips as with one sample
	// each. RTTVAR and SRTT stop within BetaInv·n and AlphaInv·n ns of their limits, where the
	// quotients are 0.
	n := time.Duration(min(max(s.Expected, 1), 1<<20))
	e.rttvar += ((e.srtt - r).Abs() - e.rttvar) / (time.Duration(e.BetaInv) * n)
	e.srtt += (r - e.srtt) / (time.Duration(e.AlphaInv) * n)
}

// RTO is RFC 6298 §2 (2.3): "After the computation, a host MUST update RTO <- SRTT + max (G,
// K*RTTVAR)", and RFC 6298 §5 (5.5): "The host MUST set RTO <- RTO * 2 ("back off the timer")."
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

// Spurious is the Eifel response. RFC 4015 §3 keeps SRTT + 2·G and RTTVAR from before the
// timeout. It sets SRTT to the larger of the former and the sample, and RTTVAR to the larger of
// the latter and half the sample. So the RTO never shrinks, and covers the delay that was taken
// for a loss.
func (e *rfc6298) Spurious(rtt time.Duration) {
	e.backoffs, e.fallback = 0, 0
	rtt = clampRTT(rtt)
	if !e.measured {
		e.Sample(Sample{RTT: rtt})
		return
	}
	e.srtt, e.rttvar = min(max(e.srtt+2*e.G, rtt), maxRTT), max(e.rttvar, rtt/2)
}
