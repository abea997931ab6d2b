package tcptimers

import "time"

// RFC6298Config are the parameters of the standard estimator. The zero value of a field stands for its default.
type RFC6298Config struct {
	Bounds

	// G is the granularity of the clock that measures round-trip times, the least that the variation counts for:
	// RTO = SRTT + max(G, K·RTTVAR). It rounds nothing by itself. 1 ns by default.
	G time.Duration

	K        int // 4 by default
	AlphaInv int // 1/alpha, the gain of SRTT: 8 by default
	BetaInv  int // 1/beta, the gain of RTTVAR: 4 by default
}

// RFC 6298 §2 (2.1): "Until a round-trip time (RTT) measurement has been made for a segment sent between the sender and
// receiver, the sender SHOULD set RTO <- 1 second"; (2.4): "if it is less than 1 second, then the RTO SHOULD be rounded up
// to 1 second"; (2.5): "A maximum value MAY be placed on RTO provided it is at least 60 seconds."
var standardBounds = Bounds{Initial: time.Second, Min: time.Second, Max: 60 * time.Second}

func (c RFC6298Config) withDefaults() RFC6298Config {
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
	return c
}

// rfc6298 is the estimator of RFC 6298 §2, with the gains diluted as RFC 7323 has it where there are many samples in a
// round trip.
type rfc6298 struct {
	RFC6298Config
	srtt, rttvar time.Duration
	measured     bool
	backoffs     uint8
}

// NewRFC6298 returns the standard estimator.
func NewRFC6298(cfg RFC6298Config) Estimator { return &rfc6298{RFC6298Config: cfg.withDefaults()} }

func (e *rfc6298) Sample(s Sample) {
	e.backoffs = 0
	r := max(s.RTT, 0)
	if !e.measured {
		// RFC 6298 §2 (2.2): "SRTT <- R, RTTVAR <- R/2".
		e.srtt, e.rttvar, e.measured = r, r/2, true
		return
	}
	// RFC 6298 §2 (2.3): "RTTVAR <- (1 - beta) * RTTVAR + beta * |SRTT - R'|, SRTT <- (1 - alpha) * SRTT + alpha * R'",
	// in this order. RFC 7323 appendix G divides both gains by the number of samples in a round trip, so that a history
	// is as long in round trips as with one.
	n := time.Duration(max(s.Expected, 1))
	e.rttvar += ((e.srtt - r).Abs() - e.rttvar) / (time.Duration(e.BetaInv) * n)
	e.srtt += (r - e.srtt) / (time.Duration(e.AlphaInv) * n)
}

func (e *rfc6298) RTO() time.Duration {
	if !e.measured {
		return e.backedOff(e.Initial, int(e.backoffs))
	}
	return e.backedOff(e.srtt+max(e.G, time.Duration(e.K)*e.rttvar), int(e.backoffs))
}

// Backoff is RFC 6298 §5 (5.5): "The host MUST set RTO <- RTO * 2 ("back off the timer")."
func (e *rfc6298) Backoff() {
	if e.backoffs < maxBackoffs {
		e.backoffs++
	}
}

func (e *rfc6298) Backoffs() int         { return int(e.backoffs) }
func (e *rfc6298) ResetBackoff()         { e.backoffs = 0 }
func (e *rfc6298) SRTT() time.Duration   { return e.srtt }
func (e *rfc6298) RTTVar() time.Duration { return e.rttvar }

// Spurious is RFC 4015 §3.3: after a spurious timeout the estimator is started anew from a sample of what the path is like
// now, if that made the timeout longer: "SRTT <- R, RTTVAR <- R/2" there, the larger of both here, so that it never
// shortens the RTO.
func (e *rfc6298) Spurious(rtt time.Duration) {
	e.backoffs = 0
	e.srtt, e.rttvar, e.measured = max(e.srtt, rtt), max(e.rttvar, rtt/2), true
}
