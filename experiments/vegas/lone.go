package vegas

import (
	"math"
	"math/rand/v2"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel/stat"
)

// lone is a model of a sender of lone segments under 4.4BSD's clocks of 500 ms: its estimator and
// the instants at which exchanges begin. It uses none of the engine.
type lone struct {
	apart bool // exchanges begin at random phases of the tick, and not when the last one ends
}

var inARow, atRandomPhases = lone{}, lone{apart: true}

// modelLosses is the losses of a model's mean. Its standard error is below 3 ms.
const modelLosses = 20_000

// mean returns the mean wait of a lost segment, in ms, where so many exchanges without loss come
// before each.
func (l lone) mean(rtt time.Duration, cv float64, between int) float64 {
	const tick = float64(tcptimers.SlowTick)
	r := rand.New(rand.NewPCG(uint64(rtt), 0xa5))
	e := tcptimers.NewBSD(tcptimers.SlowTick, tcptimers.Bounds{})
	trip := func() float64 {
		return max(float64(rtt)/10, float64(rtt)+float64(float64(cv*float64(rtt))*stat.Normal(r)))
	}
	now, sum := 0.0, 0.0
	for range modelLosses {
		now += float64(r.Float64() * tick) // the last timeout has aligned the sender with the tick
		for range between {
			if l.apart {
				now += float64(r.Float64() * tick)
			}
			x := trip()
			crossed := math.Floor((now+x)/tick) - math.Floor(now/tick)
			e.Sample(tcptimers.Sample{RTT: time.Duration(crossed) * tcptimers.SlowTick})
			now += x
		}
		if l.apart {
			now += float64(r.Float64() * tick)
		}
		rto := float64(e.RTO() / tcptimers.SlowTick)
		at := float64((math.Floor(now/tick) + rto) * tick)
		sum += at - now
		now = at + trip()
	}
	return sum / modelLosses / 1e6
}
