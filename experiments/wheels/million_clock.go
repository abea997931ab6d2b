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

	// millionWantBytes is the most bytes that a timer record may take, slots included.
	millionWantBytes = 64
)

// millionClock measures the bytes and nanoseconds of timers, and their share of a processor.
func millionClock(ctx context.Context, p *millionPlan) (*experiments.Outcome, error) {
	out := &experiments.Outcome{}
	n := p.Connections
	table := experiments.Table{
		Name: "clock", Title: fmt.Sprintf("%s connections, %s timer records, %s of them active, on this machine", experiments.Number(n),
			experiments.Number(float64(n*millionRecords)), experiments.Number(float64(n/p.Active))),
		Columns: []string{"facility", "bytes per record", "idle, ns per tick", "idle, % of a processor", "active, ns per tick", "active, % of a processor"},
	}
	fig := figure.Figure{
		Name: "processor", Title: "The timers of a million connections: their share of a processor",
		X: figure.Axis{Label: "facility"}, Y: figure.Axis{Label: "% of a processor"},
		Series:  []figure.Series{{Name: "idle", Kind: figure.Bars, Group: 1}, {Name: "active", Kind: figure.Bars, Group: 2}},
		Caption: fmt.Sprintf("Ticks of %v. Active: %s packets a second.", p.Tick, experiments.Number(p.Packets)),
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
		bytes := float64(heapBytes()-before-uint64(len(l.running))) / float64(n*millionRecords)
		least = min(least, bytes)
		if bytes > most {
			most, of = bytes, f.Text
		}
		idle, active, err := l.time(ctx)
		if err != nil {
			return nil, err
		}
		table.Add(f.Text, bytes, idle, share(idle), active, share(active))
		x := float64(len(fig.X.Ticks))
		fig.X.Ticks = append(fig.X.Ticks, f.Text)
		for k, v := range []float64{share(idle), share(active)} {
			fig.Series[k].Add(x, v)
		}
	}
	bytes, reset, err := millionRuntimeTimers(ctx, p)
	if err != nil {
		return nil, err
	}
	table.Add("Go runtime", bytes, "", "", "", "")
	out.Tables, out.Figures = append(out.Tables, table), append(out.Figures, fig)
	out.Notes = append(out.Notes, fmt.Sprintf("The Go runtime's row is the bytes of one keepalive timer for each connection, started by time.AfterFunc. "+
		"The runtime has no tick, and no records that wait. Reset of a random timer takes %s ns.", experiments.Number(reset)))
	// In whole bytes: the rest is the same for any number of timers.
	whole := math.Round(most)
	out.Claim(experiments.Claim{Name: "bytes", Class: experiments.Law, Basis: "set for this project", Text: fmt.Sprintf("a timer record takes at most %d bytes, slots included", millionWantBytes), Source: "layout of package wheel", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%s to %s; Go runtime %s", experiments.Number(least), experiments.Number(most), experiments.Number(bytes)).Judging(whole),
		Expected: experiments.AtMost(millionWantBytes, "").OrDiffers(experiments.AtMost(2*millionWantBytes, "")),
		Otherwise: of + " takes the most. The packed Scheme 6 keeps a chunk of 64 bytes ready for each list of a slot, since START never allocates: with as many " +
			"slots as timers these weigh more than the records"})
	return out, nil
}

// time returns the nanoseconds of a tick, of idle and of active connections.
func (l *millionLoad) time(ctx context.Context) (idle, active float64, err error) {
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
		return 0, 0, err
	}
	m := medians(ns)
	return m[0].Value, m[1].Value, nil
}

// millionRuntimeTimers returns the bytes of one of the Go runtime's timers, and the nanoseconds of
// a Reset.
func millionRuntimeTimers(ctx context.Context, p *millionPlan) (bytes, ns float64, err error) {
	n := p.Connections
	before := heapBytes()
	timers := make([]*time.Timer, n)
	for i := range timers {
		timers[i] = time.AfterFunc(p.Keepalive+time.Hour, func() {})
	}
	bytes = float64(heapBytes()-before) / float64(n)
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
	return bytes, medians(times)[0].Value, nil
}
