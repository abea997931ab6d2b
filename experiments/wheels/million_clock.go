package wheels

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
)

const (
	millionClockRounds = 5
	millionIdleTicks   = 2000 // of a round
	millionActiveTicks = 200

	// millionWantOctets is the most that a timer may take, slots included.
	millionWantOctets = 64
)

// millionClock measures octets, nanoseconds, and the share of a processor.
func millionClock(ctx context.Context, p *millionPlan) (*experiments.Outcome, error) {
	out := &experiments.Outcome{}
	n := p.Connections
	table := experiments.Table{
		Name: "clock", Title: fmt.Sprintf("%s connections, %s timer records, %s of them active, on this machine", experiments.Number(float64(n)),
			experiments.Number(float64(n*millionRecords)), experiments.Number(float64(n/p.Active))),
		Columns: []string{"facility", "octets per record", "idle, ns per tick", "idle, % of a processor", "active, ns per tick", "active, % of a processor"},
	}
	fig := figure.Figure{
		Name: "processor", Title: "What a million connections' timers take of a processor",
		X: figure.Axis{Label: "facility"}, Y: figure.Axis{Label: "% of a processor"},
		Series:  []figure.Series{{Name: "idle", Kind: figure.Bars, Group: 1}, {Name: "active", Kind: figure.Bars, Group: 2}},
		Caption: fmt.Sprintf("Ticks of %v. Active: %s packets a second.", p.Tick, experiments.Number(float64(p.Packets))),
	}
	share := func(ns float64) float64 { return ns * p.perSecond() / 1e7 }
	least, most, of := math.Inf(1), 0.0, ""
	for i := range p.Facilities {
		f := &p.Facilities[i]
		before := heapBytes()
		w, err := f.open(p.Tick, false)
		if err != nil {
			return nil, err
		}
		l := p.newLoad(w, 1, 0)
		octets := float64(heapBytes()-before-uint64(len(l.running))) / float64(n*millionRecords)
		least = min(least, octets)
		if octets > most {
			most, of = octets, f.Text
		}
		ns, err := timeRounds(ctx, millionClockRounds, []piece{
			{ops: millionIdleTicks, run: func() {
				for range millionIdleTicks {
					l.tick()
				}
			}},
			{ops: millionActiveTicks, run: func() {
				for range millionActiveTicks {
					l.tick()
					l.packets()
				}
			}},
		})
		if err != nil {
			return nil, err
		}
		m := medians(ns)
		idle, active := m[0].Value, m[1].Value
		table.Add(f.Text, octets, idle, share(idle), active, share(active))
		x := float64(len(fig.X.Ticks))
		fig.X.Ticks = append(fig.X.Ticks, f.Text)
		for k, v := range []float64{share(idle), share(active)} {
			s := &fig.Series[k]
			s.X, s.Y = append(s.X, x), append(s.Y, v)
		}
	}
	octets, reset, err := millionRuntimeTimers(ctx, p)
	if err != nil {
		return nil, err
	}
	table.Add("Go runtime", octets, "", "", "", "")
	out.Tables, out.Figures = append(out.Tables, table), append(out.Figures, fig)
	out.Notes = append(out.Notes, fmt.Sprintf("The Go runtime's row is one keepalive timer of each connection, started by time.AfterFunc, and its octets. "+
		"It has no tick, and no records that wait to be started. Reset of a random one takes %s ns.", experiments.Number(reset)))
	// In whole octets: what is left is the same for any number of timers.
	whole := math.Round(most)
	out.Claim(experiments.Claim{
		Name: "octets", Text: fmt.Sprintf("a timer record takes at most %d octets, slots included", millionWantOctets), Source: "layout of package wheel", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%s to %s; Go runtime %s", experiments.Number(least), experiments.Number(most), experiments.Number(octets)).Judging(whole),
		Expected: experiments.Between(0, millionWantOctets, "").OrDiffers(experiments.Between(0, 2*millionWantOctets, "")).Saying("at most %d in each facility", millionWantOctets),
		Otherwise: of + " takes the most. The packed Scheme 6 keeps a chunk of 64 octets ready for each list of a slot, since START never allocates: with as many " +
			"slots as timers these weigh more than the records",
	})
	return out, nil
}

// millionRuntimeTimers returns the octets of one of the runtime's timers, and what it takes to put one off.
func millionRuntimeTimers(ctx context.Context, p *millionPlan) (octets, ns float64, err error) {
	n := p.Connections
	before := heapBytes()
	timers := make([]*time.Timer, n)
	for i := range timers {
		timers[i] = time.AfterFunc(p.Keepalive+time.Hour, func() {})
	}
	octets = float64(heapBytes()-before) / float64(n)
	const resets = 10_000
	r := rand.New(rand.NewPCG(1, 0xe22))
	times, err := timeRounds(ctx, millionClockRounds, []piece{{ops: resets, run: func() {
		for range resets {
			timers[r.IntN(n)].Reset(p.Keepalive + time.Hour)
		}
	}}})
	for _, t := range timers {
		t.Stop()
	}
	if err != nil {
		return 0, 0, err
	}
	return octets, medians(times)[0].Value, nil
}
