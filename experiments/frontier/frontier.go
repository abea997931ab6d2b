// Package frontier is the studies of estimators without feedback: E10, the effect of floor,
// granularity, gains and sampling on timeouts; and E30, the estimators on measured round trips.
package frontier

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/experiments/judge"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel/stat"
)

//go:embed */*.md *.md */*.yaml *.yaml roundtrips/*.gz
var files embed.FS

// Plan is the plan of the study.
type Plan struct {
	Processes   []string `plan:"processes" oneof:"lognormal spikes shifts bloat bursts delack"`
	Connections int      `plan:"connections" min:"1" max:"100000"`
	Rounds      int      `plan:"rounds" min:"10" max:"100000"`

	RTT      time.Duration `plan:"rtt" min:"1ms" max:"10s"`
	Spread   float64       `plan:"spread" min:"0" max:"3"`
	LeastRTT time.Duration `plan:"least_rtt" min:"1us" max:"10s"`
	MostRTT  time.Duration `plan:"most_rtt" min:"1us" max:"1m"`

	Flight int     `plan:"flight" min:"1" max:"64"`
	Loss   float64 `plan:"loss" unit:"probability" min:"0.0001" max:"0.4"`
	Again  float64 `plan:"again" min:"0" max:"0.9"`

	Floors []time.Duration `plan:"floors" min:"0s" max:"10s" order:"rising"`
	Ticks  []time.Duration `plan:"ticks" min:"0s" max:"500ms" order:"rising"`
	Later  []time.Duration `plan:"later_ticks" min:"1us" max:"500ms" optional:"true"`
	Alone  []time.Duration `plan:"alone" min:"1us" max:"500ms"`
	Alphas []int           `plan:"alphas" min:"1" max:"1024"`
	Betas  []int           `plan:"betas" min:"1" max:"1024"`

	OtherRTTs  []time.Duration `plan:"other_rtts" min:"1ms" max:"10s" order:"rising" optional:"true"`
	OtherSeeds int             `plan:"other_seeds" min:"1" max:"1000"`
	FirstSeed  int             `plan:"first_seed" min:"1" max:"1000000"`

	Seeds int `plan:"seeds" min:"1" max:"1000"`
}

// allTicks returns all granularities of both clocks, in rising order, each once.
func (p *Plan) allTicks() []time.Duration {
	all := slices.Concat(p.Ticks, p.Later)
	slices.Sort(all)
	return slices.Compact(all)
}

// otherRTTs returns the other medians of round trips.
func (p *Plan) otherRTTs() []time.Duration {
	return slices.DeleteFunc(slices.Clone(p.OtherRTTs), func(d time.Duration) bool { return d == p.RTT })
}

// Cell is the results of all estimators on the connections of a process under one seed.
type Cell struct {
	Process string        `json:"process"`
	RTT     time.Duration `json:"rtt_s,omitempty"` // one of the plan's other medians
	Seed    int           `json:"seed"`
	Rounds  int           `json:"rounds"`
	Tallies []Tally       `json:"tallies"` // by configuration, in the order of Plan.configs
}

// Tally counts good and bad timeouts, and sums the waits of the good ones in seconds and in round
// trips.
type Tally [4]float64

// The fields of a Tally.
const (
	good = iota
	bad
	waited
	normalised
)

// Study is the study.
var Study = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "E10", Name: "frontier", Bed: "estimators", Class: experiments.Shape, Files: files,
	Check: func(p *Plan) error {
		if p.MostRTT < p.LeastRTT {
			return fmt.Errorf("most_rtt: %v, want at least least_rtt, %v", p.MostRTT, p.LeastRTT)
		}
		if p.Ticks[0] != 0 || p.Floors[0] != 0 || len(p.Floors) < 3 {
			return fmt.Errorf("ticks and floors: want 0 in both, and at least three floors")
		}
		if !slices.Contains(p.Alphas, standardAlpha) || !slices.Contains(p.Betas, standardBeta) {
			return fmt.Errorf("alphas and betas: want %d and %d among them", standardAlpha, standardBeta)
		}
		return nil
	},
	Words: func() experiments.Words { return words },
	Cells: cells,
	Judge: func(p *Plan, cells []Cell) (*experiments.Outcome, error) { return outcome(p, cells), nil },
})

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

// sample is the cells of round trips that are drawn with a median.
type sample struct {
	median time.Duration
	cells  []Cell  // by seed, within it by process
	totals []Tally // by configuration, over all seeds
	places map[config]int
	levels map[string][]level // by set
}

// samplesOf returns the samples: that of the plan's median, and those of other medians.
func samplesOf(p *Plan, cells []Cell) []sample {
	places, levels := map[config]int{}, map[string][]level{}
	for i, c := range p.configs() {
		places[c] = i
	}
	for _, set := range p.levels() {
		levels[set.name] = set.of
	}
	all := []sample{{median: p.RTT}}
	for _, rtt := range p.otherRTTs() {
		all = append(all, sample{median: rtt})
	}
	for i := range all {
		s := &all[i]
		s.places, s.levels = places, levels
		s.cells = judge.Where(cells, func(c *Cell) bool {
			return c.RTT == s.median || i == 0 && c.RTT == 0 // the plan's median
		})
		s.totals = make([]Tally, len(places))
		for _, c := range s.cells {
			for at, t := range c.Tallies {
				s.totals[at].add(t)
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

// moved returns the effect of a factor in a set of levels over all seeds.
func (s *sample) moved(set, factor string) effect {
	var rows []tallied
	for _, l := range s.levels[set] {
		if l.factor == factor {
			rows = append(rows, tallied{l, s.totals[s.places[l.config]]})
		}
	}
	return effectOf(rows, func(r *tallied) string { return r.fixed }, func(r *tallied) string { return r.level.level },
		func(rows []tallied) (float64, float64) { return rows[0].tally[waited], rows[0].tally.share() })
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
