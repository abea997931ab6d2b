package judge

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"time"

	"tcpwheel/wheel/stat"
)

// Where returns the rows that keep accepts, in order.
func Where[R any](rows []R, keep func(*R) bool) (kept []R) {
	for i := range rows {
		if keep(&rows[i]) {
			kept = append(kept, rows[i])
		}
	}
	return kept
}

// Count returns how many rows keep accepts.
func Count[R any](rows []R, keep func(*R) bool) (n int) {
	for i := range rows {
		if keep(&rows[i]) {
			n++
		}
	}
	return n
}

// All reports whether holds accepts each row, as it does without rows.
func All[R any](rows []R, holds func(*R) bool) bool { return Count(rows, holds) == len(rows) }

// Values returns a number of each row.
func Values[R any](rows []R, of func(*R) float64) []float64 {
	values := make([]float64, len(rows))
	for i := range rows {
		values[i] = of(&rows[i])
	}
	return values
}

// Mean returns the mean of a number of the rows, NaN without rows.
func Mean[R any](rows []R, of func(*R) float64) float64 { return stat.Mean(Values(rows, of)) }

// Sum returns the sum of a number of the rows.
func Sum[N int | float64, R any](rows []R, of func(*R) N) (sum N) {
	for i := range rows {
		sum += of(&rows[i])
	}
	return sum
}

// Most returns the first row with the greatest number, nil without rows. The least one is that of
// the negative number.
func Most[R any](rows []R, of func(*R) float64) (most *R) {
	for i := range rows {
		if most == nil || of(&rows[i]) > of(most) {
			most = &rows[i]
		}
	}
	return most
}

// Group is the rows with one key.
type Group[K comparable, R any] struct {
	Key  K
	Rows []R
}

// By returns the rows in groups, in the order of the first row of each.
func By[K comparable, R any](rows []R, key func(*R) K) (groups []Group[K, R]) {
	index := map[K]int{}
	for i := range rows {
		k := key(&rows[i])
		at, ok := index[k]
		if !ok {
			at = len(groups)
			index[k], groups = at, append(groups, Group[K, R]{Key: k})
		}
		groups[at].Rows = append(groups[at].Rows, rows[i])
	}
	return groups
}

// Along is By with rising keys: the values of an axis.
func Along[K cmp.Ordered, R any](rows []R, key func(*R) K) []Group[K, R] {
	groups := By(rows, key)
	slices.SortStableFunc(groups, func(a, b Group[K, R]) int { return cmp.Compare(a.Key, b.Key) })
	return groups
}

// Keys returns the keys of groups.
func Keys[K comparable, R any](groups []Group[K, R]) (keys []K) {
	for i := range groups {
		keys = append(keys, groups[i].Key)
	}
	return keys
}

// Ms returns a duration in milliseconds.
func Ms(d time.Duration) float64 { return float64(d) / 1e6 }

// Seeds is the least number of values whose interval a published claim may rest on.
const Seeds = 20

// t975 are the 97.5 % quantiles of Student's distribution with 1 to 30 degrees of freedom.
var t975 = [...]float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
	2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042}

// quantile returns the 97.5 % quantile of Student's distribution. Above 30 degrees of freedom it
// is the first terms of R. Fisher's expansion, right to three digits.
func quantile(freedom int) float64 {
	if freedom <= len(t975) {
		return t975[freedom-1]
	}
	const z, first, second = 1.95996, 2.3722, 2.8225 // (z³+z)/4, (5z⁵+16z³+3z)/96
	n := float64(freedom)
	return z + first/n + second/(n*n)
}

// deviation returns the mean of values and its standard error.
func deviation(values []float64) (mean, se float64) {
	mean = stat.Mean(values)
	sum := 0.0
	for _, x := range values {
		sum += float64((x - mean) * (x - mean))
	}
	n := float64(len(values))
	return mean, math.Sqrt(sum / (n - 1) / n)
}

// Student returns the mean with Student's interval. With one value the bounds equal it.
func Student(values []float64) stat.Interval {
	if len(values) < 2 {
		m := stat.Mean(values)
		return stat.Interval{Value: m, Lo: m, Hi: m}
	}
	mean, se := deviation(values)
	half := float64(quantile(len(values)-1) * se)
	return stat.Interval{Value: mean, Lo: mean - half, Hi: mean + half}
}

