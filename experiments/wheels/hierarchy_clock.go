package wheels

import (
	"context"
	"math/rand/v2"

	"tcpwheel/experiments"
	"tcpwheel/experiments/declared"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

// The timed work: timers that run all the time, each started again when it expires.
const (
	hierarchyClockTimers = 10_000
	hierarchyClockT      = 1 << 16 // mean interval, in ticks
	hierarchyClockRounds = 5
)

// hierarchySixes are the layouts of Scheme 6 that are timed.
var hierarchySixes = []struct{ name, about string }{
	{"scheme6-list", "Scheme 6, linked"}, {"scheme6", "Scheme 6, packed"},
}

// hierarchyClockRotations are the T/M of Scheme 6 that are timed.
var hierarchyClockRotations = []int{1, 2, 4, 8, 16, 32, 64}

// hierarchyPiece runs timers of a facility for a mean interval.
func hierarchyPiece(scheme string, slots, levels int) (testbed.Piece, error) {
	f, err := wheel.New(scheme, wheel.Config{Tick: 1, Slots: slots, Levels: levels})
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(1, 3))
	f.Reserve(hierarchyClockTimers)
	again := func(t wheel.Timer) { f.Schedule(t, f.Now()+wheel.Time(1+r.Uint64N(2*hierarchyClockT-1))) }
	for range hierarchyClockTimers {
		again(f.New(0))
	}
	f.Advance(2*hierarchyClockT, 0, again)
	return func() int {
		for end := f.Now() + hierarchyClockT; f.Now() < end; {
			f.Advance(f.Now()+wheel.Time(min(slots/2, 64)), 0, again)
		}
		return hierarchyClockTimers
	}, nil
}

// hierarchyTiming is the time of a timer: a row of the live part.
type hierarchyTiming struct {
	Scheme string        `json:"scheme" help:"a layout of Scheme 6, or Scheme 7"`
	Seven  bool          `json:"seven"`
	X      int           `json:"x" help:"T/M of Scheme 6, levels of Scheme 7"`
	NS     stat.Interval `json:"ns" unit:"ns" help:"per timer, median, fastest and slowest round"`

	T       int `json:"t" unit:"ticks" help:"mean interval"`
	Running int `json:"running" unit:"timers"`
}

var hierarchyTimed = declared.Judge[hierarchyPlan, hierarchyTiming](files, "hierarchy/clock")

// hierarchyClock fits the costs in nanoseconds of this machine.
func hierarchyClock(ctx context.Context, p *hierarchyPlan) (*experiments.Outcome, error) {
	var pieces []testbed.Piece
	var rows []hierarchyTiming
	add := func(scheme string, slots, levels int, row hierarchyTiming) error {
		work, err := hierarchyPiece(scheme, slots, levels)
		row.T, row.Running = hierarchyClockT, hierarchyClockTimers
		pieces, rows = append(pieces, work), append(rows, row)
		return err
	}
	for _, scheme := range hierarchySixes {
		for _, x := range hierarchyClockRotations {
			if err := add(scheme.name, hierarchyClockT/x, 0, hierarchyTiming{Scheme: scheme.about, X: x}); err != nil {
				return nil, err
			}
		}
	}
	for _, m := range p.Levels {
		per := 2
		for hierarchyReach(per, m) < 2*hierarchyClockT {
			per *= 2
		}
		if err := add("scheme7", per, m, hierarchyTiming{Scheme: "Scheme 7", Seven: true, X: m}); err != nil {
			return nil, err
		}
	}
	ns, err := testbed.TimeRounds(ctx, hierarchyClockRounds, pieces)
	if err != nil {
		return nil, err
	}
	for i, rounds := range ns {
		rows[i].NS = testbed.MedianOf(rounds)
	}
	return hierarchyTimed(p, rows)
}
