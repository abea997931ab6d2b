package wheels

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"tcpwheel/experiments"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

// hashingPlan is the plan of the study.
type hashingPlan struct {
	Timers    int      `plan:"timers" min:"100" max:"10000000"`
	Slots     []int    `plan:"slots" min:"2" max:"16777216" power:"two" order:"rising"`
	Spreads   []string `plan:"spreads" oneof:"random even one heartbeat"`
	Heartbeat int      `plan:"heartbeat" min:"1" max:"1000000"`
	Rotations int      `plan:"rotations" min:"1" max:"100"`
	Schemes   []string `plan:"schemes" oneof:"scheme6-list scheme6-eager scheme6"`
	FirstSeed int      `plan:"first_seed" min:"1" max:"1000000"`
	Seeds     int      `plan:"seeds" min:"1" max:"1000"`
}

// hashingCell is the cost of ticks under one spread and seed.
type hashingCell struct {
	Spread string `json:"spread"`
	M      int    `json:"m"`
	Seed   int    `json:"seed"`

	// Costs is the number of ticks by cost, in rising order.
	Costs  []hashingCost `json:"costs"`
	Differ []string      `json:"differ,omitempty"` // schemes whose ticks have other costs
}

// hashingCost is a number of timer records visited in a tick, and the ticks that visited so many.
type hashingCost struct {
	Looks int `json:"looks"`
	Ticks int `json:"ticks"`
}

// poissonMax returns the mean of the greatest of m draws from a Poisson distribution: the sum of
// the probabilities that it exceeds 0, 1, 2 and so on.
func poissonMax(mean float64, m int) (max float64) {
	k, term, below := 0.0, stat.Exp(-mean), 0.0
	if mean > 500 {
		// e^-mean underflows for great means. A draw falls 12 standard deviations below the mean once
		// in 10^31 times.
		k = math.Floor(mean - float64(12*math.Sqrt(mean)))
		log := float64(k*stat.Log(mean)) - mean
		for i := 2.0; i <= k; i++ {
			log -= stat.Log(i)
		}
		term, max = stat.Exp(log), k
	}
	for ; ; k++ {
		below += term
		term *= mean / (k + 1)
		exceed := 1 - stat.Power(min(below, 1), m)
		max += exceed
		if k > mean && exceed < 1e-9 {
			return max
		}
	}
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Hashing is the study.
var Hashing = experiments.Define(experiments.Spec[hashingPlan, hashingCell]{
	ID: "E4", Name: "hashing", Bed: "wheel", Class: experiments.Exact, Folder: "wheels/hashing", Files: files,
	Words: func() experiments.Words { return hashingWords },
	Cells: hashingCells, Judge: hashingJudge,
})

func hashingCells(p *hashingPlan) (all []experiments.Cell[hashingCell]) {
	for _, m := range p.Slots {
		for _, spread := range p.Spreads {
			for seed := p.FirstSeed; seed < p.FirstSeed+p.Seeds; seed++ {
				all = append(all, experiments.Cell[hashingCell]{
					Name: fmt.Sprintf("spread=%s M=%d seed=%d", spread, m, seed),
					Cost: 1e-8 * float64(len(p.Schemes)) * float64(p.Timers*(p.Rotations+5)+m*p.Rotations),
					Run:  func(context.Context) (hashingCell, error) { return hashingRun(p, spread, m, seed) },
				})
			}
		}
	}
	return all
}

// ticks draws the ticks at which timers are due, all after the rotations that are watched.
func (p *hashingPlan) ticks(spread string, m, seed int) []wheel.Time {
	r := rand.New(rand.NewPCG(uint64(seed), 0xe4))
	first := wheel.Time((p.Rotations + 1) * m)
	all := make([]wheel.Time, p.Timers)
	for i := range all {
		switch spread {
		case "random":
			all[i] = first + wheel.Time(r.IntN(1000*m))
		case "even":
			all[i] = first + wheel.Time(i)
		case "one":
			all[i] = first + wheel.Time(i*m)
		case "heartbeat":
			beats := int(first)/p.Heartbeat + 1 + r.IntN(1000*m)
			all[i] = wheel.Time(beats * p.Heartbeat)
		}
	}
	return all
}

func hashingRun(p *hashingPlan, spread string, m, seed int) (hashingCell, error) {
	c := hashingCell{Spread: spread, M: m, Seed: seed}
	ticks := p.ticks(spread, m, seed)
	var first []int
	for i, scheme := range p.Schemes {
		f, err := wheel.New(scheme, wheel.Config{Tick: 1, Slots: m, Count: true})
		if err != nil {
			return c, err
		}
		f.Reserve(len(ticks))
		for _, at := range ticks {
			f.Schedule(f.New(0), at)
		}
		looks := make([]int, p.Rotations*m)
		before := f.Counts().TickVisits
		for t := range looks {
			if n, _ := f.Advance(f.Now()+1, 0, func(wheel.Timer) {}); n != 0 {
				return c, fmt.Errorf("%s: %d timers expired", scheme, n)
			}
			now := f.Counts().TickVisits
			looks[t], before = int(now-before), now
		}
		if i == 0 {
			first = looks
		} else if !slices.Equal(looks, first) {
			c.Differ = append(c.Differ, scheme)
		}
	}
	slices.Sort(first)
	for _, n := range first {
		if k := len(c.Costs); k > 0 && c.Costs[k-1].Looks == n {
			c.Costs[k-1].Ticks++
		} else {
			c.Costs = append(c.Costs, hashingCost{n, 1})
		}
	}
	return c, nil
}
