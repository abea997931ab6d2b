package frontier

import (
	"fmt"
	"slices"
	"time"
)

// Row is the timeouts of an estimator on the connections of a process under one seed.
type Row struct {
	Set     string `json:"set" help:"each, clocks and gains, or levels of factors: next, all, later, apart, divided"`
	Sample  string `json:"sample" help:"of round trips: drawn; captured, whose seeds are captures; other: drawn too"`
	Process string `json:"process" help:"of round trips; all of them together"`
	Seed    int    `json:"seed"`

	Median time.Duration `json:"median_ns" help:"of the round trips of idle paths, if drawn"`

	Estimator string `json:"estimator" help:"RFC 6298 or the policy that has it"`

	Floor    time.Duration `json:"floor_ns" help:"on the timeout"`
	Clock    time.Duration `json:"clock_ns" help:"granularity of the clock that measures round trips; 0s is exact"`
	Tick     time.Duration `json:"tick_ns" help:"of expiry; 0s is exact"`
	Alpha    int           `json:"alpha" help:"1 / gain of SRTT"`
	Beta     int           `json:"beta" help:"1 / gain of RTTVAR"`
	Sampling string        `json:"sampling" help:"which segments of a flight give samples"`
	Text     string        `json:"text" column:"configuration" help:"all of these"`

	Factor string `json:"factor" help:"of a set of levels: floor, granularity, gains or sampling"`
	Level  string `json:"level" help:"of the factor"`
	Fixed  string `json:"fixed" help:"what its levels share"`

	Rounds     int     `json:"rounds" unit:"flights"`
	Good       float64 `json:"good" unit:"timeouts"`
	Bad        float64 `json:"bad" unit:"timeouts" help:"spurious"`
	Waited     float64 `json:"waited" unit:"s" help:"in good timeouts"`
	Normalised float64 `json:"normalised" unit:"round trips" help:"the same"`
}

// level is a configuration as a level of a factor.
type level struct {
	config
	factor, level, fixed string
}

// drawn is the sample of round trips that are not captured.
const drawn = "drawn"

// The sets of rows.
const (
	each    = "each"
	clocks  = "clocks"
	gains   = "gains"
	next    = "next"    // next to the greatest floor and exact clocks
	all     = "all"     // over all levels of the others
	later   = "later"   // with the ticks that were added later
	apart   = "apart"   // where no tick is above a floor
	divided = "divided" // all, with divided gains alone in the place of all samplings
)

// rows returns the rows of all sets: by seed, within it by process. The rows of levels of factors
// are of all processes together.
func rows(p *Plan, cells []Cell) (out []Row) {
	places := map[config]int{}
	configs := p.configs()
	for i, c := range configs {
		places[c] = i
	}
	var ofTables []level // with their set in the place of a factor
	n := len(p.Floors)
	for _, floor := range []time.Duration{p.Floors[0], p.Floors[n/2], p.Floors[n-1]} {
		for _, c := range p.clocked(floor) {
			ofTables = append(ofTables, level{config: c, factor: clocks})
		}
	}
	for _, floor := range []time.Duration{p.Floors[0], p.Floors[n-1]} {
		for _, c := range p.gained(floor) {
			ofTables = append(ofTables, level{config: c, factor: gains})
		}
	}
	levels := p.levels()
	of := map[string][]Cell{}
	for _, c := range cells {
		switch {
		case c.Process == captured && c.Rounds > 0:
			of[captured] = append(of[captured], c)
		case c.Process != captured && c.RTT == 0:
			of[drawn] = append(of[drawn], c)
		case c.Process != captured:
			of[c.RTT.String()] = append(of[c.RTT.String()], c)
		}
	}
	samples := []string{drawn, captured}
	for _, rtt := range p.otherRTTs() {
		samples = append(samples, rtt.String())
	}
	for _, sample := range samples {
		of, other := of[sample], sample != drawn && sample != captured
		slices.SortStableFunc(of, func(a, b Cell) int { return a.Seed - b.Seed })
		totals := make([]Tally, len(configs)) // of a seed
		for i := range of {
			c := &of[i]
			add := func(set, process string, l level, t Tally) {
				r := l.row(set, sample, process, c, t)
				switch {
				case other:
					r.Sample, r.Median = "other", c.RTT
				case sample == drawn:
					r.Median = p.RTT
				}
				out = append(out, r)
			}
			for k, config := range configs {
				totals[k].add(c.Tallies[k])
				if other {
					continue // of other medians only the levels are compared
				}
				add(each, "all", level{config: config}, c.Tallies[k])
				if sample == drawn {
					add(each, c.Process, level{config: config}, c.Tallies[k])
				}
			}
			for _, l := range ofTables {
				if !other {
					add(l.factor, "all", level{config: l.config}, c.Tallies[places[l.config]])
				}
			}
			if i+1 < len(of) && of[i+1].Seed == c.Seed {
				continue
			}
			for _, set := range levels {
				if other && set.name != next && set.name != all {
					continue
				}
				for _, l := range set.of {
					add(set.name, "all", l, totals[places[l.config]])
				}
			}
			clear(totals)
		}
	}
	return out
}

