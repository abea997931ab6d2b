package tcp

import (
	"fmt"
	"math/rand/v2"
	"time"

	"tcpwheel/wheel"
)

// Limiter says whether one more challenge ACK may leave at now. ChallengeLimiter is one.
type Limiter interface {
	Allow(now wheel.Time) bool
}

// ChallengeLimiter bounds the challenge ACKs that an engine sends, over all of its connections. RFC 5961 §7 wants such a
// throttle. It is a bucket that is filled anew in each period, to a level drawn at random between half the limit and one
// and a half: with a fixed level, an attacker counts how many of the ACKs that he provokes on a connection of his own are
// missing, and so learns whether his guess on somebody else's connection was answered (Cao et al., "Off-Path TCP Exploits:
// Global Rate Limit Considered Dangerous", USENIX Security 2016). Linux randomises its limit in the same way since 4.7.
//
// At most three times the limit is sent within any one period, wherever it begins.
type ChallengeLimiter struct {
	limit  int
	period time.Duration
	rnd    *rand.Rand
	began  wheel.Time // of the period that left is for
	left   int
	filled bool
}

// NewChallengeLimiter returns a limiter of about limit per period. Linux's limit was 1000 per second. The same seed in rnd
// gives the same levels.
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

// Allow takes one challenge ACK out of the bucket at now, and reports whether there was one. A clock that steps back counts
// as no time passing. It costs O(1).
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
