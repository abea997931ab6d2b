package vegas

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel/stat"
)

// lone is a model of a sender of lone segments under clocks of 500 ms: an estimator and the
// instants at which exchanges begin. It uses none of the engine.
type lone struct {
	name      string
	apart     bool // exchanges begin at random phases of the tick, and not when the last one ends
	estimator func(time.Duration, tcptimers.Bounds) tcptimers.Estimator
}

var (
	inARow = lone{name: "4.4BSD, exchanges in a row", estimator: tcptimers.NewBSD}
	apart  = lone{name: "4.4BSD, exchanges at random phases", apart: true, estimator: tcptimers.NewBSD}
	tahoe  = lone{name: "4.3BSD-Tahoe, SRTT + 2·RTTVAR, exchanges in a row", estimator: tcptimers.NewTahoe}
	lones  = []lone{inARow, apart, tahoe}
)

// modelLosses is the losses of a model's mean. Its standard error is below 3 ms.
const modelLosses = 20_000

// mean returns the mean wait of a lost segment, in ms, where so many exchanges without loss come
// before each.
func (l lone) mean(rtt time.Duration, cv float64, between int) float64 {
	const tick = float64(tcptimers.SlowTick)
	r := rand.New(rand.NewPCG(uint64(rtt), 0xa5))
	e := l.estimator(tcptimers.SlowTick, tcptimers.Bounds{})
	trip := func() float64 {
		return max(float64(rtt)/10, float64(rtt)+float64(float64(cv*float64(rtt))*stat.Normal(r)))
	}
	now, sum := 0.0, 0.0
	for range modelLosses {
		now += float64(r.Float64() * tick) // the last timeout has aligned the sender with the tick
		for range between {
			if l.apart {
				now += float64(r.Float64() * tick)
			}
			x := trip()
			crossed := math.Floor((now+x)/tick) - math.Floor(now/tick)
			e.Sample(tcptimers.Sample{RTT: time.Duration(crossed) * tcptimers.SlowTick})
			now += x
		}
		if l.apart {
			now += float64(r.Float64() * tick)
		}
		rto := float64(e.RTO() / tcptimers.SlowTick)
		at := float64((math.Floor(now/tick) + rto) * tick)
		sum += at - now
		now = at + trip()
	}
	return sum / modelLosses / 1e6
}

// loneWaits returns the waits of lone segments under the coarse timers, by seed.
func (r results) loneWaits(rtt time.Duration) [][]float64 {
	of := experiments.Select(r, func(c *Cell) bool { return c.Anchor && c.RTT == rtt })
	return experiments.SamplesBySeed(of, func(c *Cell) int { return c.Seed },
		func(c *Cell) []float64 { return c.Flows[0].Waits })
}

// loneTable compares the waits of lone segments with the models.
func (r results) loneTable(p *Plan) experiments.Table {
	t := experiments.Table{Name: "lone", Title: "Mean wait of a lone segment, in ms: the engine under the coarse " +
		"timers, and models of senders",
		Columns: []string{"round trip, ms", "losses", "engine", "95 % from", "to"}}
	for _, l := range lones {
		t.Columns = append(t.Columns, l.name)
	}
	for _, rtt := range p.AnchorRTTs {
		waits := r.loneWaits(rtt)
		in := stat.Bootstrap(waits, 1, stat.Mean[float64])
		row := []any{rtt.Milliseconds(), len(waits) * p.AnchorLosses, in.Value, in.Lo, in.Hi}
		for _, l := range lones {
			row = append(row, l.mean(rtt, p.CV, p.Between))
		}
		t.Add(row...)
	}
	return t
}

// crossingClaim compares the engine with the model of its sender, closely enough to tell it from
// one whose exchanges begin at random phases.
func (r results) crossingClaim(p *Plan, out *experiments.Outcome) {
	if len(p.AnchorRTTs) == 0 {
		return
	}
	text, worst := "", 0.0
	for i, rtt := range p.AnchorRTTs {
		in := stat.Bootstrap(r.loneWaits(rtt), 1, stat.Mean[float64])
		want, other := inARow.mean(rtt, p.CV, p.Between), apart.mean(rtt, p.CV, p.Between)
		// Half the distance between the models, or 1 % where they are alike.
		worst = max(worst, math.Abs(in.Value-want)/max(math.Abs(want-other)/2, want/100))
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s at %v (model %s, apart %s)", experiments.Number(in.Value), rtt,
			experiments.Number(math.Round(want)), experiments.Number(math.Round(other)))
	}
	out.Claim(experiments.Claim{Name: "crossings", Class: experiments.Law,
		Text: "samples that cross a tick lift the mean wait of a lone segment as in the recurrence of a sender " +
			"whose exchanges follow in a row",
		Source: recurrenceSource, Tag: experiments.Computed, Measured: experiments.MeasuredText("%s ms",
			text).Judging(worst),
		Expected: experiments.AtMost(1, "").Saying("nearer to that model than to exchanges at random phases, or " +
			"within 1 %%"),
		Basis:     "half the distance of the two models",
		Otherwise: "the phases of the tick at which exchanges begin are not those of the recurrence"})
}
