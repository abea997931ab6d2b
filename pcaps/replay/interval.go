package replay

import (
	"maps"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"
)

// savings is what a policy saves, and what the capture does not show of that.
type savings struct {
	files [][]saving                // by capture, of each loss
	file  string                    // of the last of files
	waits map[netip.Addr][]tickWait // by host
	tick  time.Duration
	again []lostAgain
}

// saving is what a loss, or several, save at least and at most, by the key that their fates follow:
// least is not above what they save by range, and most not below.
type saving struct{ least, most [Keys]time.Duration }

// add adds o.
func (s *saving) add(o *saving) {
	for k := range Keys {
		s.least[k] += o.least[k]
		s.most[k] += o.most[k]
	}
}

// lostAgain is a repair that arrives by range and is lost by another key, or that leaves after a lost
// packet and before any other on a path that loses packets in bursts. The capture does not show how
// many more packets the path loses then.
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

// add adds to what is known of a loss that counts what is not, and returns what it saves. By a key
// that does not say what becomes of it the first retransmission may arrive.
func (s *savings) add(r *Result, loss, choice int, rec *Recovery) (x saving) {
	l := &r.Captured.Losses[loss]
	p, timers := &r.Captured.Paths[l.Flow], &r.Policies[choice].timers
	longest := rec.TRec
	for k := range Keys {
		took := min(rec.TRec, rec.D+l.RTT)
		if other, ok := r.Recovery(loss, choice, Key(k)); ok {
			took = other.TRec
		}
		longest = max(longest, took)
		x.least[k] = r.Control[loss].TRec - max(rec.TRec, took)
		x.most[k] = r.Control[loss].TRec - min(rec.TRec, took)
	}
	switch {
	case longest > rec.TRec+l.RTT+gateSpan:
		s.again = append(s.again, lostAgain{rec.waited, timers.Bounds.Max, p.burst()})
	case rec.blind > max(p.Base/4, sameInstant, rec.waited/sameWait) && p.burst() > 2*p.chance():
		s.again = append(s.again, lostAgain{rec.waited, timers.Bounds.Max, p.chance()})
	}
	if wait, ok := r.tickWait(loss, choice, rec); ok {
		s.tick = max(s.tick, timers.Tick)
		host := r.addr(l.Flow)
		s.waits[host] = append(s.waits[host], wait)
	}
	return x
}

// LeastLosses is how many losses a verdict needs: with fewer there is no interval.
const LeastLosses = 5

const (
	fewestFiles = 5               // below, losses are drawn for the interval
	mostUnits   = 1000            // about so many are drawn at most: of more losses, groups
	resamples   = 10_000          // draws for an interval
	outside     = resamples / 100 // of these, on each side of it
	phases      = 200             // of ticks
)

// interval returns the bounds of 98 % of the sum of what is saved: an answer is a test at 1 %, and
// what the replay may be wrong by comes on top.
//
// It draws units again and again with replacement. With each it draws the key that the fates follow,
// and for each draw where the ticks of each host are, which moves all waits for them together. For
// the lower bound it draws as well which repairs are lost again; seen is that bound without these.
func (s *savings) interval() (low, seen, high time.Duration, ok bool) {
	sums := s.units()
	if len(sums) < LeastLosses {
		return 0, 0, 0, false
	}
	rng := rand.New(rand.NewPCG(1, 2)) // the same intervals each time
	least, most := draw(sums, resamples, rng)
	for _, host := range slices.SortedFunc(maps.Keys(s.waits), netip.Addr.Compare) {
		later := tickShifts(s.waits[host], s.tick)
		for i := range least {
			x := later[rng.IntN(phases)]
			least[i] -= x
			most[i] -= x
		}
	}
	again := slices.Clone(least)
	for _, x := range s.again {
		x.cost(again, rng)
	}
	for _, bound := range [][]time.Duration{again, least, most} {
		slices.Sort(bound)
	}
	return again[outside], least[outside], most[resamples-1-outside], true
}

// units returns what is drawn for the interval: what captures save, as losses on one path are not
// independent, or what losses save if there are few captures.
func (s *savings) units() []saving {
	groups := s.files
	if len(groups) < fewestFiles {
		all := slices.Concat(groups...)
		groups = slices.Collect(slices.Chunk(all, 1+len(all)/mostUnits))
	}
	sums := make([]saving, len(groups))
	for i := range groups {
		for k := range groups[i] {
			sums[i].add(&groups[i][k])
		}
	}
	return sums
}

// draw returns the sums of as many of sums, drawn with replacement, each by a key.
func draw(sums []saving, n int, rng *rand.Rand) (least, most []time.Duration) {
	least, most = make([]time.Duration, n), make([]time.Duration, n)
	for i := range n {
		for range sums {
			x := rng.IntN(len(sums) * Keys)
			least[i] += sums[x/Keys].least[x%Keys]
			most[i] += sums[x/Keys].most[x%Keys]
		}
	}
	return least, most
}

// tickShifts returns by how much the sum of waits for ticks grows if these are later, by phase.
func tickShifts(waits []tickWait, tick time.Duration) (later [phases]time.Duration) {
	for i := range later {
		shift := tick * time.Duration(i) / phases
		for _, w := range waits {
			if w.sooner > 0 {
				later[i] -= max(w.sooner-shift, 0)
			} else {
				later[i] += (w.beyond+shift)%tick - w.beyond
			}
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
