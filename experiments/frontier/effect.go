package frontier

import (
	"cmp"

	"tcpwheel/experiments/judge"
	"tcpwheel/wheel/stat"
)

// effect is by how much a factor moves the wait, greatest by least, and the bad timeouts, greatest
// less least.
type effect struct{ times, points float64 }

// effectOf returns the effect of the levels of a factor: the mean over what is fixed, in rising
// order.
func effectOf[F cmp.Ordered, L comparable, R any](rows []R, fixed func(*R) F, level func(*R) L,
	of func(rows []R) (wait, bad float64)) effect {
	var times, points []float64
	for _, g := range judge.Along(rows, fixed) {
		var most, least [2]float64
		for i, l := range judge.By(g.Rows, level) {
			wait, bad := of(l.Rows)
			if i == 0 {
				most, least = [2]float64{wait, bad}, [2]float64{wait, bad}
			}
			most = [2]float64{max(most[0], wait), max(most[1], bad)}
			least = [2]float64{min(least[0], wait), min(least[1], bad)}
		}
		times, points = append(times, most[0]/least[0]), append(points, most[1]-least[1])
	}
	return effect{stat.Mean(times), stat.Mean(points)}
}

// alone fixes nothing: a factor is compared at one place.
func alone[R any](*R) int { return 0 }
