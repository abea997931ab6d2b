package vegas

import (
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

// rested is the state of the estimator after round trips below a tick.
var rested = state{srtt: 7, rttvar: 3, rto: 3}

// course is a sequence of samples in the figure.
type course struct {
	name    string
	samples []int
}

// courses are round trips far below a tick: none crosses a tick, one does, or long ones come first.
func courses() []course {
	const n = 40
	none, once, long := make([]int, n), make([]int, n), make([]int, n)
	once[15] = 1
	for i := range 5 {
		long[i] = 4
	}
	return []course{
		{"no tick crossed", none},
		{"a tick crossed by the 16th", once},
		{"five of 2 s first", long},
	}
}
