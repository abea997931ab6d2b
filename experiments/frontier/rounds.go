package frontier

import (
	"math/rand/v2"
	"time"

	"tcpwheel/experiments/internal/stat"
	"tcpwheel/wheel"
)

// round is a flight of a connection: what was drawn beforehand.
type round struct {
	sent wheel.Time
	rtts []time.Duration // of its segments, by when their ACKs come; the first one's too if it is lost
	lost int             // transmissions of the first segment that are lost, one after the other
}

// path draws the rounds of connections.
type path struct {
	plan    *Plan
	process string
	rng     *rand.Rand

	base  time.Duration // the round trip of an idle path
	level float64       // times that, of shifts
	queue time.Duration // and beside it, of bloat
	full  time.Duration // at which the queue drains
	rise  time.Duration // by which it grows in a round
	bad   bool          // of bursts: the path loses
}

// The processes. What they vary by is data of the study and no parameter of a plan: it was set before anything was measured.
const (
	sigma        = 0.2  // of the logarithm of each round trip
	wideSigma    = 0.4  // of lognormal
	spikeChance  = 0.01 // of a round
	spikeLeast   = 500 * time.Millisecond
	spikeMost    = 3 * time.Second
	shiftChance  = 0.02 // of a round; the level is 1 to 4 then
	shiftMost    = 4.0
	bloatMost    = 1500 * time.Millisecond // a queue drains at a fill from a tenth of it up
	bloatRounds  = 30                      // in which it fills
	burstEnds    = 0.4                     // of a round: a stay in the bad state
	burstLoss    = 0.5                     // in the bad state, of each transmission
	delackChance = 0.3                     // of a segment
	delackMost   = 200 * time.Millisecond
	within       = 0.1 // by how much of the idle round trip those of a flight differ
)

// connection draws the rounds of one connection.
func (w *path) connection() []round {
	p := w.plan
	w.base = min(max(times(p.RTT, stat.Exp(p.Spread*stat.Normal(w.rng))), p.LeastRTT), p.MostRTT)
	w.level, w.queue, w.bad = 1, 0, false
	w.refill()
	at := wheel.Time(w.between(0, time.Second)) // the phase of the ticks
	flight := 1 + w.rng.IntN(p.Flight)
	rounds := make([]round, p.Rounds)
	for i := range rounds {
		rtt := w.next()
		r := round{sent: at, rtts: make([]time.Duration, flight)}
		for k := range r.rtts {
			r.rtts[k] = rtt
			if k > 0 {
				r.rtts[k] += w.between(0, times(w.base, within))
			}
			if w.process == "delack" && w.rng.Float64() < delackChance {
				r.rtts[k] += w.between(0, delackMost)
			}
		}
		r.lost = w.losses()
		rounds[i] = r
		at = at.Add(rtt)
	}
	return rounds
}

// next draws the round trip of a round.
func (w *path) next() time.Duration {
	s := sigma
	if w.process == "lognormal" {
		s = wideSigma
	}
	rtt := times(w.base, stat.Exp(s*stat.Normal(w.rng)))
	switch w.process {
	case "spikes":
		if w.rng.Float64() < spikeChance {
			rtt += w.between(spikeLeast, spikeMost)
		}
	case "shifts":
		if w.rng.Float64() < shiftChance {
			w.level = 1 + float64((shiftMost-1)*w.rng.Float64())
		}
		rtt = times(rtt, w.level)
	case "bloat":
		if w.queue += w.rise; w.queue > w.full {
			w.queue = 0
			w.refill()
		}
		rtt += w.queue
	}
	return rtt
}

// refill draws how long the queue becomes.
func (w *path) refill() {
	w.full = w.between(bloatMost/10, bloatMost)
	w.rise = w.full / bloatRounds
}

// losses draws how many transmissions of a segment are lost.
func (w *path) losses() (n int) {
	if w.process != "bursts" {
		for chance := w.plan.Loss; n < 8 && w.rng.Float64() < chance; n++ {
			chance = w.plan.Again
		}
		return n
	}
	// Gilbert's model, which changes state with each transmission; of all of them it loses as many as the plan's loss says.
	begins := burstEnds * w.plan.Loss / (burstLoss - w.plan.Loss)
	for n < 8 {
		if w.bad {
			w.bad = w.rng.Float64() >= burstEnds
		} else {
			w.bad = w.rng.Float64() < begins
		}
		if !w.bad || w.rng.Float64() >= burstLoss {
			break
		}
		n++
	}
	return n
}

// between draws a span evenly.
func (w *path) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(w.rng.Int64N(int64(hi-lo)+1))
}

// times multiplies a span.
func times(d time.Duration, x float64) time.Duration { return time.Duration(float64(d) * x) }
