package vegas

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel/stat"
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

	Reno  testbed.Timers   `plan:"reno"`
	Vegas testbed.Timers   `plan:"vegas"`
	Renos []testbed.Timers `plan:"renos" optional:"true"`
	Seeds int              `plan:"seeds" min:"1" max:"10000"`
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

// OneOnOne is the study.
var OneOnOne = experiments.Define(experiments.Spec[oneOnOnePlan, oneOnOneCell]{
	ID: "E26", Name: "oneonone", Class: experiments.Published, Folder: "vegas/oneonone", Files: files,
	Found: "Throughputs of the paper's Table III are met in {rates}. Two transfers of Vegas retransmit " +
		"{both-vegas#} of what two of Reno do; " +
		"0.4 of 52 KB was published. Reno's throughputs are nearer with the timeout of 4.3BSD-Tahoe: {other-reno}.",
	Question: "What do a transfer of Reno and one of Vegas do to each other?",
	Cells:    oneOnOneCells,
	Judge:    oneOnOneJudge,
})

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
			for seed := 1; seed <= p.Seeds; seed++ {
				c := oneOnOneCell{pair: pair{tcps[0].Text, tcps[1].Text}, Buffers: buffers, Seed: seed}
				all = append(all, experiments.Cell[oneOnOneCell]{
					Name: fmt.Sprintf("small=%q large=%q buffers=%d seed=%d", c.Small, c.Large, buffers, seed),
					Cost: 1.5e-8 * float64(p.Small+p.Large),
					Run:  func(context.Context) (oneOnOneCell, error) { return p.run(tcps, c) },
				})
			}
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

// tableIII is Table III of the paper: KB/s and KB retransmitted of the small and the large
// transfer, by their TCPs. 1.8 KB is from the row of ratios: the scan that was read has "43/13".
var tableIII = []struct {
	name                string
	rate, retransmitted [2]float64
}{
	{"Reno/Reno", [2]float64{60, 109}, [2]float64{30, 22}},
	{"Reno/Vegas", [2]float64{61, 123}, [2]float64{43, 1.8}},
	{"Vegas/Reno", [2]float64{66, 119}, [2]float64{1.5, 18}},
	{"Vegas/Vegas", [2]float64{74, 131}, [2]float64{0.3, 0.1}},
}

// Indices of tableIII.
const (
	renoReno = iota
	renoVegas
	vegasReno
	vegasVegas
)

// oneOnOneResults are the results of the cells.
type oneOnOneResults struct {
	*oneOnOnePlan
	cells []oneOnOneCell
}

// bySeed returns a value of a transfer, 0 for the small one, of each run of a pair, by seed.
func (r oneOnOneResults) bySeed(of, which int, value func(bytes int, t *transferred) float64) [][]float64 {
	tcps := r.pairs()[of]
	runs := experiments.Select(r.cells, func(c *oneOnOneCell) bool {
		return c.pair == pair{tcps[0].Text,
			tcps[1].Text}
	})
	return experiments.SamplesBySeed(runs, func(c *oneOnOneCell) int { return c.Seed },
		func(c *oneOnOneCell) []float64 {
			return []float64{value([2]int{r.Small, r.Large}[which], &c.Transfers[which])}
		})
}

func (r oneOnOneResults) mean(of, which int, value func(int, *transferred) float64) stat.Interval {
	return stat.Bootstrap(r.bySeed(of, which, value), 1, stat.Mean[float64])
}

func transferRate(bytes int, t *transferred) float64 { return float64(bytes) / kb / t.Seconds }
func transferTimeouts(_ int, t *transferred) float64 { return t.timeouts() }
func transferAgain(_ int, t *transferred) float64    { return t.retransmitted() }

func oneOnOneJudge(p *oneOnOnePlan, cells []oneOnOneCell) (*experiments.Outcome, error) {
	r := oneOnOneResults{p, cells}
	out := &experiments.Outcome{}
	r.table(out)
	r.rateClaims(out)
	r.lossClaims(out)
	return out, nil
}

func (r oneOnOneResults) table(out *experiments.Outcome) {
	table := experiments.Table{Name: "pairs", Title: fmt.Sprintf("A transfer of %d KB within one of %d KB, and "+
		"Table III of the paper", r.Small/kb, r.Large/kb),
		Columns: []string{"small/large", "small, KB/s", "95 %", "paper", "large, KB/s", "95 %", "paper",
			"small, KB retransmitted", "paper", "large, KB retransmitted", "paper", "small, timeouts",
			"large, timeouts"}}
	for i, tcps := range r.pairs() {
		name, of := senderName(tcps[0].Text)+" / "+senderName(tcps[1].Text), i
		if i >= len(tableIII) {
			of = (i - len(tableIII)) % vegasVegas // the same combination of another Reno
		} else {
			name = tableIII[i].name
		}
		t := &tableIII[of]
		small, large := r.mean(i, 0, transferRate), r.mean(i, 1, transferRate)
		table.Add(name, small.Value, span(small), t.rate[0], large.Value, span(large), t.rate[1],
			r.mean(i, 0, transferAgain).Value, t.retransmitted[0], r.mean(i, 1, transferAgain).Value,
			t.retransmitted[1],
			r.mean(i, 0, transferTimeouts).Value, r.mean(i, 1, transferTimeouts).Value)
	}
	out.Tables = append(out.Tables, table)
}

func span(in stat.Interval) string {
	return experiments.Number(in.Lo) + " to " + experiments.Number(in.Hi)
}

