package wheels

import (
	"fmt"
	"math/rand/v2"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/wheel"
)

// advicePlan is the plan of the study.
type advicePlan struct {
	Counts    []int `plan:"counts" min:"1" max:"100000" order:"rising"`
	Interval  int   `plan:"interval" min:"1" max:"1000000"`
	Slots     int   `plan:"slots" min:"2" max:"1048576"`
	Ticks     int   `plan:"ticks" min:"100" max:"10000000"`
	FirstSeed int   `plan:"first_seed" min:"1" max:"1000000"`
	Seeds     int   `plan:"seeds" min:"1" max:"1000"`
}

// adviceCell is the work of schemes on the same timers, of which each starts again when it expires.
type adviceCell struct {
	Timers   int               `json:"timers"`
	Seed     int               `json:"seed"`
	Records  map[string]uint64 `json:"records"`  // looked at or moved, by scheme
	Expiries uint64            `json:"expiries"` // of Scheme 6
	Messages uint64            `json:"messages"` // from host to chip: a slot gets its first timer, or loses its last
}

const (
	oneList, sortedList, hashedWheel, resizing = "scheme1", "scheme2", "scheme6", "calendar"
	fewTimers                                  = 10 // ours: the paper prints no number
)

var adviceWords = experiments.Words{
	Question: "Up to how many timers are the simple schemes best, does resizing pay, and what does a timer chip hear?",
	Found:    "{few}. A calendar queue, which resizes, has {resizing}. A chip that scans hears {messages}.",
}

// Advice is the study.
var Advice = experiments.Define(experiments.Spec[advicePlan, adviceCell]{
	ID: "E31", Name: "advice", Bed: "wheel", Class: experiments.Exact, Folder: "wheels/advice", Files: files,
	Words: func() experiments.Words { return adviceWords },
	Cells: func(p *advicePlan) (all []experiments.Cell[adviceCell]) {
		for _, n := range p.Counts {
			all = append(all, experiments.Seeded(p.FirstSeed, p.Seeds, fmt.Sprintf("timers=%d", n),
				2e-9*float64(p.Ticks*(n+100)), func(seed int) (adviceCell, error) { return p.run(n, seed) })...)
		}
		return all
	},
	Judge: adviceJudge,
})

func (p *advicePlan) run(n, seed int) (adviceCell, error) {
	c := adviceCell{Timers: n, Seed: seed, Records: map[string]uint64{}}
	for _, scheme := range []string{oneList, sortedList, hashedWheel, resizing} {
		f, err := wheel.New(scheme, wheel.Config{Tick: 1, Slots: p.Slots, Count: true})
		if err != nil {
			return c, err
		}
		rng := rand.New(rand.NewPCG(uint64(seed), uint64(n)))
		busy, messages := make([]int, p.Slots), uint64(0)
		start := func(t wheel.Timer) {
			at := f.Now() + 1 + wheel.Time(rng.IntN(2*p.Interval-1))
			if slot := int(at) % p.Slots; busy[slot] == 0 {
				messages++
			}
			busy[int(at)%p.Slots]++
			f.Schedule(t, at)
		}
		again := func(t wheel.Timer) {
			if slot := int(f.Now()) % p.Slots; busy[slot] == 1 {
				messages++
			}
			busy[int(f.Now())%p.Slots]--
			start(t)
		}
		for range n {
			start(f.New(0))
		}
		for range 4 * p.Interval {
			f.Advance(f.Now()+1, 0, again)
		}
		before, heard := f.Counts(), messages
		for range p.Ticks {
			f.Advance(f.Now()+1, 0, again)
		}
		counts := f.Counts().Sub(before)
		c.Records[scheme] = counts.Visits() + counts.Moves
		if scheme == hashedWheel {
			c.Expiries, c.Messages = counts.Expiries, messages-heard
		}
	}
	return c, nil
}

