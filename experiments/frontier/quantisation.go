package frontier

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// quantPlan is the plan of the study.
type quantPlan struct {
	Ticks       []time.Duration `plan:"ticks" min:"10us" max:"500ms"`
	Thousandths []int           `plan:"thousandths" min:"0" max:"10000000"`
	RTTs        []time.Duration `plan:"rtts" min:"1us" max:"10s"`
	Samples     int             `plan:"samples" min:"100" max:"1000000"`
	FirstSeed   int             `plan:"first_seed" min:"1" max:"1000000"`
	Seeds       int             `plan:"seeds" min:"1" max:"1000"`
}

// phases is the number of phases of a tick. Round trips and errors are whole thousandths of a tick.
const phases = 1000

// quantCell is the result for one granularity: the errors of round trips, or the timeouts under one
// seed.
type quantCell struct {
	Tick time.Duration `json:"tick_ns"`

	Errors []phaseErrors `json:"errors,omitempty"` // of the plan's Thousandths
	clockSums

	Seed     int             `json:"seed,omitempty"`
	Timeouts []steadyTimeout `json:"timeouts,omitempty"` // of the plan's RTTs
}

// phaseErrors are the sums, over all phases, of the errors of one round trip and of their squares,
// in thousandths of a tick.
type phaseErrors struct {
	Thousandths int `json:"thousandths"` // the round trip, in thousandths of the tick
	Sum         int `json:"sum"`         // sum of its errors over all phases, in thousandths of the tick
	Squares     int `json:"squares"`     // sum of the squares of these errors
}

// clockSums are sums of errors over all round trips from 0 to 999 thousandths of a tick, in
// thousandths: of the clock that is read, of one that rounds the difference up, and of 4.4BSD's
// first average.
type clockSums struct {
	Read  int `json:",omitempty"`      // sum of the errors of the clock that is read
	Up    int `json:",omitempty"`      // the same of a clock that rounds the difference up
	BSD   int `json:",omitempty"`      // the same of 4.4BSD's first average, which counts from 1
	Exact int `json:"exact,omitempty"` // measurements of a clock without a tick that are wrong
}

// steadyTimeout is the result of the estimators for one round trip.
type steadyTimeout struct {
	RTT   time.Duration `json:"rtt_ns"`   // the round trip, which does not vary
	SRTT  float64       `json:"srtt"`     // mean over samples, divided by the round trip
	RTO   float64       `json:"rto"`      // mean timeout of RFC 6298 without a floor, divided by the round trip
	Least time.Duration `json:"least_ns"` // the least timeout
	Old   float64       `json:"bsd"`      // 4.4BSD's mean timeout, divided by the round trip
}

// Quantisation is the study.
var Quantisation = experiments.Define(experiments.Spec[quantPlan, quantCell]{
	ID: "E11", Name: "quantisation", Bed: "estimators", Class: experiments.Exact,
	Folder: "frontier/quantisation", Files: files,
	Words: func() experiments.Words { return quantWords },
	Check: func(p *quantPlan) error {
		for _, tick := range p.Ticks {
			if tick%phases != 0 {
				return fmt.Errorf("ticks: %v, want a multiple of 1µs, so that a thousandth of it is whole nanoseconds", tick)
			}
		}
		return nil
	},
	Cells: quantCells,
	Judge: quantJudge,
})

func quantCells(p *quantPlan) (all []experiments.Cell[quantCell]) {
	for _, tick := range p.Ticks {
		all = append(all, experiments.Cell[quantCell]{
			Name: fmt.Sprintf("errors tick=%v", tick),
			Cost: 4e-8 * phases * float64(phases+len(p.Thousandths)),
			Run:  func(context.Context) (quantCell, error) { return clockErrors(p, tick), nil },
		})
	}
	for _, tick := range p.Ticks {
		for seed := p.FirstSeed; seed < p.FirstSeed+p.Seeds; seed++ {
			all = append(all, experiments.Cell[quantCell]{
				Name: fmt.Sprintf("timeouts tick=%v seed=%d", tick, seed),
				Cost: 1e-7 * float64(p.Samples*len(p.RTTs)),
				Run:  func(context.Context) (quantCell, error) { return quantTimeouts(p, tick, seed), nil },
			})
		}
	}
	return all
}

// tickClock returns a policy whose clock has that tick and whose timers are exact.
func tickClock(tick time.Duration) tcptimers.Policy {
	p := tcptimers.MustPolicy("rfc6298")
	p.RTTTick, p.Tick, p.Bounds.Min = tick, time.Microsecond, 1
	return p
}

// overPhases calls f with the measurement of a round trip at each phase. unit is a thousandth of a
// tick, and err is in units.
func overPhases(p *tcptimers.Policy, unit time.Duration, thousandths int, f func(measured time.Duration, err int)) {
	rtt := time.Duration(thousandths) * unit
	for phase := range phases {
		sent := wheel.Time(time.Duration(phase) * unit)
		measured := p.Measure(sent, sent.Add(rtt))
		f(measured, int((measured-rtt)/unit))
	}
}

// clockErrors sums the errors over all phases of a tick.
func clockErrors(p *quantPlan, tick time.Duration) quantCell {
	c := quantCell{Tick: tick}
	unit := tick / phases
	policy, exact := tickClock(tick), tickClock(0)
	for _, n := range p.Thousandths {
		e := phaseErrors{Thousandths: n}
		overPhases(&policy, unit, n, func(_ time.Duration, err int) { e.Sum, e.Squares = e.Sum+err, e.Squares+err*err })
		c.Errors = append(c.Errors, e)
	}
	for n := range phases {
		overPhases(&exact, unit, n, func(_ time.Duration, err int) {
			if err != 0 {
				c.Exact++
			}
		})
		overPhases(&policy, unit, n, func(measured time.Duration, err int) {
			c.Read += err
			c.Up += (phases - n) % phases
			e := tcptimers.NewBSD(tick, tcptimers.Bounds{})
			e.Sample(tcptimers.Sample{RTT: measured})
			c.BSD += int(e.SRTT()/unit) - n
		})
	}
	return c
}

// quantTimeouts runs the estimators over samples of round trips that do not vary.
func quantTimeouts(p *quantPlan, tick time.Duration, seed int) quantCell {
	c := quantCell{Tick: tick, Seed: seed}
	rng := rand.New(rand.NewPCG(uint64(seed), 0xe11))
	policy := tickClock(tick)
	for _, rtt := range p.RTTs {
		e, bsd := policy.NewEstimator(), tcptimers.NewBSD(tick, tcptimers.Bounds{Initial: 3 * time.Second, Min: 1})
		t := steadyTimeout{RTT: rtt}
		var srtt, rto, coarse time.Duration
		for i := range p.Samples {
			sent := wheel.Time(rng.Int64N(int64(tick)))
			s := tcptimers.Sample{RTT: policy.Measure(sent, sent.Add(rtt)), Round: true, Expected: 1}
			e.Sample(s)
			bsd.Sample(s)
			srtt, rto, coarse = srtt+e.SRTT(), rto+e.RTO(), coarse+bsd.RTO()
			if i == 0 || e.RTO() < t.Least {
				t.Least = e.RTO()
			}
		}
		all := float64(rtt) * float64(p.Samples)
		t.SRTT, t.RTO, t.Old = float64(srtt)/all, float64(rto)/all, float64(coarse)/all
		c.Timeouts = append(c.Timeouts, t)
	}
	return c
}
