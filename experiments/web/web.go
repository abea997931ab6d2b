// Package web is study E18: answers of a web server over lossy paths, by the sender's timers.
package web

import (
	"embed"
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
)

//go:embed *.md *.yaml
var files embed.FS

// Plan is the plan of the study.
type Plan struct {
	Flows   int `plan:"flows" min:"1" max:"100000"`
	Request int `plan:"request" unit:"size" min:"1" max:"1460"`

	Shares     []float64       `plan:"shares" min:"0" max:"1"`
	Sizes      []int           `plan:"sizes" unit:"size" min:"1" max:"10000000" order:"rising"`
	TripShares []float64       `plan:"round_trip_shares" min:"0" max:"1"`
	RoundTrips []time.Duration `plan:"round_trips" min:"1ms" max:"10s" order:"rising"`
	Rate       int             `plan:"rate" unit:"rate" min:"100000" max:"100000000000"`

	LossFrom float64         `plan:"loss_from" unit:"probability" min:"0.0001" max:"0.3"`
	LossTo   float64         `plan:"loss_to" unit:"probability" min:"0.0001" max:"0.3"`
	Bursts   []time.Duration `plan:"bursts" min:"1ms" max:"10s" order:"rising"`
	Longer   []time.Duration `plan:"longer_bursts" min:"1ms" max:"10s" order:"rising" optional:"true"`
	Share    float64         `plan:"timeout_share" min:"0.01" max:"0.99"`

	Without      testbed.Timers   `plan:"without_probes"`
	With         testbed.Timers   `plan:"with_probes"`
	Others       []testbed.Timers `plan:"timers" optional:"true"`
	GVisorBursts []time.Duration  `plan:"gvisor_bursts" min:"1ms" max:"10s" order:"rising" optional:"true"`

	SizeFactors []float64     `plan:"size_factors" min:"0.01" max:"100" optional:"true"`
	TripFactors []float64     `plan:"round_trip_factors" min:"0.01" max:"100" optional:"true"`
	Parallel    []int         `plan:"parallel" min:"2" max:"64" optional:"true"`
	VariedBurst time.Duration `plan:"varied_burst" min:"1ms" max:"10s"`

	Seeds int `plan:"seeds" min:"1" max:"1000"`
}

// Cell is the answers of a seed.
type Cell struct {
	Timers string        `json:"timers"`           // of the sender: their text, or gVisor's own TCP
	Burst  time.Duration `json:"burst_ns"`         // mean length of the bursts that lose all packets
	Varied string        `json:"varied,omitempty"` // change of sizes, round trips or connections; or nothing
	Seed   int           `json:"seed"`

	Flows int           `json:"flows"`   // answers
	Took  time.Duration `json:"took_ns"` // sum over the answers, from the request to the last byte
	Tail  []int64       `json:"tail"`    // times of the longest twentieth of them in µs, the longest first

	Lossy     int           `json:"lossy"`         // answers that lost a segment
	LossyTook time.Duration `json:"lossy_took_ns"` // sum over these
	Inflation float64       `json:"inflation"`     // sum of their times relative to those without losses
	Worst     []float64     `json:"worst"`         // greatest twentieth of these ratios, 1 without losses

	Lost int `json:"lost"` // segments, retransmissions included
	// gVisor's TCP reports only Timeouts; its other counts are 0.
	Sent     uint64 `json:"sent"`     // segments with data, retransmissions included
	Fast     uint64 `json:"fast"`     // retransmissions in fast recovery
	Late     uint64 `json:"late"`     // retransmissions by a timeout or in the slow start after it
	Probes   uint64 `json:"probes"`   // tail loss probes
	Timeouts uint64 `json:"timeouts"` // expiries
	Episodes uint64 `json:"episodes"` // timeouts that do not follow a timeout
	Blind    uint64 `json:"blind"`    // of these, those outside of a recovery: without a sign of a loss
	Spurious uint64 `json:"spurious"` // duplicates that the client reported by DSACK
}

// Study is the study.
var Study = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "E18", Name: "web", Bed: "pair", Class: experiments.Published, Files: files,
	Words: func() experiments.Words { return words },
	Check: func(p *Plan) error {
		if err := checkShares("shares", "sizes", p.Shares, len(p.Sizes)); err != nil {
			return err
		}
		if err := checkShares("round_trip_shares", "round_trips", p.TripShares, len(p.RoundTrips)); err != nil {
			return err
		}
		if p.LossTo < p.LossFrom {
			return fmt.Errorf("loss_to: %v, want at least loss_from, %v", p.LossTo, p.LossFrom)
		}
		return nil
	},
	Cells: cells,
	Judge: judgeWeb,
})

func checkShares(name, of string, shares []float64, n int) error {
	if len(shares) != n || n < 2 || shares[0] != 0 || shares[n-1] != 1 || !slices.IsSorted(shares) {
		return fmt.Errorf("%s: %v, want as many as %s, %d, rising from 0 to 1", name, shares, of, n)
	}
	return nil
}