func (l *level) row(set, sample, process string, c *Cell, t Tally) Row {
	r := Row{Set: set, Sample: sample, Process: process, Seed: c.Seed, Estimator: "RFC 6298", Floor: l.floor,
		Clock: l.rttTick, Tick: l.tick, Alpha: l.alpha, Beta: l.beta, Sampling: samplings[l.sampling],
		Text: l.config.String(), Factor: l.factor, Level: l.level, Fixed: l.fixed, Rounds: c.Rounds,
		Good: t[good], Bad: t[bad], Waited: t[waited], Normalised: t[normalised]}
	if l.other != "" {
		r.Estimator = l.other
	}
	return r
}

// clocked returns the estimators with a tick for one clock, and for both, next to exact ones.
func (p *Plan) clocked(floor time.Duration) []config {
	all := []config{standard(floor)}
	for _, tick := range p.Alone {
		clock, expiry := standard(floor), standard(floor)
		clock.rttTick, expiry.tick = tick, tick
		all = append(all, clock, expiry)
		if slices.Contains(p.Ticks, tick) {
			all = append(all, both(floor, tick))
		}
	}
	return all
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
		{next, p.factors(p.Floors, p.Ticks, samplings, top, exact)},
		{all, p.factors(p.Floors, p.Ticks, samplings, p.Floors, p.Ticks)},
		{divided, p.factors(p.Floors, p.Ticks, []sampling{first, diluted}, p.Floors, p.Ticks)},
	}
	if len(p.Later) > 0 {
		ticks := p.allTicks()
		sets = append(sets, levelSet{later, p.factors(p.Floors, ticks, samplings, p.Floors, ticks)})
	}
	floors := slices.DeleteFunc(slices.Clone(p.Floors), func(d time.Duration) bool { return d < fineTick })
	ticks := slices.DeleteFunc(slices.Clone(p.Ticks), func(d time.Duration) bool { return d > fineTick })
	if len(floors) >= 2 && len(ticks) >= 2 {
		sets = append(sets, levelSet{apart, p.factors(floors, ticks, samplings, floors, ticks)})
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
			all = append(all, level{both(floor, tick), "floor", floor.String(), tick.String()})
		}
	}
	for _, floor := range atFloors {
		at := floor.String()
		for _, tick := range ticks {
			all = append(all, level{both(floor, tick), "granularity", tick.String(), at})
		}
		for _, c := range p.gained(floor)[:len(p.Alphas)*len(p.Betas)] {
			all = append(all, level{c, "gains", fmt.Sprintf("1/%d 1/%d", c.alpha, c.beta), at})
		}
		for _, s := range samplings {
			c := standard(floor)
			c.sampling = s
			all = append(all, level{c, "sampling", fmt.Sprint(s), at})
		}
	}
	return all
}
