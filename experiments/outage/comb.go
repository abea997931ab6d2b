package outage

import (
	"fmt"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/tcptimers"
)

// combPlan is the plan of the study.
type combPlan struct {
	Connections int              `plan:"connections" min:"10" max:"28000"`
	RTT         time.Duration    `plan:"rtt" min:"1ms" max:"100ms"`
	Outage      time.Duration    `plan:"outage" min:"10ms" max:"500ms"`
	Rate        int              `plan:"rate" unit:"rate" min:"1000000" max:"1000000000000"` // bit/s
	Queue       int              `plan:"queue" min:"1" max:"1000000"`                        // packets
	Watch       time.Duration    `plan:"watch" min:"5s" max:"10m"`
	Timers      []testbed.Timers `plan:"timers"`
	Shipped     testbed.Timers   `plan:"shipped"`
	Seeds       int              `plan:"seeds" min:"1" max:"1000"`
	GVisorSeeds int              `plan:"gvisor_seeds" min:"1" max:"1000"`
}

// combCell is the retransmissions under some timers and one seed.
type combCell struct {
	Timers    string `json:"timers"`
	Straddles bool   `json:"straddles,omitempty"`
	Mixed     bool   `json:"mixed,omitempty"` // timeouts of 3, 4 and 5 ticks
	Seed      int    `json:"seed"`

	RTOs   int `json:"rtos"`   // different timeouts of the connections when the outage began
	Second int `json:"second"` // first retransmissions

	Peak   int           `json:"peak"`       // the most retransmissions in a millisecond
	PeakAt time.Duration `json:"peak_at_ns"` // that millisecond, from the begin of the outage
	Bins   int           `json:"bins"`       // milliseconds with first retransmissions
	First  time.Duration `json:"first_ns"`   // of these
	Last   time.Duration `json:"last_ns"`

	Dropped       int           `json:"dropped"`        // first retransmissions that the queue dropped
	DroppedEver   int           `json:"dropped_ever"`   // all retransmissions that the queue dropped
	Unrepaired    int           `json:"unrepaired"`     // connections whose segment never arrived
	Repaired99    time.Duration `json:"repaired_99_ns"` // from the start of the outage; 0 if fewer
	Retransmitted int           `json:"retransmitted"`  // segments
	Comb          [][2]int      `json:"comb,omitempty"` // seed 1: millisecond, retransmissions
}

// Comb is the study.
var Comb = experiments.Define(experiments.Spec[combPlan, combCell]{
	ID: "E19", Name: "comb", Class: experiments.Exact, Folder: "outage/comb", Files: files,
	Found:    "After an outage, 4.4BSD's sweep retransmits for all connections in one millisecond: {ratio#} times what fine timers send then. Of a full tooth, and of fine timers, the queue drops {drops}.",
	Question: "Do coarse ticks retransmit everything at once after an outage?",
	Check: func(p *combPlan) error {
		if n := len(p.Timers); n < 2 || p.Timers[0].Policy.Phase != tcptimers.PhaseCountdown {
			return fmt.Errorf("timers: want 4.4BSD's first, and others")
		}
		for i, tm := range p.Timers {
			for _, other := range p.Timers[:i] {
				if tm.Text == other.Text {
					return fmt.Errorf("timers: %q occurs twice", tm.Text)
				}
			}
		}
		return nil
	},
	Cells: combCells,
	Judge: combJudge,
})
