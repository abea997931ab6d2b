// Package rates is study E21: how often TCP starts, stops and restarts timers.
package rates

import (
	"embed"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
)

//go:embed README.md plan.yaml
var files embed.FS

// Plan is the plan of the study.
type Plan struct {
	Rate       int              `plan:"rate" unit:"rate" min:"1000000" max:"100000000000"`
	Overhead   int              `plan:"overhead" min:"0" max:"1000"`
	RoundTrips []time.Duration  `plan:"round_trips" min:"100us" max:"1s" order:"rising"`
	Window     float64          `plan:"window" min:"1" max:"2"`
	Watched    time.Duration    `plan:"watched" min:"10ms" max:"1m"`
	Settle     time.Duration    `plan:"settle" min:"100ms" max:"1m"`
	Timers     []testbed.Timers `plan:"timers"`

	Connections   int           `plan:"connections" min:"1" max:"10000"`
	Busy          []int         `plan:"busy" min:"1000" max:"1000000"`
	BusyRoundTrip time.Duration `plan:"busy_round_trip" min:"100us" max:"1s"`
}

// Cell is what was counted of one flow, or of many, while they were watched.
type Cell struct {
	Timers string        `json:"timers"`
	Per    bool          `json:"per_segment"` // a timer for each segment
	Trip   time.Duration `json:"trip"`        // without queue
	Busy   int           `json:"busy"`        // packets a second of many connections; 0 is one flow

	Watched time.Duration `json:"watched"`
	Sent    uint64        `json:"sent"`     // segments with payload that the client sent
	Arrived uint64        `json:"arrived"`  // and that arrived at the server
	AcksIn  uint64        `json:"acks_in"`  // segments that arrived at the client
	AcksOut uint64        `json:"acks_out"` // segments that the server sent
	Resent  uint64        `json:"resent"`   // segments that the client sent again, since the beginning
	Sides   [2]Side       `json:"sides"`    // the client, and the server
}

// Side is what one host has done with its timers.
type Side struct {
	Kinds []Kind `json:"kinds"` // those that did anything
	// Peak is the most that ran at once, of all kinds.
	Peak int `json:"peak"`
	// Starts and so on are what the wheel has counted meanwhile, with the looks at timers that it took.
	Starts   uint64 `json:"starts"`
	Stops    uint64 `json:"stops"`
	Expiries uint64 `json:"expiries"`
	Looks    uint64 `json:"looks"`
}

// Kind is what became of the timers of a kind.
type Kind struct {
	Name    string `json:"name"`
	Started uint64 `json:"started"` // that did not run
	Moved   uint64 `json:"moved"`   // that ran
	Stopped uint64 `json:"stopped"`
	Expired uint64 `json:"expired"`
	Before  int    `json:"before"` // running when the watch began
	After   int    `json:"after"`  // and when it ended

	Mean  float64       `json:"mean"`  // running, over time
	Lived time.Duration `json:"lived"` // mean time from start to stop or expiry
}

// kind returns what the timers of a kind did.
func (s *Side) kind(name string) Kind {
	for _, k := range s.Kinds {
		if k.Name == name {
			return k
		}
	}
	return Kind{Name: name}
}

// all returns the kinds together.
func (s *Side) all() (sum Kind) {
	for _, k := range s.Kinds {
		sum.Started += k.Started
		sum.Moved += k.Moved
		sum.Stopped += k.Stopped
		sum.Expired += k.Expired
		sum.Before += k.Before
		sum.After += k.After
		sum.Mean += k.Mean
	}
	return sum
}

// Study is the study.
var Study = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "E21", Name: "rates", Class: experiments.Exact, Files: files,
	Question: "How many timers does TCP start, stop and let expire at 1 Gbit/s?",
	Cells:    cells,
	Judge:    judge,
})
