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

// courses returns the steps of round trips far below a tick: none crosses a tick, one does, long
// ones come first, or a thousand cross none.
func courses() (all []Row) {
	const n = 40
	none, once, long := make([]int, n), make([]int, n), make([]int, n)
	once[15] = 1
	for i := range 5 {
		long[i] = 4
	}
	for _, c := range []struct {
		name    string
		samples []int
	}{{"no tick crossed", none}, {"a tick crossed by the 16th", once}, {"five of 2 s first", long},
		{"a thousand", make([]int, 1000)}} {
		for i, at := range recurrence(c.samples) {
			all = append(all, Row{Kind: "course", Course: c.name, Sample: i + 1, Crossed: c.samples[i],
				SRTT: at.srtt, RTTVar: at.rttvar, RTO: at.rto})
		}
	}
	return all
}
