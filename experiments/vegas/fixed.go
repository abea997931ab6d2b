package vegas

import (
	"slices"
	"time"

	"tcpwheel/tcptimers"
)

// state is 4.4BSD's estimate of the round trip, in its units: ticks, scaled by 8 and by 4.
type state struct {
	srtt, rttvar int64 // t_srtt, t_rttvar
	rto          int64 // ticks
}

// recurrence runs the estimator of 4.4BSD over samples, and returns its state after each. A sample
// is the number of ticks that a round trip crosses.
func recurrence(samples []int) []state {
	const tick = tcptimers.SlowTick
	e := tcptimers.NewBSD(tick, tcptimers.Bounds{})
	var all []state
	for _, crossed := range samples {
		e.Sample(tcptimers.Sample{RTT: time.Duration(crossed) * tick})
		all = append(all, state{int64(8 * e.SRTT() / tick), int64(4 * e.RTTVar() / tick), int64(e.RTO() / tick)})
	}
	return all
}

// rests reports whether the recurrence comes to rest from any state: after long round trips, one
// that crosses a tick, and none that does, and from the second of a thousand samples on.
func rests(at state) bool {
	const n = 40
	once, long := make([]int, n), make([]int, n)
	once[15] = 1
	for i := range 5 {
		long[i] = 4
	}
	for _, samples := range [][]int{make([]int, n), once, long} {
		if recurrence(samples)[n-1] != at {
			return false
		}
	}
	return !slices.ContainsFunc(recurrence(make([]int, 1000))[1:], func(s state) bool { return s != at })
}
