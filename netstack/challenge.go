package netstack

import (
	"math/rand/v2"
	"sync"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// challengesPerSecond is about how many challenge ACKs a stack sends, as Linux did by default (tcp_challenge_ack_limit).
const challengesPerSecond = 1000

// challenges is the limit on the challenge ACKs of all connections of a stack. RFC 5961 §7 has it for the whole of it, since a limit for
// each connection, or each processor, multiplies with them. The same seed and the same calls give the same answers.
type challenges struct {
	mu    sync.Mutex // taken last, behind an endpoint's lock
	limit *tcp.ChallengeLimiter
}

func newChallenges(seed uint64) *challenges {
	l, err := tcp.NewChallengeLimiter(challengesPerSecond, time.Second, rand.New(rand.NewPCG(seed, 1)))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return &challenges{limit: l}
}

// Allow implements tcp.Limiter.
func (c *challenges) Allow(now wheel.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.limit.Allow(now)
}
