package wheels

import (
	"fmt"
	"time"

	"tcpwheel/experiments"
)

// expiryPlan is the plan of the study.
type expiryPlan struct {
	Timers   int             `plan:"timers" min:"100" max:"10000000"`
	Shortest time.Duration   `plan:"shortest" min:"1us" max:"1h"`
	Longest  time.Duration   `plan:"longest" min:"1us" max:"24h"`
	Ticks    []time.Duration `plan:"ticks" min:"1us" max:"10s"`
	Schemes  []string        `plan:"schemes"`
	BSDTick  time.Duration   `plan:"bsd_tick" min:"1ms" max:"10s"`
	BSD      []int           `plan:"bsd_counts" min:"1" max:"128"`
	Seeds    int             `plan:"seeds" min:"1" max:"1000"`
}

// expiryCell is what was seen at one granularity under one seed.
type expiryCell struct {
	Tick  time.Duration `json:"tick"`            // G
	Count int           `json:"count,omitempty"` // of 4.4BSD's ticks; 0 is a facility of package wheel
	Seed  int           `json:"seed"`

	Early    int      `json:"early"` // timers that expired before their deadline
	Mean     float64  `json:"mean"`  // of the errors, in ticks
	Greatest float64  `json:"greatest"`
	KS       float64  `json:"ks"`               // p of the even distribution, but for errors of whole nanoseconds
	Differ   []string `json:"differ,omitempty"` // schemes with other errors than the first
}

// Expiry is the study.
var Expiry = experiments.Define(experiments.Spec[expiryPlan, expiryCell]{
	ID: "E12", Name: "expiry", Class: experiments.Exact, Folder: "wheels/expiry", Files: files,
	Question: "How late do timers expire at each granularity, and is one ever early?",
	Check: func(p *expiryPlan) error {
		if p.Longest <= p.Shortest {
			return fmt.Errorf("longest: %v, want more than shortest, %v", p.Longest, p.Shortest)
		}
		return nil
	},
	Cells: expiryCells,
	Judge: expiryJudge,
})
