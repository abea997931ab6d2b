package tcp

import (
	"math/rand/v2"
	"testing"
	"time"

	"tcpwheel/wheel"
)

// TestChallengeLimiter floods the limiter of RFC 5961 §7 and checks each period.
func TestChallengeLimiter(t *testing.T) {
	const limit, periods = 10, 200
	run := func(seed uint64) (allowed [periods]int) {
		l, err := NewChallengeLimiter(limit, time.Second, rand.New(rand.NewPCG(seed, 0)))
		if err != nil {
			t.Fatal(err)
		}
		for p := range allowed {
			for i := range 50 {
				if l.Allow(wheel.Time(p)*wheel.Time(time.Second) + wheel.Time(i)) {
					allowed[p]++
				}
			}
		}
		return allowed
	}
	allowed, sum, levels := run(1), 0, map[int]bool{}
	for p, n := range allowed {
		if n < limit/2 || n > limit*3/2 {
			t.Errorf("period %d lets %d through, want %d..%d", p, n, limit/2, limit*3/2)
		}
		sum += n
		levels[n] = true
	}
	if mean := float64(sum) / periods; mean < 9 || mean > 11 {
		t.Errorf("%v per period in the mean, want about %d", mean, limit)
	}
	if len(levels) < 8 {
		t.Errorf("only the levels %v: an attacker can count", levels)
	}
	if run(1) != allowed {
		t.Error("the same seed gives another run")
	}
	if run(2) == allowed {
		t.Error("another seed gives the same run")
	}
}

func TestChallengeLimiterClock(t *testing.T) {
	l, err := NewChallengeLimiter(1, time.Second, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	for l.Allow(1000) {
	}
	if l.Allow(0) {
		t.Error("a clock that steps back fills the bucket")
	}
	if l.Allow(1000 + wheel.Time(time.Second) - 1) {
		t.Error("the bucket is filled before the period is over")
	}
	if !l.Allow(1000 + wheel.Time(time.Second)) {
		t.Error("the bucket is not filled when the period is over")
	}
}

func TestChallengeLimiterBounds(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		limit  int
		period time.Duration
		rnd    *rand.Rand
		want   string
	}{
		{0, time.Second, rnd, "tcp: challenge ACK limit 0, want 1..1073741824"},
		{1, 0, rnd, "tcp: challenge ACK period 0s, want more than 0"},
		{1, time.Second, nil, "tcp: challenge ACK limiter without a generator"},
	} {
		if _, err := NewChallengeLimiter(c.limit, c.period, c.rnd); err == nil || err.Error() != c.want {
			t.Errorf("NewChallengeLimiter(%d, %v) = %v, want %s", c.limit, c.period, err, c.want)
		}
	}
}
