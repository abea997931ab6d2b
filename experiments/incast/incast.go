// Package incast is the studies of incast: E15, how floor and granularity of the timeout change it,
// and E27, the same in the setup of the CMU group.
package incast

import (
	"embed"
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
)

//go:embed README.md plan.yaml cmu/README.md cmu/plan.yaml
var files embed.FS

// Plan is the plan of the study.
type Plan struct {
	Bytes     int           `plan:"bytes" unit:"size" min:"1000" max:"100000000"`
	Fragment  int           `plan:"fragment" unit:"size" min:"0" max:"10000000"`
	Request   int           `plan:"request" min:"1" max:"1460"`
	Servers   []int         `plan:"servers" min:"1" max:"1000" order:"rising"`
	Rate      int           `plan:"rate" unit:"rate" min:"1000000" max:"100000000000"`
	Overhead  int           `plan:"overhead" min:"0" max:"1000"`
	RoundTrip time.Duration `plan:"round_trip" min:"1us" max:"100ms"`
	Buffer    int           `plan:"buffer" min:"1" max:"100000"`
	Service   time.Duration `plan:"service" min:"0s" max:"1s"`
	Think     time.Duration `plan:"think" min:"0s" max:"10s"`

	Classic       testbed.Timers   `plan:"classic"`
	Window        int              `plan:"initial_window" min:"536" max:"65535"`
	Floors        []time.Duration  `plan:"floors" min:"100us" max:"10s"`
	DelAck        string           `plan:"delack"`
	OtherDelAcks  []string         `plan:"other_delacks" optional:"true"`
	Fine          time.Duration    `plan:"fine" min:"100us" max:"10s"`
	Enough        time.Duration    `plan:"enough" min:"100us" max:"10s"`
	EnoughServers int              `plan:"enough_servers" min:"1" max:"1000"`
	Ticks         []time.Duration  `plan:"ticks" min:"1us" max:"500ms" optional:"true"`
	Ticked        []int            `plan:"ticked_servers" min:"1" max:"1000" optional:"true"`
	Others        []testbed.Timers `plan:"others" optional:"true"`
	Windows       []int            `plan:"receive_windows" min:"2896" max:"1000000" optional:"true"`
	Buffers       []int            `plan:"buffers" min:"1" max:"100000" optional:"true"`
	Thinks        []time.Duration  `plan:"thinks" min:"1us" max:"1m" optional:"true"`
	Services      []time.Duration  `plan:"services" min:"1us" max:"1s" optional:"true"`
	VariedSeeds   int              `plan:"varied_seeds" min:"1" max:"1000"`

	Repairs  []string `plan:"repairs" optional:"true"`
	Repaired []int    `plan:"repaired_servers" min:"1" max:"1000" optional:"true"`

	Queries int `plan:"queries" min:"1" max:"100000"`
	Fewer   int `plan:"fewer" min:"1" max:"100000"`
	Warmup  int `plan:"warmup" min:"0" max:"1000"`
	Seeds   int `plan:"seeds" min:"1" max:"1000"`

	GVisorFloors []time.Duration `plan:"gvisor_floors" min:"100us" max:"10s" optional:"true"`
	GVisorSeeds  int             `plan:"gvisor_seeds" min:"1" max:"1000"`

	Subjects []testbed.Subject `plan:"subjects" optional:"true"`
}

// Cell is the queries to a number of servers under one seed.
type Cell struct {
	Timers  string `json:"timers"`  // the TCP of the servers, and what is changed
	Servers int    `json:"servers"` // that answer at once
	Seed    int    `json:"seed"`

	Queries         int           `json:"queries"`
	Took            time.Duration `json:"took_ns"`            // sum over the queries
	Timed           int           `json:"timed"`              // queries with a timeout
	Least           time.Duration `json:"least_ns,omitempty"` // query with a timeout, or 0s
	Longest         time.Duration `json:"longest_ns"`         // query
	Timeouts        uint64        `json:"timeouts"`
	Retransmissions uint64        `json:"retransmissions"` // warmup included
	Spurious        uint64        `json:"spurious"`        // duplicates reported by DSACK; gVisor does not count them
	Dropped         uint64        `json:"dropped"`         // at the port
}

// Study is the study of the setup of DCTCP's authors.
var Study = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "E15", Name: "incast", Bed: "fan-in", Class: experiments.Published, Files: files,
	Words: func() experiments.Words { return words },
	Check: check, Cells: cells, Judge: outcome,
})

// CMU is the study of the setup of the CMU group.
var CMU = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "E27", Name: "cmu", Bed: "fan-in", Class: experiments.Published, Folder: "incast/cmu", Files: files, Base: Study,
	Words: func() experiments.Words { return cmuWords },
	Check: check, Cells: cells, Judge: cmuOutcome,
})

func check(p *Plan) error {
	if !slices.Contains(p.Floors, p.Fine) || p.Fine == p.coarse() {
		return fmt.Errorf("fine: %v, want one of floors, below the greatest of them, %v: set fine and floors "+
			"together", p.Fine, p.coarse())
	}
	if p.Servers[0] != 1 || p.Servers[len(p.Servers)-1] < 20 {
		return fmt.Errorf("servers: %v, want numbers from 1 to 20 or more", p.Servers)
	}
	for _, n := range p.Repaired {
		if !slices.Contains(p.Servers, n) {
			return fmt.Errorf("repaired_servers: %d, want one of servers, %v", n, p.Servers)
		}
	}
	for _, s := range p.subjects() {
		if _, err := testbed.ParseTimers(s.timers); err != nil {
			return fmt.Errorf("timers %q: %w", s.text, err)
		}
	}
	return testbed.CheckStacks(p.stacks())
}
