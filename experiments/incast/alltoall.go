package incast

import (
	"context"
	"fmt"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/declared"
	"tcpwheel/experiments/internal/testbed"
)

// meshPlan is the plan of the study.
type meshPlan struct {
	Hosts     int           `plan:"hosts" min:"2" max:"100"`
	Bytes     int           `plan:"bytes" unit:"size" min:"100" max:"10000000"`
	Request   int           `plan:"request" unit:"size" min:"1" max:"1460"`
	Rate      int           `plan:"rate" unit:"rate" min:"1000000" max:"100000000000"`
	Overhead  int           `plan:"overhead" min:"0" max:"1000"`
	RoundTrip time.Duration `plan:"round_trip" min:"1us" max:"100ms"`
	Memory    int           `plan:"memory" unit:"size" min:"10000" max:"1000000000"` // of the switch
	Alphas    []float64     `plan:"alphas" min:"0.01" max:"100" order:"rising"`
	Service   time.Duration `plan:"service" min:"0s" max:"1s"`
	Think     time.Duration `plan:"think" min:"0s" max:"10s"`

	Timers  testbed.Timers   `plan:"timers"`
	Others  []testbed.Timers `plan:"others" optional:"true"`
	Window  int              `plan:"initial_window" min:"536" max:"65535"`
	Queries int              `plan:"queries" min:"1" max:"1000"`
	Warmup  int              `plan:"warmup" min:"0" max:"100"`
	Seeds   int              `plan:"seeds" min:"1" max:"1000"`
}

// meshCell is the queries of all hosts under one seed.
type meshCell struct {
	Timers  string        `json:"timers" help:"of all hosts"`
	Alpha   float64       `json:"alpha" help:"threshold: a port may hold so many times the free memory"`
	Seed    int           `json:"seed"`
	Queries int           `json:"queries"`
	Timed   int           `json:"timed" help:"queries with a timeout"`
	Took    time.Duration `json:"took_ns" help:"sum over the queries"`
	Dropped int           `json:"dropped" unit:"packets"`
	Fullest int           `json:"fullest" unit:"bytes" help:"that one port held at most"`
}

// AllToAll is the study.
var AllToAll = declared.Define(experiments.Spec[meshPlan, meshCell]{
	ID: "E25", Name: "alltoall", Bed: "mesh", Class: experiments.Published, Folder: "incast/alltoall", Files: files,
	Cells: meshCells,
})

func meshCells(p *meshPlan) (all []experiments.Cell[meshCell]) {
	for _, timers := range append([]testbed.Timers{p.Timers}, p.Others...) {
		for _, alpha := range p.Alphas {
			for seed := 1; seed <= p.Seeds; seed++ {
				c := meshCell{Timers: timers.Text, Alpha: alpha, Seed: seed}
				all = append(all, experiments.Cell[meshCell]{
					Name: fmt.Sprintf("timers=%q alpha=%v seed=%d", timers.Text, alpha, seed),
					Cost: 1.2e-9 * float64((p.Queries+p.Warmup)*p.Hosts*p.Hosts*p.Bytes),
					Run:  func(context.Context) (meshCell, error) { return runMesh(p, timers, c) },
				})
			}
		}
	}
	return all
}
