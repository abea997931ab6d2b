package incast

import (
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/declared"
	"tcpwheel/experiments/internal/testbed"
)

// randomisedPlan is the plan of the study.
type randomisedPlan struct {
	Bytes      int             `plan:"bytes" unit:"size" min:"1" max:"1000000"`
	Request    int             `plan:"request" unit:"size" min:"1" max:"1460"`
	Servers    []int           `plan:"servers" min:"1" max:"10000" order:"rising"`
	Rates      []int           `plan:"rates" unit:"rate" min:"1000000" max:"100000000000"`
	RoundTrips []time.Duration `plan:"round_trips" min:"1us" max:"100ms"`
	Overhead   int             `plan:"overhead" min:"0" max:"1000"`
	Buffer     int             `plan:"buffer" min:"1" max:"100000"`
	Service    time.Duration   `plan:"service" min:"0s" max:"1s"`
	Think      time.Duration   `plan:"think" min:"0s" max:"10s"`

	Timers testbed.Timers  `plan:"timers"`
	Window int             `plan:"initial_window" min:"536" max:"65535"`
	Floors []time.Duration `plan:"floors" min:"100us" max:"1s"`
	Jitter float64         `plan:"jitter" min:"0.01" max:"1"`

	// Other spreads of service times, for SpreadServers, under fewer seeds.
	Services      []time.Duration `plan:"services" min:"1us" max:"1s" optional:"true"`
	SpreadServers int             `plan:"spread_servers" min:"1" max:"10000"`
	SpreadSeeds   int             `plan:"spread_seeds" min:"1" max:"1000"`

	Queries   int `plan:"queries" min:"2" max:"1000"`
	Unsettled int `plan:"unsettled" min:"1" max:"1000"`
	Seeds     int `plan:"seeds" min:"1" max:"1000"`

	// Up to Few servers, cells cost little and seeds differ much: FewSeeds.
	Few      int `plan:"few" min:"0" max:"10000"`
	FewSeeds int `plan:"few_seeds" min:"1" max:"1000"`
}

// randomisedCell is the queries of one seed.
type randomisedCell struct {
	Service time.Duration `json:"service_ns,omitempty" help:"longest time until an answer begins; 0s is the plan's"`
	Network int           `json:"network" help:"place of its rate in rates, from 0"`
	Floor   time.Duration `json:"floor_ns" help:"on the timeout"`
	Jitter  bool          `json:"jitter" help:"whether timeouts have a random part"`
	Servers int           `json:"servers" help:"that answer at once"`
	Seed    int           `json:"seed"`

	Took            []time.Duration `json:"took_ns"` // of each query
	Timeouts        uint64          `json:"timeouts" help:"of the run"`
	Retransmissions uint64          `json:"retransmissions" help:"of the run"`

	Ruled float64       `json:"ruled" help:"share of servers whose timeout the floor sets at the end of the run"`
	Most  []uint64      `json:"most"` // timeouts, in each query, of the server with the most
	Low   time.Duration `json:"low_ns" help:"10th percentile of the servers' timeouts there, without backoff"`
	High  time.Duration `json:"high_ns" help:"90th percentile"`
}

// randomisedRow is a query.
type randomisedRow struct {
	randomisedCell
	Rate      int           `json:"rate" unit:"bit/s"`
	RoundTrip time.Duration `json:"round_trip_ns"`
	Query     int           `json:"query" help:"its number, from 0"`
	Settled   bool          `json:"settled" help:"whether its connections have settled"`

	Took time.Duration `json:"took_ns"`
	Most uint64        `json:"most" help:"timeouts of the server with the most"`
}

// randomisedRows returns the queries of the cells.
func randomisedRows(p *randomisedPlan, cells []randomisedCell) (all []randomisedRow) {
	for _, c := range cells {
		for q, took := range c.Took {
			all = append(all, randomisedRow{c, p.Rates[c.Network], p.RoundTrips[c.Network], q, q >= p.Unsettled, took,
				c.Most[q]})
		}
	}
	return all
}

// Randomised is the study.
var Randomised = declared.DefineRows(experiments.Spec[randomisedPlan, randomisedCell]{
	ID: "E16", Name: "randomised", Bed: "fan-in", Class: experiments.Shape, Folder: "incast/randomised", Files: files,
	Check: func(p *randomisedPlan) error {
		if len(p.Rates) != len(p.RoundTrips) {
			return fmt.Errorf("round_trips: %d, want one for each of %d rates", len(p.RoundTrips), len(p.Rates))
		}
		if p.Unsettled >= p.Queries {
			return fmt.Errorf("unsettled: %d, want less than queries, %d", p.Unsettled, p.Queries)
		}
		if len(p.Services) > 0 && !slices.Contains(p.Servers, p.SpreadServers) {
			return fmt.Errorf("spread_servers: %d, want one of servers, %v", p.SpreadServers, p.Servers)
		}
		for _, floor := range p.Floors {
			if _, err := testbed.ParseTimers(p.text(floor, true)); err != nil {
				return fmt.Errorf("timers: %w", err)
			}
		}
		return nil
	},
	Cells: randomisedCells,
}, randomisedRows)
