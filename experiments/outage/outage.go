// Package outage is the studies of outages: E24, whether a timer per segment makes one timeout into
// many, E19, whether coarse ticks retransmit all at once, and E14, when a dead peer is noticed.
package outage

import (
	"embed"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/declared"
	"tcpwheel/experiments/internal/testbed"
)

//go:embed *.md *.yaml comb/*.md comb/*.yaml deadpeer/*.md deadpeer/*.yaml
var files embed.FS

// Plan is the plan of the study.
type Plan struct {
	RTT     time.Duration   `plan:"rtt" min:"1ms" max:"1s"`
	Flights []int           `plan:"flights" min:"1" max:"64"`
	Spans   []time.Duration `plan:"spans" min:"0s" max:"1s"`
	Parts   []int           `plan:"delivered" min:"0" max:"90"`
	Outages []time.Duration `plan:"outages" min:"0s" max:"1m"`
	Timers  testbed.Timers  `plan:"timers"`
	Warm    int             `plan:"warm" min:"1" max:"1000"`
	Story   int             `plan:"story" min:"1" max:"64"`
	Seeds   int             `plan:"seeds" min:"1" max:"1000"`
}

// Cell is one lost flight.
type Cell struct {
	Flight int           `json:"flight" unit:"segments"`
	Span   time.Duration `json:"span_ns" help:"from the first segment to the last"`
	Part   int           `json:"part" unit:"%" help:"of the flight that arrives"`
	Seed   int           `json:"seed"`
	RTO    time.Duration `json:"rto_ns" help:"when the flight begins"`
	Cases  []Case        `json:"cases"`
}

// Case is one flight under one timer and under a timer for each segment.
type Case struct {
	Outage time.Duration `json:"outage_ns" help:"0s loses the flight, and nothing after it"`
	SACK   bool          `json:"sack"`
	FRTO   bool          `json:"frto"`
	One    Side          `json:"one"`
	Each   Side          `json:"each"`
}

// Side is the reaction of one of them.
type Side struct {
	Timeouts        int              `json:"timeouts"`    // until all data was acknowledged
	Backoffs        int              `json:"backoffs"`    // 1 RTT after the first retransmission
	Ssthresh        uint32           `json:"ssthresh"`    // then
	Bytes           int              `json:"bytes"`       // retransmitted in that RTT
	Blind           int              `json:"blind"`       // segments sent after the flight
	Spare           time.Duration    `json:"spare_ns"`    // least wait for a retransmission, minus RTO
	First           time.Duration    `json:"first_ns"`    // of the first retransmission
	Complete        time.Duration    `json:"complete_ns"` // last ACK, from the flight's begin
	Retransmissions []Retransmission `json:"retransmissions,omitempty"`
}

// Retransmission is a retransmission in the diagram.
type Retransmission struct {
	At      time.Duration `json:"at_ns"` // from the begin of the flight
	Segment int           `json:"segment"`
}

// Study is the study.
var Study = declared.DefineRows(experiments.Spec[Plan, Cell]{
	ID: "E24", Name: "outage", Bed: "pair", Class: experiments.Exact, Files: files,
	Cells: cells,
}, rows)
