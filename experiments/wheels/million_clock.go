package wheels

import (
	"context"
	"math/rand/v2"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/declared"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/wheel/stat"
)

const (
	millionClockRounds = 5
	millionIdleTicks   = 2000 // of a round
	millionActiveTicks = 200
)

// millionTiming is a facility with the timers of all connections: a row of the live part.
type millionTiming struct {
	Facility string  `json:"facility"`
	Runtime  bool    `json:"runtime" help:"the Go runtime in the place of a facility: one timer for each connection"`
	Bytes    float64 `json:"bytes" unit:"bytes" help:"of a timer record, slots included"`
	Idle     float64 `json:"idle_tick" unit:"ns" help:"per tick of idle connections, median"`
	Active   float64 `json:"active_tick" unit:"ns" help:"per tick of active connections, median"`
	Reset    float64 `json:"reset" unit:"ns" help:"of a random timer of the runtime"`
}

var millionTimed = declared.Judge[millionPlan, millionTiming](files, "million/clock")

// millionClock measures the bytes and nanoseconds of timers, and their share of a processor.
func millionClock(ctx context.Context, p *millionPlan) (*experiments.Outcome, error) {
	var all []millionTiming
	for i := range p.Facilities {
		f := &p.Facilities[i]
		before := testbed.HeapBytes()
		w, err := f.open(p.Tick, false)
		if err != nil {
			return nil, err
		}
		l := p.newLoad(w, 1, 0)
		bytes := float64(testbed.HeapBytes()-before-uint64(len(l.running))) / float64(p.Connections*millionRecords)
		idle, active, err := l.time(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, millionTiming{Facility: f.Text, Bytes: bytes, Idle: idle, Active: active})
	}
	bytes, reset, err := millionRuntimeTimers(ctx, p)
	if err != nil {
		return nil, err
	}
	all = append(all, millionTiming{Facility: "Go runtime", Runtime: true, Bytes: bytes, Reset: reset})
	return millionTimed(p, all)
}

// time returns the nanoseconds of a tick, of idle and of active connections.
func (l *millionLoad) time(ctx context.Context) (idle, active float64, err error) {
	ns, err := testbed.TimeRounds(ctx, millionClockRounds, []testbed.Piece{
		func() int {
			for range millionIdleTicks {
				l.tick()
			}
			return millionIdleTicks
		},
		func() int {
			for range millionActiveTicks {
				l.tick()
				l.packets()
			}
			return millionActiveTicks
		},
	})
	if err != nil {
		return 0, 0, err
	}
	return stat.Median(ns[0]), stat.Median(ns[1]), nil
}

// millionRuntimeTimers returns the bytes of one of the Go runtime's timers, and the nanoseconds of
// a Reset.
func millionRuntimeTimers(ctx context.Context, p *millionPlan) (bytes, ns float64, err error) {
	n := p.Connections
	before := testbed.HeapBytes()
	timers := make([]*time.Timer, n)
	for i := range timers {
		timers[i] = time.AfterFunc(p.Keepalive+time.Hour, func() {})
	}
	bytes = float64(testbed.HeapBytes()-before) / float64(n)
	const resets = 10_000
	r := rand.New(rand.NewPCG(1, 0xe22))
	times, err := testbed.TimeRounds(ctx, millionClockRounds, []testbed.Piece{func() int {
		for range resets {
			timers[r.IntN(n)].Reset(p.Keepalive + time.Hour)
		}
		return resets
	}})
	for _, t := range timers {
		t.Stop()
	}
	if err != nil {
		return 0, 0, err
	}
	return bytes, stat.Median(times[0]), nil
}