// rates returns how many throughputs of Table III are met within 10 % where the pairs begin at
// first, of how many, the farthest ratio, and the misses.
func (r oneOnOneResults) rates(first int) (met, of int, worst float64, off []string) {
	var farthest experiments.Farthest
	for i, t := range tableIII {
		if first > 0 && i == vegasVegas {
			continue // no other Reno takes part
		}
		for which := range t.rate {
			ratio := r.mean(first+i, which, transferRate).Value / t.rate[which]
			farthest.Add(ratio)
			if of++; ratio >= 0.9 && ratio <= 1.1 {
				met++
				continue
			}
			off = append(off, fmt.Sprintf("%s %s %s times", [2]string{"small", "large"}[which], t.name,
				experiments.Number(ratio)))
		}
	}
	return met, of, farthest.Ratio, off
}

// rateClaims judges the throughputs: all at once, with the timeout of Tahoe, and the order of
// Reno's next to both.
func (r oneOnOneResults) rateClaims(out *experiments.Outcome) {
	met, _, worst, off := r.rates(0)
	if len(r.Renos) > 0 {
		m, of, w, _ := r.rates(len(tableIII))
		out.Claim(experiments.Claim{Name: "other-reno", Class: experiments.Law,
			Text:   fmt.Sprintf("with %s for Reno, the throughputs of Table III are nearer", senderName(r.Renos[0].Text)),
			Source: paper + ", Table III, which does not say which timeout its Reno had", Tag: experiments.Computed,
			Measured: experiments.MeasuredText("%d of %d within 10 %%, the farthest %s times; before %s times", m, of,
				experiments.Number(w), experiments.Number(worst)),
			Expected:  experiments.Whether(math.Abs(w-1) < math.Abs(worst-1), "nearer"),
			Otherwise: "the timeout is not what makes Reno's small transfers slower than the paper's"})
	}
	out.Claim(experiments.Claim{Name: "rates", Class: experiments.OfOthers,
		Text: "the eight throughputs of Table III, in KB/s", Published: "60/109, 61/123, 66/119, 74/131 KB/s",
		Source: paper + ", Table III", Tag: experiments.FromPrint,
		Measured: experiments.MeasuredText("%d of 8 within 10 %%, the farthest %s times the printed one", met,
			experiments.Number(worst)).Judging(float64(met)),
		Expected:  experiments.AtLeast(8, "of 8").OrDiffers(experiments.AtLeast(1, "")),
		Basis:     "each printed number ± 10 %, the rule of all studies for a number without an interval",
		Otherwise: "the delay and the times of the beginnings are not the paper's: " + strings.Join(off, "; ")})
	next := func(a, b int) stat.Interval {
		return stat.BootstrapPair(r.bySeed(a, 1, transferRate), r.bySeed(b, 1, transferRate), 1, func(a,
			b []float64) float64 {
			return stat.Mean(a) / stat.Mean(b)
		})
	}
	out.Claim(experiments.Claim{Name: "harmless", Class: experiments.OfOthers,
		Text: "a large transfer of Reno is faster next to Vegas than next to Reno", Published: "119 against 109 KB/s",
		Source: paper + ", Table III", Tag: experiments.FromPrint,
		Measured:  experiments.MeasuredWithin(next(vegasReno, renoReno), "times"),
		Expected:  experiments.Printed(119.0/109, "times").OrDiffers(experiments.Above(1, "times")),
		Otherwise: "the small transfer of Vegas takes more of the bottleneck from Reno than one of Reno does"})
}

// lossClaims judges the retransmissions of both transfers together.
func (r oneOnOneResults) lossClaims(out *experiments.Outcome) {
	again := func(pair int) (all [][]float64) {
		large := r.bySeed(pair, 1, transferAgain)
		for i, small := range r.bySeed(pair, 0, transferAgain) {
			var both []float64
			for j := range small {
				both = append(both, small[j]+large[i][j])
			}
			all = append(all, both)
		}
		return all
	}
	reno := again(renoReno)
	for _, c := range []struct {
		name, text string
		pair       int
		band       func(of float64) experiments.Band
		otherwise  string
	}{
		{"both-vegas", "two transfers of Vegas retransmit next to nothing", vegasVegas,
			func(of float64) experiments.Band {
				return experiments.PrintedBound(experiments.AtMost(of, ""))
			}, "the beginning of each transfer overflows the queue, as Vegas's slow start measures only every other round"},
		{"small-vegas", "a small transfer of Vegas lets both retransmit less", vegasReno,
			func(of float64) experiments.Band {
				return experiments.Printed(of, "")
			}, "Reno fills the queue, whoever else sends"},
	} {
		t := &tableIII[c.pair]
		of, all := t.retransmitted[0]+t.retransmitted[1],
			tableIII[renoReno].retransmitted[0]+tableIII[renoReno].retransmitted[1]
		in := stat.BootstrapPair(again(c.pair), reno, 1, func(a,
			b []float64) float64 {
			return stat.Mean(a) / max(stat.Mean(b), 1e-9)
		})
		out.Claim(experiments.Claim{Name: c.name, Class: experiments.OfOthers, Text: c.text,
			Published: fmt.Sprintf("%s of %s KB", experiments.Number(of), experiments.Number(all)), Source: paper +
				", Table III", Tag: experiments.FromPrint,
			Measured: experiments.MeasuredWithin(in, "of what two of Reno do"),
			Expected: c.band(of / all).OrDiffers(experiments.Below(1, "")), Otherwise: c.otherwise})
	}
}
