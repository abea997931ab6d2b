package replay

import (
	"maps"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"
)

// savings is what a policy saves by range, and what the capture does not show of that.
type savings struct {
	conns [][]time.Duration              // by connection, of each loss
	waits map[netip.Addr][]time.Duration // for ticks, by host
	tick  time.Duration
	again []lostAgain
}

// lostAgain is a repair that leaves when the capture shows nothing of the path.
type lostAgain struct {
	waited, longest time.Duration // for it, and at most for one after it
	chance          float64       // that it is lost, and each one after it
}

const (
	mostAgain = 6 // losses in a row of one repair

	// A packet shows the path for a repair that leaves so soon before or after it: this part of the
	// wait.
	sameWait = 16
)

// add adds what is not known of a loss that counts.
func (s *savings) add(r *Result, loss, choice int, rec *Recovery, rate float64) {
	flow := r.Captured.Losses[loss].Flow
	p, timers := &r.Captured.Paths[flow], &r.Policies[choice].timers
	if rec.apart > max(p.Base/4, sameInstant, rec.waited/sameWait) {
		s.again = append(s.again, lostAgain{rec.waited, timers.Bounds.Max, p.chance(rate)})
	}
	if wait, ok := r.tickWait(loss, choice, rec); ok {
		s.tick = max(s.tick, timers.Tick)
		host := r.addr(flow)
		s.waits[host] = append(s.waits[host], wait)
	}
}

const (
	fewestLosses = 5      // without an interval below
	fewestConns  = 5      // below, losses are drawn for the interval, and not connections
	resamples    = 10_000 // draws for an interval
	phases       = 200    // of ticks
)

// interval returns the bounds of 99 % of the sum of what is saved. It draws connections again and
// again with replacement, as losses of one connection are not independent; or losses, if there are
// few connections. For each draw it also draws where the ticks of each host are, which moves all
// waits for them together. For the lower bound it draws as well which repairs are lost again; seen
// is that bound without these.
func (s *savings) interval(fewest int) (low, seen, high time.Duration, ok bool) {
	var sums []time.Duration
	for _, c := range s.conns {
		if len(s.conns) < fewestConns {
			sums = append(sums, c...)
			continue
		}
		sum := time.Duration(0)
		for _, saved := range c {
			sum += saved
		}
		sums = append(sums, sum)
	}
	if len(sums) < fewest {
		return 0, 0, 0, false
	}
	rng := rand.New(rand.NewPCG(1, 2)) // the same intervals each time
	drawn := draw(sums, resamples, rng)
	for _, host := range slices.SortedFunc(maps.Keys(s.waits), netip.Addr.Compare) {
		later := tickShifts(s.waits[host], s.tick)
		for i := range drawn {
			drawn[i] -= later[rng.IntN(phases)]
		}
	}
	const least = resamples / 200
	again := slices.Clone(drawn)
	for _, x := range s.again {
		x.cost(again, rng)
	}
	slices.Sort(drawn)
	slices.Sort(again)
	return again[least], drawn[least], drawn[resamples-1-least], true
}

// draw returns the sums of as many of sums, drawn with replacement.
func draw(sums []time.Duration, n int, rng *rand.Rand) []time.Duration {
	drawn := make([]time.Duration, n)
	for i := range drawn {
		for range sums {
			drawn[i] += sums[rng.IntN(len(sums))]
		}
	}
	return drawn
}

// tickShifts returns by how much the sum of waits for ticks grows if these are later, by phase.
func tickShifts(waits []time.Duration, tick time.Duration) (later [phases]time.Duration) {
	for i := range later {
		for _, w := range waits {
			later[i] += (w+tick*time.Duration(i)/phases)%tick - w
		}
	}
	return later
}

// cost takes from draws what the repair costs where it is lost, and perhaps the ones after it. Each
// waits twice as long as the one before. Few draws are hit: it jumps from one to the next.
func (x lostAgain) cost(draws []time.Duration, rng *rand.Rand) {
	next := func(i int) int { return i + 1 + int(min(rng.ExpFloat64()/-math.Log1p(-x.chance), 1e9)) }
	for i := next(-1); i < len(draws); i = next(i) {
		wait := x.waited
		for k := 0; k == 0 || k < mostAgain && rng.Float64() < x.chance; k++ {
			wait = min(2*wait, max(x.longest, x.waited))
			draws[i] -= wait
		}
	}
}
