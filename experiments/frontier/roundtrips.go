package frontier

import (
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
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
	First   time.Duration `json:"first_ns"`
	Median  time.Duration `json:"median_ns"`
	Longest time.Duration `json:"longest_ns"`

	Measured []waits `json:"measured"` // by estimator, in the order of tripsPlan.estimators
	Shuffled []waits `json:"shuffled"` // the mean over the shuffles
}

// waits are what an estimator did on a series, after its first round trip.
type waits struct {
	Bad   float64       `json:"bad"`        // % of the round trips are longer than the timeout in force
	Wait  float64       `json:"wait"`       // mean timeout in force, each divided by its round trip
	Waits time.Duration `json:"timeout_ns"` // mean timeout in force
	Bound float64       `json:"bound"`      // % of the timeouts have the least variation that the estimator allows
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
