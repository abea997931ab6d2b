package wheelbench

import (
	"cmp"
	"slices"
	"testing"

	"tcpwheel/wheel"
)

// BenchmarkLimit does what no timer facility can leave out: START and STOP only write the deadline
// of a record of 16 bytes, as small as that of scheme6, and the order of expiry is known.
func BenchmarkLimit(b *testing.B) {
	const n = 1_000_000
	recs, order := make([]struct{ deadline, _ wheel.Time }, n), make([]int, n)
	fill := func(rng *wyrand) {
		for i := range recs {
			recs[i].deadline = wheel.Time(interval(rng.next()))
		}
	}
	b.Run("work=rearm", func(b *testing.B) {
		rng := newWyrand(1)
		for b.Loop() {
			r := rng.next()
			recs[below(r, n)].deadline = wheel.Time(interval(r))
		}
	})
	b.Run("work=expire", func(b *testing.B) {
		rng := newWyrand(1)
		fill(&rng)
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(recs[i].deadline, recs[j].deadline) })
		for b.Loop() {
			fill(&rng)
			for _, i := range order {
				recs[i].deadline = -1
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/timer")
	})
}
