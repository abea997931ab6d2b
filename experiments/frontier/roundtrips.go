package frontier

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// tripsPlan is the plan of the study.
type tripsPlan struct {
	Strata []string `plan:"strata" oneof:"cloud wired wifi 4g 5g ndt"`
	Least  int      `plan:"least" min:"2" max:"1000"`
	Most   int      `plan:"most" min:"2" max:"1000"`

	Floors []time.Duration `plan:"floors" min:"0s" max:"10s" order:"rising"`
	Ticks  []time.Duration `plan:"ticks" min:"0s" max:"500ms" order:"rising"`
	Alphas []int           `plan:"alphas" min:"1" max:"1024"`
	Betas  []int           `plan:"betas" min:"1" max:"1024"`
	Every  []int           `plan:"every" min:"1" max:"1000"`

	Policies      []testbed.Timers `plan:"policies" optional:"true"`
	Granularities []time.Duration  `plan:"granularities" min:"1ns" max:"1s" optional:"true"`
	AckDelay      time.Duration    `plan:"ack_delay" min:"0s" max:"1s"`

	Loss     float64 `plan:"loss" unit:"probability" min:"0.0001" max:"0.4"`
	Shuffles int     `plan:"shuffles" min:"1" max:"1000"`
}

// tripsCell is the results of all estimators on a series.
type tripsCell struct {
	Stratum string        `json:"stratum"`
	Site    string        `json:"site"`
	Trips   int           `json:"trips"`
	First   time.Duration `json:"first_s"`
	Median  time.Duration `json:"median_s"`
	Longest time.Duration `json:"longest_s"`

	Measured []waits `json:"measured"` // by estimator, in the order of tripsPlan.estimators
	Shuffled []waits `json:"shuffled"` // the mean over the shuffles
}

// waits are what an estimator did on a series, after its first round trip.
type waits struct {
	Bad   float64       `json:"bad"`       // % of the round trips are longer than the timeout in force
	Wait  float64       `json:"wait"`      // mean timeout in force, each divided by its round trip
	Waits time.Duration `json:"timeout_s"` // mean timeout in force
	Bound float64       `json:"bound"`     // % of the timeouts have the least variation that the estimator allows
}

// The orders of the round trips of a series.
const (
	measured = "measured"
	shuffled = "shuffled"
)

// tripsRow is an estimator on a series.
type tripsRow struct {
	Stratum string // cloud, wired, wifi, 4g, 5g or ndt
	Site    string // series of one site share a path or a server
	Series  int    // its number
	Trips   int
	First   time.Duration // the first round trip
	Median  time.Duration // of the round trips
	Longest time.Duration // the longest one

	Order     string        // measured, or shuffled: the same round trips in another order
	Estimator string        // RFC 6298, RFC 9002, or a policy
	Floor     time.Duration // on the timeout
	Tick      time.Duration // of both clocks; 0s is exact
	Alpha     int           // 1 / gain of SRTT
	Beta      int           // 1 / gain of RTTVAR
	Every     int           // one of so many round trips is timed
	Least     time.Duration // least variation in the timeout of RFC 9002
	waits
}

// RoundTrips is the study.
var RoundTrips = experiments.Define(experiments.Spec[tripsPlan, tripsCell]{
	ID: "E30", Name: "roundtrips", Class: experiments.Shape, Folder: "frontier/roundtrips", Files: files,
	Words: func() experiments.Words { return tripsWords },
	Check: func(p *tripsPlan) error {
		if !slices.Contains(p.Ticks, 0) || !slices.Contains(p.Every, 1) ||
			!slices.Contains(p.Alphas, standardAlpha) || !slices.Contains(p.Betas, standardBeta) {
			return fmt.Errorf("ticks, every, alphas and betas: want 0s, 1, %d and %d among them", standardAlpha, standardBeta)
		}
		return nil
	},
	Cells: tripsCells,
	Judge: func(p *tripsPlan, cells []tripsCell) (*experiments.Outcome, error) {
		return tripsJudge(p, tripsRows(p, cells)), nil
	},
})

