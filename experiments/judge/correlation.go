package judge

import (
	"math"
	"slices"

	"tcpwheel/wheel/stat"
)

// RankCorrelation returns Spearman's rank correlation of pairs, with ties in the middle; 0 of a
// constant.
func RankCorrelation(x, y []float64) float64 {
	a, b := ranks(x), ranks(y)
	ma, mb := stat.Mean(a), stat.Mean(b)
	var ab, aa, bb float64
	for i := range a {
		da, db := a[i]-ma, b[i]-mb
		ab, aa, bb = ab+float64(da*db), aa+float64(da*da), bb+float64(db*db)
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return ab / math.Sqrt(aa*bb)
}

// ranks returns the place of each number among all in order; equal ones share the middle.
func ranks(all []float64) []float64 {
	sorted := slices.Sorted(slices.Values(all))
	out := make([]float64, len(all))
	for i, x := range all {
		lo, _ := slices.BinarySearch(sorted, x)
		hi := lo
		for hi+1 < len(sorted) && sorted[hi+1] == x {
			hi++
		}
		out[i] = float64(lo+hi) / 2
	}
	return out
}
