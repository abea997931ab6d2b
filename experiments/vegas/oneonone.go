package vegas

import (
	"fmt"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/tcptimers"
)

// oneOnOnePlan is the plan of the study.
type oneOnOnePlan struct {
	Rate    int           `plan:"rate" unit:"rate" min:"10000" max:"1000000000"`
	Buffers []int         `plan:"buffers" min:"1" max:"10000"`
	Delay   time.Duration `plan:"delay" min:"10us" max:"10s"`
	Access  int           `plan:"access" unit:"rate" min:"10000" max:"100000000000"`

	Small         int           `plan:"small" unit:"size" min:"1000" max:"100000000"`
	Large         int           `plan:"large" unit:"size" min:"1000" max:"100000000"`
	Latest        time.Duration `plan:"latest" min:"0s" max:"10m"`
	SendBuffer    int           `plan:"send_buffer" unit:"size" min:"1000" max:"100000000"`
	InitialWindow int           `plan:"initial_window" min:"1" max:"100"`

	Reno      testbed.Timers   `plan:"reno"`
	Vegas     testbed.Timers   `plan:"vegas"`
	Renos     []testbed.Timers `plan:"renos" optional:"true"`
	FirstSeed int              `plan:"first_seed" min:"1" max:"1000000"`
	Seeds     int              `plan:"seeds" min:"1" max:"10000"`
}

// pair is the TCPs of the small and the large transfer.
type pair struct {
	Small string `json:"small"`
	Large string `json:"large"`
}

// oneOnOneCell is two transfers, the small one within the large one.
type oneOnOneCell struct {
	pair
	Buffers   int            `json:"buffers"`
	Seed      int            `json:"seed"`
	Transfers [2]transferred `json:"transfers"` // the small and the large one
}

// transferRow is a transfer of a run.
type transferRow struct {
	Pair          string // TCPs of the small and the large transfer: Reno or Vegas
	Reno          string // timers of Reno in this pair, without what is off; the plan's own comes first
	First, Second string // timers of the small and the large transfer, without what is off
	Size          string // small or large
	Seed          int
	outcome
}

// outcome is the result of a transfer in the units of the paper.
type outcome struct {
	Rate     float64 // KB/s
	Timeouts int
	Resent   float64 // KB
	Silent   float64 // without transmission before timeouts, s
}

func (t *transferred) outcome(bytes int) outcome {
	return outcome{float64(bytes) / kb / t.Took.Seconds(), t.Timeouts, float64(t.Retransmitted) / kb,
		t.Silence.Seconds()}
}

// OneOnOne is the study.
var OneOnOne = experiments.Define(experiments.Spec[oneOnOnePlan, oneOnOneCell]{
	ID: "E26", Name: "oneonone", Bed: "dumbbell", Class: experiments.Published, Folder: "vegas/oneonone", Files: files,
	Words: func() experiments.Words { return oneOnOneWords },
	Cells: oneOnOneCells,
	Judge: func(p *oneOnOnePlan, cells []oneOnOneCell) (*experiments.Outcome, error) {
		return p.judge(oneOnOneRows(p, cells)), nil
	},
})

// oneOnOneRows returns both transfers of each run.
func oneOnOneRows(p *oneOnOnePlan, cells []oneOnOneCell) (all []transferRow) {
	for _, c := range cells {
		row := transferRow{Reno: senderName(p.Reno.Text), First: senderName(c.Small), Second: senderName(c.Large),
			Seed: c.Seed}
		of := func(tcp string) string {
			if tcp == p.Vegas.Text {
				return "Vegas"
			}
			row.Reno = senderName(tcp)
			return "Reno"
		}
		row.Pair = of(c.Small) + "/" + of(c.Large)
		for i, bytes := range []int{p.Small, p.Large} {
			row.Size, row.outcome = []string{"small", "large"}[i], c.Transfers[i].outcome(bytes)
			all = append(all, row)
		}
	}
	return all
}

// pairs returns the combinations of Table III in its order, and then the same for each other Reno.
func (p *oneOnOnePlan) pairs() (all [][2]testbed.Timers) {
	for i, reno := range append([]testbed.Timers{p.Reno}, p.Renos...) {
		all = append(all, [2]testbed.Timers{reno, reno}, [2]testbed.Timers{reno, p.Vegas}, [2]testbed.Timers{p.Vegas,
			reno})
		if i == 0 {
			all = append(all, [2]testbed.Timers{p.Vegas, p.Vegas})
		}
	}
	return all
}

func oneOnOneCells(p *oneOnOnePlan) (all []experiments.Cell[oneOnOneCell]) {
	for _, tcps := range p.pairs() {
		for _, buffers := range p.Buffers {
			c := oneOnOneCell{pair: pair{tcps[0].Text, tcps[1].Text}, Buffers: buffers}
			all = append(all, experiments.Seeded(p.FirstSeed, p.Seeds,
				fmt.Sprintf("small=%q large=%q buffers=%d", c.Small, c.Large, buffers),
				1.5e-8*float64(p.Small+p.Large), func(seed int) (oneOnOneCell, error) {
					of := c
					of.Seed = seed
					return p.run(tcps, of)
				})...)
		}
	}
	return all
}

// run runs two transfers. The small one begins at a random time after the large one.
func (p *oneOnOnePlan) run(tcps [2]testbed.Timers, c oneOnOneCell) (oneOnOneCell, error) {
	link := bottleneck{rate: p.Rate, buffers: c.Buffers, delay: p.Delay, access: p.Access, sendBuffer: p.SendBuffer,
		initialWindow: p.InitialWindow, old: p.Reno}
	// The large one begins at any phase of the sweep.
	large := time.Duration(testbed.Uniform(uint64(c.Seed), 0xe26) * float64(tcptimers.SlowTick))
	small := large + time.Duration(testbed.Uniform(uint64(c.Seed), 0xe27)*float64(p.Latest))
	d, err := link.dumbbell(c.Seed, 0xe26, &transfer{timers: tcps[0], bytes: p.Small, start: small},
		&transfer{timers: tcps[1], bytes: p.Large, start: large})
	if err != nil {
		return c, err
	}
	all, err := d.run()
	copy(c.Transfers[:], all)
	return c, err
}
