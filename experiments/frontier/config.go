package frontier

import (
	"fmt"
	"time"

	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/tcptimers"
)

// fineTick is the granularity of RFC 6298 §4: clocks up to it "perform somewhat better".
const fineTick = 100 * time.Millisecond

// The gains of RFC 6298.
const (
	standardAlpha = 8
	standardBeta  = 4
)

// sampling says which segments of a flight give RTT samples.
type sampling uint8

const (
	first   sampling = iota // the first of each flight
	every                   // all, with undivided gains
	diluted                 // all, with the gains divided by their number (RFC 7323 §G)
)

var samplings = []string{"one of a flight", "every segment", "every segment, gains divided"}

// config is a configuration of RFC 6298's estimator, or another estimator.
type config struct {
	other         string // policy with another estimator; "" means RFC 6298's
	floor         time.Duration
	rttTick, tick time.Duration // 0 means exact
	alpha, beta   int
	sampling      sampling
}

func (c config) String() string {
	if c.other != "" {
		return c.other
	}
	return fmt.Sprintf("floor %v, round trips %v, expiry %v, gains 1/%d 1/%d, %s", c.floor, c.rttTick, c.tick,
		c.alpha, c.beta, samplings[c.sampling])
}

// others are policies with their own estimators and clocks.
var others = []string{"bsd", "linux", "per-segment"}

// standard returns RFC 6298's estimator with exact clocks.
func standard(floor time.Duration) config {
	return config{floor: floor, alpha: standardAlpha, beta: standardBeta}
}

// both returns standard with the same tick for both clocks.
func both(floor, tick time.Duration) config {
	c := standard(floor)
	c.rttTick, c.tick = tick, tick
	return c
}

// configs returns all configurations, each once.
func (p *Plan) configs() (all []config) {
	seen := map[config]bool{}
	add := func(c config) {
		if !seen[c] {
			seen[c] = true
			all = append(all, c)
		}
	}
	for _, floor := range p.Floors {
		for _, tick := range p.allTicks() {
			add(both(floor, tick))
		}
		for _, tick := range p.Alone {
			c := standard(floor)
			c.rttTick = tick
			add(c)
			c.rttTick, c.tick = 0, tick
			add(c)
		}
		for _, c := range p.gained(floor) {
			add(c)
		}
	}
	for _, name := range others {
		add(config{other: name})
	}
	return all
}

// timer is a configuration in use on one connection.
type timer struct {
	policy tcptimers.Policy
	made   tcptimers.Estimator // makes an estimator for each connection
}

func (c config) timer() timer {
	if c.other != "" {
		p := tcptimers.MustPolicy(c.other)
		return timer{p, p.NewEstimator()}
	}
	p := tcptimers.MustPolicy("rfc6298")
	p.RTTTick, p.Tick = c.rttTick, max(c.tick, testbed.Exact)
	bounds := p.Bounds
	bounds.Min = max(c.floor, 1)
	return timer{p, tcptimers.NewRFC6298(tcptimers.StandardConfig{Bounds: bounds, G: c.rttTick, AlphaInv: c.alpha,
		BetaInv: c.beta})}
}

// gained returns the estimators with all gains, then the estimators with other samples.
func (p *Plan) gained(floor time.Duration) (all []config) {
	for _, alpha := range p.Alphas {
		for _, beta := range p.Betas {
			c := standard(floor)
			c.alpha, c.beta = alpha, beta
			all = append(all, c)
		}
	}
	for _, s := range []sampling{every, diluted} {
		c := standard(floor)
		c.sampling = s
		all = append(all, c)
	}
	return all
}