// adviceJudge counts a look at the clock's slot for each tick of a wheel. The lists count their looks
// at a head themselves.
func adviceJudge(p *advicePlan, cells []adviceCell) (*experiments.Outcome, error) {
	t := experiments.Table{Name: "work", Title: "Looks at slots, heads and records in a tick", Columns: []string{"timers",
		"Scheme 1", "Scheme 2", "Scheme 6", "calendar queue", "messages to the chip in a timer's life"}}
	until := map[string]int{oneList: 0, sortedList: 0}
	last, gain, heard, most, off := 0, 0.0, 0.0, 0.0, 0.0
	for _, g := range judge.Along(cells, func(c *adviceCell) int { return c.Timers }) {
		ticks := float64(p.Ticks * len(g.Rows))
		work := func(scheme string, looks float64) float64 {
			return looks + judge.Sum(g.Rows, func(c *adviceCell) float64 { return float64(c.Records[scheme]) })/ticks
		}
		one, two, six, resized := work(oneList, 0), work(sortedList, 0), work(hashedWheel, 1), work(resizing, 1)
		if one <= min(two, six) && until[oneList] == last {
			until[oneList] = g.Key
		}
		if min(one, two) <= six && until[sortedList] == last {
			until[sortedList] = g.Key
		}
		last = g.Key
		gain = 100 * (1 - resized/six)
		heard = judge.Sum(g.Rows, func(c *adviceCell) float64 { return float64(c.Messages) }) /
			judge.Sum(g.Rows, func(c *adviceCell) float64 { return float64(c.Expiries) })
		most = max(most, heard)
		empty := 2.0
		for range g.Key - 1 {
			empty *= 1 - 1/float64(p.Slots)
		}
		off = max(off, heard/empty-1, 1-heard/empty)
		t.Add(g.Key, one, two, six, resized, heard)
	}
	out := &experiments.Outcome{Tables: []experiments.Table{t}}
	out.Judge(
		experiments.Claim{
			Name: "few", Class: experiments.OfOthers, Tag: experiments.FromSource, Source: "Varghese & Lauck, §III",
			Text:      "the list of Scheme 1, and the sorted one of Scheme 2, are best for a few timers",
			Published: "only a few outstanding timers", Basis: "ours: few are at most ten",
			Measured: judge.Said("Scheme 1 has the least work up to n = %d, Scheme 2 up to n = %d", until[oneList],
				until[sortedList]),
			Expected: experiments.Whether(until[sortedList] >= 1 && until[sortedList] <= fewTimers, "1 to %d timers",
				fewTimers).OrDiffers(experiments.Whether(until[sortedList] < last, "fewer than %d", last)),
			Look: experiments.Look{Read: experiments.ReadPaper, At: "§III, of Scheme 1",
				Quote: "there are only a few outstanding timers", Turns: "interval and slots: Scheme 2 is best up to 2T/M"},
		},
		experiments.Claim{
			Name: "resizing", Class: experiments.OfOthers, Tag: experiments.FromSource, Source: "Varghese & Lauck, §VIII",
			Text:      "resizing a wheel improves the work of a tick too little to be worth it",
			Published: "does not appear to warrant the extra complexity of resizing",
			Basis:     "ours: an improvement of at most 10 % at the most timers of the plan",
			Measured:  experiments.Measured(gain, fmt.Sprintf("%% fewer looks than Scheme 6, with %d timers", last)),
			Expected:  experiments.AtMost(10, "%").OrDiffers(experiments.AtMost(50, "%")),
			Look: experiments.Look{Read: experiments.ReadPaper, At: "§VIII, 2",
				Quote: "The empirical improvement in per tick bookkeeping due to resizing the wheel periodically does not " +
					"appear to warrant the extra complexity of resizing", Turns: "slots fewer than a third of the timers"},
		},
		experiments.Claim{
			Name: "messages", Class: experiments.Law, Tag: experiments.Computed, Source: "Varghese & Lauck, Appendix A",
			Text: "a host tells a scanning chip of a slot's first timer and of its last one: at most two messages in a " +
				"timer's life, 2(1-1/M)^(n-1) with timers at random over M slots", Basis: "10 % of that, set after a first run",
			Measured: judge.Said("%v messages in a timer's life at most, and %v with %d timers; at most %v %% off", most,
				heard, last, 100*off),
			Expected: experiments.Whether(most <= 2 && off <= 0.1, "at most 2, and within 10 %% of that"),
		})
	return out, nil
}
