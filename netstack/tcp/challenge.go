package tcp

import (
	"fmt"
	"math/rand/v2"
	"time"

	"tcpwheel/wheel"
)

// Limiter limits challenge ACKs. Allow reports whether one may be sent at now. ChallengeLimiter is
// one.
type Limiter interface {
	Allow(now wheel.Time) bool
}

// ChallengeLimiter limits the challenge ACKs of an engine, over all its connections (RFC 5961 §7).
// It is a bucket that is refilled each period to a random level between half the limit and one and
// a half times the limit.
//
// A fixed level leaks: an attacker can count the challenge ACKs missing on a connection of his own,
// and learn whether his guess on another connection was answered (Cao et al., "Off-Path TCP
// Exploits: Global Rate Limit Considered Dangerous", USENIX Security 2016). Linux randomises its
// limit since 4.7.
//
// Any one period sees at most three times the limit.
type ChallengeLimiter struct {
	limit  int
	period time.Duration
	rnd    *rand.Rand
	began  wheel.Time // start of the period
	left   int
	filled bool
}

// NewChallengeLimiter returns a limiter of about limit challenge ACKs per period; Linux used 1000
// per second. The levels follow from the seed of rnd. It returns an error for limit outside
// 1..2^30, period ≤ 0 or a nil rnd.
func NewChallengeLimiter(limit int, period time.Duration, rnd *rand.Rand) (*ChallengeLimiter, error) {
	switch {
	case limit < 1 || limit > 1<<30:
		return nil, fmt.Errorf("tcp: challenge ACK limit %d, want 1..%d", limit, 1<<30)
	case period <= 0:
		return nil, fmt.Errorf("tcp: challenge ACK period %v, want more than 0", period)
	case rnd == nil:
		return nil, fmt.Errorf("tcp: challenge ACK limiter without a generator")
	}
	return &ChallengeLimiter{limit: limit, period: period, rnd: rnd}, nil
}

// Allow takes one challenge ACK out of the bucket, and reports whether there was one. A clock that
// steps back counts as no time passing. It costs O(1).
func (l *ChallengeLimiter) Allow(now wheel.Time) bool {
	if !l.filled || now.Sub(l.began) >= l.period {
		l.filled, l.began = true, now
		l.left = (l.limit+1)/2 + l.rnd.IntN(l.limit+1)
	}
	if l.left == 0 {
		return false
	}
	l.left--
	return true
}
