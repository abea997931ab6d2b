package incast

import (
	"context"
	"fmt"
	"math"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/wheel/stat"
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

	Timers  []testbed.Timers `plan:"timers"`
	Window  int              `plan:"initial_window" min:"536" max:"65535"`
	Queries int              `plan:"queries" min:"1" max:"1000"`
	Warmup  int              `plan:"warmup" min:"0" max:"100"`
	Seeds   int              `plan:"seeds" min:"1" max:"1000"`
}

// meshCell is the queries of all hosts under one seed.
type meshCell struct {
	Timers  string        `json:"timers"`
	Alpha   float64       `json:"alpha"`
	Seed    int           `json:"seed"`
	Queries int           `json:"queries"`
	Timed   int           `json:"timed"`   // queries with a timeout
	Took    time.Duration `json:"took_ns"` // sum over the queries
	Dropped int           `json:"dropped"`
	Fullest int           `json:"fullest"` // bytes that one port held at most
}

// AllToAll is the study.
var AllToAll = experiments.Define(experiments.Spec[meshPlan, meshCell]{
	ID: "E25", Name: "alltoall", Class: experiments.Published, Folder: "incast/alltoall", Files: files,
	Found: "When 41 hosts ask each other at once through a switch with shared memory, {timeouts} of the queries have a timeout; more than 55 % was published. The threshold of the " +
		"switch, which is not known, decides.",
	Question: "When all hosts ask all others at once, how many queries have a timeout?",
	Cells:    meshCells,
	Judge:    meshJudge,
})

func meshCells(p *meshPlan) (all []experiments.Cell[meshCell]) {
	for _, timers := range p.Timers {
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

// meshAlpha is the threshold of the claim: a port may hold 700 KB of 4 MB, as the switch of the
// paper is remembered to allow. No number of it was read.
func (p *meshPlan) meshAlpha() float64 {
	best := p.Alphas[0]
	for _, a := range p.Alphas {
		if math.Abs(a-0.21) < math.Abs(best-0.21) {
			best = a
		}
	}
	return best
}

func meshJudge(p *meshPlan, cells []meshCell) (*experiments.Outcome, error) {
	t := experiments.Table{Name: "queries", Title: fmt.Sprintf("Queries of %d hosts that ask each other for %d bytes, by the threshold of the shared memory", p.Hosts, p.Bytes),
		Columns: []string{"timers", "threshold α", "a port may hold, KB", "held at most, KB", "with a timeout, %", "95 % from", "to", "mean time, ms", "dropped packets"}}
	share := func(c *meshCell) float64 { return 100 * float64(c.Timed) / float64(max(c.Queries, 1)) }
	out := &experiments.Outcome{}
	type row struct {
		timers string
		alpha  float64
	}
	var claimed stat.Interval
	for _, g := range experiments.GroupBy(cells, func(c *meshCell) row { return row{c.Timers, c.Alpha} }) {
		in := experiments.MeanOf(g.Items, share)
		if g.Key.timers == p.Timers[0].Text && g.Key.alpha == p.meshAlpha() {
			claimed = in
		}
		took, fullest, dropped := 0.0, 0, 0
		for _, c := range g.Items {
			took += float64(c.Took) / 1e6 / float64(max(c.Queries, 1)) / float64(len(g.Items))
			fullest, dropped = max(fullest, c.Fullest), dropped+c.Dropped
		}
		t.Add(g.Key.timers, g.Key.alpha, g.Key.alpha/(1+g.Key.alpha)*float64(p.Memory)/1e3, float64(fullest)/1e3, in.Value, in.Lo, in.Hi, took, dropped)
	}
	out.Tables = append(out.Tables, t)
	out.Claim(experiments.Claim{Name: "timeouts", Class: experiments.OfOthers, Published: "more than 55 %", Source: "Alizadeh et al., DCTCP, SIGCOMM 2010, Fig. 19", Tag: experiments.FromPrint,
		Text:     fmt.Sprintf("with a floor of 10 ms, more than half of all-to-all queries have a timeout, at α = %v", p.meshAlpha()),
		Measured: experiments.MeasuredWithin(claimed, "%"), Expected: experiments.PrintedBound(experiments.Above(55, "%")).OrDiffers(experiments.Above(5, "%")),
		Otherwise: "the switch's memory and rule, the receive windows and the spread of service times are not known; the table shows other thresholds"})
	return out, nil
}
