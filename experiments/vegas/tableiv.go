package vegas

import (
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
)

// tableivPlan is the plan of the study.
type tableivPlan struct {
	Rate    int           `plan:"rate" unit:"rate" min:"10000" max:"1000000000"`
	Buffers []int         `plan:"buffers" min:"1" max:"10000"`
	Delay   time.Duration `plan:"delay" min:"10us" max:"10s"`
	Access  int           `plan:"access" unit:"rate" min:"10000" max:"100000000000"`

	Bytes         int `plan:"bytes" unit:"size" min:"1000" max:"100000000"`
	SendBuffer    int `plan:"send_buffer" unit:"size" min:"1000" max:"100000000"`
	InitialWindow int `plan:"initial_window" min:"1" max:"100"`

	Reno   testbed.Timers   `plan:"reno"`
	Fine   testbed.Timers   `plan:"fine"`
	Check  testbed.Timers   `plan:"check"`
	Vegas  testbed.Timers   `plan:"vegas"`
	Others []testbed.Timers `plan:"others" optional:"true"`

	Load   float64        `plan:"load" min:"0" max:"2"`
	Loads  []float64      `plan:"other_loads" min:"0" max:"2" optional:"true"`
	Median int            `plan:"median" min:"1" max:"1000000"`
	Spread float64        `plan:"spread" min:"0" max:"3"`
	WarmUp time.Duration  `plan:"warm_up" min:"0s" max:"10m"`
	Short  testbed.Timers `plan:"short"`

	Seeds     int `plan:"seeds" min:"1" max:"10000"`
	LoadSeeds int `plan:"load_seeds" min:"1" max:"10000"`
}

// claimed returns the senders of the claims, and rows adds the others.
func (p *tableivPlan) claimed() []testbed.Timers {
	return []testbed.Timers{p.Reno, p.Fine, p.Check, p.Vegas}
}
func (p *tableivPlan) rows() []testbed.Timers { return append(p.claimed(), p.Others...) }

// tableivCell is one transfer.
type tableivCell struct {
	Sender  string  `json:"sender"`
	Load    float64 `json:"load"`
	Buffers int     `json:"buffers"`
	Seed    int     `json:"seed"`

	Seconds       float64 `json:"seconds"` // from the SYN to the ACK of the last byte
	Timeouts      int     `json:"timeouts"`
	Retransmitted int     `json:"retransmitted"` // bytes
	Silence       float64 `json:"silence_s"`     // without transmission before timeouts, in all
}

// TableIV is the study.
var TableIV = experiments.Define(experiments.Spec[tableivPlan, tableivCell]{
	ID: "E9", Name: "tableiv", Class: experiments.Published, Folder: "vegas/tableiv", Files: files,
	Found: "With a timer per segment and nothing else changed, transfers of 1 MB gain {timers-gain} in throughput; 19 % was published. " +
		"Vegas's check alone leaves {check-timeouts#} of Reno's coarse timeouts.",
	Question: "How much do fine timers gain for a transfer of 1 MB that competes with short flows, and how much does Vegas's window?",
	Check: func(p *tableivPlan) error {
		var texts []string
		for _, t := range p.rows() {
			if slices.Contains(texts, t.Text) {
				return fmt.Errorf("others: %q occurs twice", t.Text)
			}
			texts = append(texts, t.Text)
		}
		if slices.Contains(p.Loads, p.Load) {
			return fmt.Errorf("other_loads: %v equals load, want other values", p.Load)
		}
		return nil
	},
	Cells: tableivCells,
	Judge: tableivJudge,
})