// tripsRows returns a row for each estimator, series and order.
func tripsRows(p *tripsPlan, cells []tripsCell) (all []tripsRow) {
	configs := p.estimators()
	for i := range cells {
		c := &cells[i]
		for k := range configs {
			f := &configs[k]
			r := tripsRow{Stratum: c.Stratum, Site: c.Site, Series: i + 1, Trips: c.Trips, First: c.First,
				Median: c.Median, Longest: c.Longest, Order: measured, Estimator: "RFC 6298", Floor: f.floor,
				Tick: f.tick, Alpha: f.alpha, Beta: f.beta, Every: f.every, Least: f.least, waits: c.Measured[k]}
			switch {
			case f.other != "":
				r.Estimator = f.other
			case f.delay > 0:
				r.Estimator = "RFC 9002, with the peer's delay"
			case f.least > 0:
				r.Estimator = "RFC 9002"
			}
			all = append(all, r)
			r.Order, r.waits = shuffled, c.Shuffled[k]
			all = append(all, r)
		}
	}
	return all
}

// tripsConfig is an estimator.
type tripsConfig struct {
	config
	every int
	least time.Duration // of RFC 9002: kGranularity
	delay time.Duration // added to the timeout, as RFC 9002 adds max_ack_delay
}

// estimators returns all estimators, each once: RFC 6298's with all floors and ticks, with all
// floors and gains, and with fewer samples; RFC 9002's; and those of other policies.
func (p *tripsPlan) estimators() (all []tripsConfig) {
	add := func(c tripsConfig) {
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	for _, floor := range p.Floors {
		for _, tick := range p.Ticks {
			add(tripsConfig{config: both(floor, tick), every: 1})
		}
		for _, alpha := range p.Alphas {
			for _, beta := range p.Betas {
				c := standard(floor)
				c.alpha, c.beta = alpha, beta
				add(tripsConfig{config: c, every: 1})
			}
		}
		for _, n := range p.Every {
			add(tripsConfig{config: standard(floor), every: n})
		}
	}
	for _, g := range p.Granularities {
		add(tripsConfig{config: standard(0), every: 1, least: g})
		add(tripsConfig{config: standard(0), every: 1, least: g, delay: p.AckDelay})
	}
	for _, t := range p.Policies {
		add(tripsConfig{config: config{other: t.Text}, every: 1})
	}
	return all
}

// timer returns the timer of an estimator.
func (c *tripsConfig) timer() timer {
	switch {
	case c.other != "":
		p := testbed.MustTimers(c.other).Policy
		return timer{p, p.NewEstimator()}
	case c.least > 0:
		t := c.config.timer()
		bounds := t.policy.Bounds
		bounds.Min = c.least
		t.made = tcptimers.NewRFC6298(tcptimers.StandardConfig{Bounds: bounds, G: c.least})
		return t
	}
	return c.config.timer()
}

// follow runs an estimator over round trips. The first begins so long after an instant as it says.
func (c *tripsConfig) follow(t *timer, at wheel.Time, trips []trip) (w waits) {
	p, e := &t.policy, t.made.New()
	bad, bound := 0, 0
	var sum time.Duration
	for i := range trips {
		rtt := trips[i].rtt
		at = at.Add(trips[i].idle)
		if i > 0 {
			wait := p.Deadline(at, e.RTO()+c.delay).Sub(at)
			sum += wait
			w.Wait += float64(wait) / float64(rtt)
			if rtt > wait {
				bad++
			}
			if 4*e.RTTVar() <= c.least {
				bound++
			}
		}
		if i%c.every == 0 {
			e.Sample(tcptimers.Sample{RTT: p.Measure(at, at.Add(rtt)), Round: true, Expected: 1})
		}
		at = at.Add(rtt)
	}
	n := float64(len(trips) - 1)
	w.Bad, w.Wait, w.Waits = 100*float64(bad)/n, w.Wait/n, sum/time.Duration(len(trips)-1)
	w.Bound = 100 * float64(bound) / n
	return w
}

// tripsCells returns a cell for each series.
func tripsCells(p *tripsPlan) (all []experiments.Cell[tripsCell]) {
	configs := p.estimators()
	found, err := allSeries()
	if err != nil {
		panic("BUG: frontier: " + err.Error()) // TestSeries reads them
	}
	for i, s := range found {
		if len(s.trips) < p.Least || !slices.Contains(p.Strata, s.stratum) {
			continue
		}
		trips := s.trips[:min(len(s.trips), p.Most)]
		all = append(all, experiments.Cell[tripsCell]{
			Name: fmt.Sprintf("series=%d %s", i+1, s.source),
			Cost: 4e-8 * float64(len(trips)*len(configs)*(1+p.Shuffles)),
			Run: func(context.Context) (tripsCell, error) {
				return p.overSeries(configs, i+1, s, trips), nil
			},
		})
	}
	return all
}

// overSeries runs all estimators over a series, and over the same round trips in other orders.
func (p *tripsPlan) overSeries(configs []tripsConfig, number int, s series, trips []trip) tripsCell {
	rng := rand.New(rand.NewPCG(uint64(number), 0xe30))
	at := wheel.Time(rng.Int64N(int64(time.Second))) // the phase of the ticks
	c := tripsCell{Stratum: s.stratum, Site: s.site, Trips: len(trips), First: trips[0].rtt,
		Shuffled: make([]waits, len(configs))}
	lengths := make([]time.Duration, len(trips))
	for i, t := range trips {
		lengths[i] = t.rtt
	}
	slices.Sort(lengths)
	c.Median, c.Longest = lengths[(len(lengths)-1)/2], lengths[len(lengths)-1]
	timers := make([]timer, len(configs))
	for k := range configs {
		timers[k] = configs[k].timer()
		c.Measured = append(c.Measured, configs[k].follow(&timers[k], at, trips))
	}
	trips = slices.Clone(trips)
	for range p.Shuffles {
		rng.Shuffle(len(trips), func(i, j int) { trips[i], trips[j] = trips[j], trips[i] })
		for k := range configs {
			w, sum := configs[k].follow(&timers[k], at, trips), &c.Shuffled[k]
			sum.Bad, sum.Wait, sum.Waits, sum.Bound = sum.Bad+w.Bad, sum.Wait+w.Wait, sum.Waits+w.Waits, sum.Bound+w.Bound
		}
	}
	n := float64(p.Shuffles)
	for k := range c.Shuffled {
		w := &c.Shuffled[k]
		w.Bad, w.Wait, w.Waits, w.Bound = w.Bad/n, w.Wait/n, w.Waits/time.Duration(p.Shuffles), w.Bound/n
	}
	return c
}

// series is the round trips of one connection or prober.
type series struct {
	stratum, site, source string
	trips                 []trip
}

// trip is a round trip that begins so long after the end of the one before.
type trip struct{ idle, rtt time.Duration }

// allSeries returns the series of roundtrips/series.txt.gz.
var allSeries = sync.OnceValues(func() ([]series, error) {
	text, err := files.ReadFile("roundtrips/series.txt.gz")
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return readSeries(bufio.NewScanner(z))
})

// readSeries reads series in the format that roundtrips/README.md describes.
func readSeries(in *bufio.Scanner) (all []series, err error) {
	in.Buffer(nil, 1<<20)
	for n := 1; in.Scan(); n++ {
		line := in.Text()
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 5 {
			return nil, fmt.Errorf("series, line %d: %d fields, want 5", n, len(f))
		}
		unit, err := time.ParseDuration(f[3])
		s := series{stratum: f[0], site: f[1], source: f[2]}
		for word := range strings.FieldsSeq(f[4]) {
			idle, rtt, found := strings.Cut(word, "+")
			if !found {
				idle, rtt = "0", word
			}
			a, bad := strconv.ParseUint(idle, 10, 31)
			b, worse := strconv.ParseUint(rtt, 10, 31)
			if err != nil || bad != nil || worse != nil || b == 0 {
				return nil, fmt.Errorf("series, line %d: %q in units of %q: want a round trip, or IDLE+TRIP", n, word, f[3])
			}
			s.trips = append(s.trips, trip{time.Duration(a) * unit, time.Duration(b) * unit})
		}
		all = append(all, s)
	}
	return all, in.Err()
}
