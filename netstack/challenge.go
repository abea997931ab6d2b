package netstack

import (
	"math/rand/v2"
	"sync"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// challengesPerSecond is the default limit on the stack's challenge ACKs on average, Linux's old
// one (tcp_challenge_ack_limit).
const challengesPerSecond = 1000

// challengeLimiter limits the challenge ACKs of all connections of a stack. RFC 5961 §7 limits the
// whole system: limits per connection or per CPU would add up. Equal seeds and calls give equal
// answers.
type challengeLimiter struct {
	mu    sync.Mutex // taken last, after an endpoint's lock
	limit *tcp.ChallengeLimiter
}

func newChallengeLimiter(limit int, seed uint64) *challengeLimiter {
	if limit == 0 {
		limit = challengesPerSecond
	}
	l, err := tcp.NewChallengeLimiter(limit, time.Second, rand.New(rand.NewPCG(seed, 1)))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return &challengeLimiter{limit: l}
}

// Allow implements tcp.Limiter.
func (c *challengeLimiter) Allow(now wheel.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.limit.Allow(now)
}
