package vegas

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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

	Bytes         int   `plan:"bytes" unit:"size" min:"1000" max:"100000000"`
	Sizes         []int `plan:"sizes" unit:"size" min:"1000" max:"100000000" order:"rising" optional:"true"`
	SendBuffer    int   `plan:"send_buffer" unit:"size" min:"1000" max:"100000000"`
	InitialWindow int   `plan:"initial_window" min:"1" max:"100"`

	Reno   testbed.Timers   `plan:"reno"`
	Fine   testbed.Timers   `plan:"fine"`
	Check  testbed.Timers   `plan:"check"`
	Vegas  testbed.Timers   `plan:"vegas"`
	Others []testbed.Timers `plan:"others" optional:"true"`

	Traffic   string         `plan:"traffic" oneof:"tcplib lognormal"`
	Load      float64        `plan:"load" min:"0" max:"2"`
	Loads     []float64      `plan:"other_loads" min:"0" max:"2" optional:"true"`
	Median    int            `plan:"median" min:"1" max:"1000000"`
	Spread    float64        `plan:"spread" min:"0" max:"3"`
	WarmUp    time.Duration  `plan:"warm_up" min:"0s" max:"10m"`
	Short     testbed.Timers `plan:"short"`
	FirstSeed int            `plan:"first_seed" min:"1" max:"1000000"`

	Seeds      int `plan:"seeds" min:"1" max:"10000"`
	OtherSeeds int `plan:"other_seeds" min:"1" max:"10000"`
}

// claimed returns the senders of the claims, and rows adds the others.
func (p *tableivPlan) claimed() []testbed.Timers {
	return []testbed.Timers{p.Reno, p.Fine, p.Check, p.Vegas}
}
func (p *tableivPlan) rows() []testbed.Timers { return append(p.claimed(), p.Others...) }

// traffics returns the kinds of traffic, that of the claims first.
func (p *tableivPlan) traffics() []string {
	if p.Traffic == "tcplib" {
		return []string{"tcplib", "lognormal"}
	}
	return []string{"lognormal", "tcplib"}
}

// setting is what a transfer meets.
type setting struct {
	Traffic string  `json:"traffic"`
	Load    float64 `json:"load"`
	Bytes   int     `json:"bytes"`
}

// claimedSetting is the setting of the claims.
func (p *tableivPlan) claimedSetting() setting { return setting{p.Traffic, p.Load, p.Bytes} }

// tableivCell is one transfer.
type tableivCell struct {
	setting
	Sender  string `json:"sender"`
	Buffers int    `json:"buffers"`
	Seed    int    `json:"seed"`
	transferred
}

// TableIV is the study.
var TableIV = experiments.Define(experiments.Spec[tableivPlan, tableivCell]{
	ID: "E9", Name: "tableiv", Bed: "dumbbell", Class: experiments.Published, Folder: "vegas/tableiv", Files: files,
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
		if slices.Contains(p.Sizes, p.Bytes) {
			return fmt.Errorf("sizes: %d equals bytes, want other values", p.Bytes)
		}
		return nil
	},
	Words: func() experiments.Words { return tableivWords },
	Cells: tableivCells,
	Judge: func(p *tableivPlan, cells []tableivCell) (*experiments.Outcome, error) {
		return tableivJudge(p, tableivRows(p, cells)), nil
	},
})

// tableivRow is a transfer, next to that of Reno in the same place.
type tableivRow struct {
	setting
	Role    string // of the sender in the plan: reno, fine, check, vegas or other
	Sender  string // its timers without what is off
	Buffers int    // of the bottleneck, packets
	Seed    int
	outcome
	Reno *outcome // in the same place, with the same traffic, buffers and seed; nil if it did not run there
}

// tableivRows puts Reno's transfer next to each that ran in the same place. Rows are in order of
// their seeds.
func tableivRows(p *tableivPlan, cells []tableivCell) (all []tableivRow) {
	roles := map[string]string{p.Reno.Text: "reno", p.Fine.Text: "fine", p.Check.Text: "check", p.Vegas.Text: "vegas"}
	type place struct {
		setting
		buffers, seed int
	}
	reno := map[place]outcome{}
	for _, c := range cells {
		if c.Sender == p.Reno.Text {
			reno[place{c.setting, c.Buffers, c.Seed}] = c.outcome(c.Bytes)
		}
	}
	for _, c := range cells {
		r := tableivRow{setting: c.setting, Role: cmp.Or(roles[c.Sender], "other"), Sender: senderName(c.Sender),
			Buffers: c.Buffers, Seed: c.Seed, outcome: c.outcome(c.Bytes)}
		if old, ok := reno[place{c.setting, c.Buffers, c.Seed}]; ok {
			r.Reno = &old
		}
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b tableivRow) int { return cmp.Compare(a.Seed, b.Seed) })
	return all
}

// senderName returns the text of a sender without the options that are off.
func senderName(t string) string {
	words := slices.DeleteFunc(strings.Fields(t), func(w string) bool { return w[0] == '-' || w == "control=newreno" })
	return strings.Join(words, " ")
}

func tableivCells(p *tableivPlan) (all []experiments.Cell[tableivCell]) {
	add := func(senders []testbed.Timers, at setting, seeds int) {
		for _, row := range senders {
			for _, buffers := range p.Buffers {
				all = append(all, experiments.Seeded(p.FirstSeed, seeds,
					fmt.Sprintf("sender=%q traffic=%s load=%v bytes=%d buffers=%d", row.Text, at.Traffic, at.Load, at.Bytes,
						buffers),
					4e-8*float64(at.Bytes), func(seed int) (tableivCell, error) {
						return p.transfer(row, at, buffers, seed)
					})...)
			}
		}
	}
	claimed := p.claimedSetting()
	add(p.claimed(), claimed, p.Seeds)
	add(p.Others, claimed, p.OtherSeeds)
	for _, at := range p.settings()[1:] {
		add(p.claimed(), at, p.OtherSeeds)
	}
	return all
}

// settings returns the setting of the claims, and then other settings: each differs in one thing,
// or has the other traffic.
func (p *tableivPlan) settings() []setting {
	all := []setting{p.claimedSetting()}
	for _, load := range p.Loads {
		all = append(all, setting{p.Traffic, load, p.Bytes})
	}
	for _, bytes := range p.Sizes {
		all = append(all, setting{p.Traffic, p.Load, bytes})
	}
	if len(p.Loads) > 0 {
		for _, load := range append([]float64{p.Load}, p.Loads...) {
			all = append(all, setting{p.traffics()[1], load, p.Bytes})
		}
	}
	return all
}

// transfer runs one transfer next to the traffic.
func (p *tableivPlan) transfer(row testbed.Timers, at setting, buffers, seed int) (tableivCell, error) {
	c := tableivCell{setting: at, Sender: row.Text, Buffers: buffers, Seed: seed}
	link := bottleneck{rate: p.Rate, buffers: buffers, delay: p.Delay, access: p.Access, sendBuffer: p.SendBuffer,
		initialWindow: p.InitialWindow, old: p.Short}
	d, err := link.dumbbell(seed, 0xe9, &transfer{timers: row, bytes: at.Bytes, start: p.WarmUp})
	if err != nil {
		return c, err
	}
	draw, mean := logNormal(p.Median, p.Spread)
	if at.Traffic == "tcplib" {
		draw, mean = readTcplib().converse, tcplibBytes()
	}
	t := d.add(at.Load, mean, 0xe9, draw)
	all, err := d.run()
	if err == nil {
		err = t.err
	}
	if err == nil {
		c.transferred = all[0]
	}
	return c, err
}