// Ratio returns the sum of top over the sum of bottom, which are pairs, with the interval of its
// linear approximation: that of the mean of top - ratio·bottom, over the mean of bottom (W.
// Cochran, Sampling Techniques, 1977, section 6.4).
func Ratio(top, bottom []float64) stat.Interval {
	mean := stat.Mean(bottom)
	ratio := stat.Mean(top) / mean
	rest := make([]float64, len(top))
	for i := range top {
		rest[i] = (top[i] - float64(ratio*bottom[i])) / mean
	}
	in := Student(rest)
	half := math.Abs(in.Hi-in.Lo) / 2
	return stat.Interval{Value: ratio, Lo: ratio - half, Hi: ratio + half}
}

// Jackknife returns a measure of all values, with Student's interval over independent groups of
// them, such as those of a seed: each group is left out once (R. Miller, "The jackknife: a review",
// Biometrika 61(1), 1974). For the mean of groups of one it is Student. A group without which the
// measure is NaN does not count.
func Jackknife[T any](groups [][]T, of func(all []T) float64) stat.Interval {
	var all []T
	for _, g := range groups {
		all = append(all, g...)
	}
	whole, n := of(all), float64(len(groups))
	var pseudo []float64
	rest := make([]T, 0, len(all))
	for i := range groups {
		rest = rest[:0]
		for k, g := range groups {
			if k != i {
				rest = append(rest, g...)
			}
		}
		if len(groups) == 1 {
			rest = all
		}
		if x := of(rest); x == x {
			pseudo = append(pseudo, float64(n*whole)-float64((n-1)*x))
		}
	}
	in := Student(pseudo)
	half := (in.Hi - in.Lo) / 2
	return stat.Interval{Value: whole, Lo: whole - half, Hi: whole + half}
}

// Resampled is Jackknife for rows, which are independent by the values of a key, such as the seed.
func Resampled[K comparable, R any](rows []R, key func(*R) K, of func(rows []R) float64) stat.Interval {
	var groups [][]R
	for _, g := range By(rows, key) {
		groups = append(groups, g.Rows)
	}
	return Jackknife(groups, of)
}

// MeanOver is Resampled for the mean of a number of the rows.
func MeanOver[K comparable, R any](rows []R, key func(*R) K, of func(*R) float64) stat.Interval {
	return Resampled(rows, key, func(rows []R) float64 { return Mean(rows, of) })
}

// Drawn is Resampled by the percentile bootstrap, for a measure that jumps, such as the first place
// where a share is reached: leaving a seed out seldom moves it, so a jackknife shows no spread.
func Drawn[K comparable, R any](rows []R, key func(*R) K, of func(rows []R) float64) stat.Interval {
	var groups [][]R
	for _, g := range By(rows, key) {
		groups = append(groups, g.Rows)
	}
	return stat.Bootstrap(groups, 1, of)
}

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

// Shapley is what one of several changes contributes to the difference that all make together.
type Shapley struct {
	Value float64 // the mean over all orders in which the changes may be made
	First float64 // made before all others
	Last  float64 // made after all others
}

// Contributions returns what each of n changes contributes. of is the result after the changes in
// a set, whose bit i is change i; a contribution is by how much a change lowers it. The values add
// up to of(none) - of(all) (L. Shapley, "A value for n-person games", 1953). It costs n·2^n calls
// of of.
func Contributions(n int, of func(set uint) float64) []Shapley {
	factorial := make([]float64, n+1)
	factorial[0] = 1
	for i := 1; i <= n; i++ {
		factorial[i] = float64(i) * factorial[i-1]
	}
	all := make([]Shapley, n)
	for i := range all {
		bit := uint(1) << i
		for set := range uint(1) << n {
			if set&bit != 0 {
				continue
			}
			gain := of(set) - of(set|bit)
			k := bits.OnesCount(set)
			all[i].Value += float64(factorial[k] * factorial[n-k-1] / factorial[n] * gain)
			if k == 0 {
				all[i].First = gain
			}
			if k == n-1 {
				all[i].Last = gain
			}
		}
	}
	return all
}
