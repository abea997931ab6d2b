package frontier

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments/judge"
	"tcpwheel/wheel/stat"
)

// level is a configuration as a level of a factor. Levels of one factor that share what is fixed
// differ in nothing else.
type level struct {
	config
	factor, level, fixed string
}

// The factors.
const (
	byFloor    = "floor"
	byTick     = "granularity"
	byGains    = "gains"
	bySampling = "sampling"
)

// The sets of levels.
const (
	setNext  = "next"  // next to the greatest floor and exact clocks
	setAll   = "all"   // over all levels of the others
	setLater = "later" // with the ticks that were added later
)

// sample is the cells of some round trips: drawn ones with a median, or captured ones, whose seeds
// are captures.
type sample struct {
	captured bool
	median   time.Duration
	cells    []Cell    // by seed, within it by process
	totals   [][]Tally // by seed and configuration
	places   map[config]int
	levels   map[string][]level // by set
}

// samplesOf returns the samples: drawn ones of the plan's median, captured ones, and those of other
// medians.
func samplesOf(p *Plan, cells []Cell) []sample {
	places, levels := map[config]int{}, map[string][]level{}
	for i, c := range p.configs() {
		places[c] = i
	}
	for _, set := range p.levels() {
		levels[set.name] = set.of
	}
	all := []sample{{median: p.RTT}, {captured: true}}
	for _, rtt := range p.otherRTTs() {
		all = append(all, sample{median: rtt})
	}
	for i := range all {
		s := &all[i]
		s.places, s.levels = places, levels
		s.cells = judge.Where(cells, func(c *Cell) bool {
			if c.Process == captured || s.captured {
				return c.Process == captured && s.captured && c.Rounds > 0
			}
			return c.RTT == s.median || i == 0 && c.RTT == 0 // the plan's median
		})
		slices.SortStableFunc(s.cells, func(a, b Cell) int { return a.Seed - b.Seed })
		for k, c := range s.cells {
			if k == 0 || c.Seed != s.cells[k-1].Seed {
				s.totals = append(s.totals, make([]Tally, len(places)))
			}
			for at, t := range c.Tallies {
				s.totals[len(s.totals)-1][at].add(t)
			}
		}
	}
	return all
}

// sum returns the timeouts of an estimator in cells.
func (s *sample) sum(cells []Cell, c config) (t Tally) {
	at := s.places[c]
	for i := range cells {
		t.add(cells[i].Tallies[at])
	}
	return t
}

// share returns the share of bad timeouts in %, and trips the mean wait of a good one in round
// trips.
func (t Tally) share() float64 {
	if t[good]+t[bad] == 0 {
		return 0
	}
	return 100 * t[bad] / (t[good] + t[bad])
}

func (t Tally) trips() float64 { return t[normalised] / max(t[good], 1) }

// tallied is a level and what it did.
type tallied struct {
	level
	tally Tally
}

// effect returns the effect of a factor in a set of levels under drawn seeds. It reports whether
// the plan has such levels.
func (s *sample) effect(totals [][]Tally, set, factor string) (e effect, ok bool) {
	var rows []tallied
	for _, l := range s.levels[set] {
		if l.factor == factor {
			row := tallied{level: l}
			for _, of := range totals {
				row.tally.add(of[s.places[l.config]])
			}
			rows = append(rows, row)
		}
	}
	return effectOf(rows, func(r *tallied) string { return r.fixed }, func(r *tallied) string { return r.level.level },
		func(rows []tallied) (float64, float64) { return rows[0].tally[waited], rows[0].tally.share() }), len(rows) > 0
}

// moved returns the effect of a factor in a set of levels over all seeds.
func (s *sample) moved(set, factor string) effect {
	e, _ := s.effect(s.totals, set, factor)
	return e
}

// asPrinted reports whether the floor moves both most, then the granularity, then the gains.
func (s *sample) asPrinted(set string) bool {
	f, g, a := s.moved(set, byFloor), s.moved(set, byTick), s.moved(set, byGains)
	return f.times > g.times && g.times > a.times && f.points > g.points && g.points > a.points
}

// inOrder reports whether gains and sampling move less, too.
func (s *sample) inOrder(set string) bool {
	f, g, a, n := s.moved(set, byFloor), s.moved(set, byTick), s.moved(set, byGains), s.moved(set, bySampling)
	return s.asPrinted(set) && g.times > max(a.times, n.times) && f.points > n.points
}

// levelSet is a set of levels of the factors.
type levelSet struct {
	name string
	of   []level
}

// levels returns the sets of levels.
func (p *Plan) levels() []levelSet {
	exact, top := []time.Duration{0}, p.Floors[len(p.Floors)-1:]
	samplings := []sampling{first, every, diluted}
	sets := []levelSet{
		{setNext, p.factors(p.Floors, p.Ticks, samplings, top, exact)},
		{setAll, p.factors(p.Floors, p.Ticks, samplings, p.Floors, p.Ticks)},
	}
	if len(p.Later) > 0 {
		ticks := p.allTicks()
		sets = append(sets, levelSet{setLater, p.factors(p.Floors, ticks, samplings, p.Floors, ticks)})
	}
	return sets
}

// factors returns configurations as levels of factors: those of the floor at each of some ticks,
// and those of the others at each of some floors. Levels of one factor that share what is fixed
// differ in nothing else.
func (p *Plan) factors(floors, ticks []time.Duration, samplings []sampling, atFloors,
	atTicks []time.Duration) (all []level) {
	for _, tick := range atTicks {
		for _, floor := range floors {
			all = append(all, level{both(floor, tick), byFloor, floor.String(), tick.String()})
		}
	}
	for _, floor := range atFloors {
		at := floor.String()
		for _, tick := range ticks {
			all = append(all, level{both(floor, tick), byTick, tick.String(), at})
		}
		for _, c := range p.gained(floor)[:len(p.Alphas)*len(p.Betas)] {
			all = append(all, level{c, byGains, fmt.Sprintf("1/%d 1/%d", c.alpha, c.beta), at})
		}
		for _, s := range samplings {
			c := standard(floor)
			c.sampling = s
			all = append(all, level{c, bySampling, fmt.Sprint(s), at})
		}
	}
	return all
}

// effect is by how much a factor moves the wait, greatest by least, and the bad timeouts, greatest
// less least.
type effect struct{ times, points float64 }

// effectOf returns the effect of the levels of a factor: the mean over what is fixed, in rising
// order.
func effectOf[F cmp.Ordered, L comparable, R any](rows []R, fixed func(*R) F, level func(*R) L,
	of func(rows []R) (wait, bad float64)) effect {
	var times, points []float64
	for _, g := range judge.Along(rows, fixed) {
		var most, least [2]float64
		for i, l := range judge.By(g.Rows, level) {
			wait, bad := of(l.Rows)
			if i == 0 {
				most, least = [2]float64{wait, bad}, [2]float64{wait, bad}
			}
			most = [2]float64{max(most[0], wait), max(most[1], bad)}
			least = [2]float64{min(least[0], wait), min(least[1], bad)}
		}
		times, points = append(times, most[0]/least[0]), append(points, most[1]-least[1])
	}
	return effect{stat.Mean(times), stat.Mean(points)}
}

// alone fixes nothing: a factor is compared at one place.
func alone[R any](*R) int { return 0 }
