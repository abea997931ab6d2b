// Package stat has the statistics of measurements in all rooms: quantiles, bootstrap intervals and
// the Kolmogorov-Smirnov test. It is in the room that all others import. The same values and seed
// give the same result, to the last digit, on all machines.
package stat

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Number is a type of values. A time.Duration is one.
type Number interface {
	~int | ~int64 | ~uint64 | ~float64
}

// Mean returns the mean, NaN for no values.
func Mean[T Number](all []T) float64 {
	sum := 0.0
	for _, x := range all {
		sum += float64(x)
	}
	return sum / float64(len(all))
}

// Rank returns the index of the q-quantile among n > 0 sorted values: of the least value that a
// share q of all values does not exceed. It is definition 1 of R. Hyndman and Y. Fan, "Sample
// Quantiles in Statistical Packages" (The American Statistician 50(4), 1996), and the only one of
// this module. q = 0 gives the least, 1 the greatest.
func Rank(n int, q float64) int {
	const rounding = 1e-9 // q·n may exceed a whole number by rounding alone
	return min(max(int(math.Ceil(float64(q*float64(n))-rounding))-1, 0), n-1)
}

// Quantile returns the value at Rank, NaN for none. It does not change all, and costs O(n log n).
func Quantile[T Number](all []T, q float64) float64 {
	if len(all) == 0 {
		return math.NaN()
	}
	sorted := slices.Clone(all)
	slices.Sort(sorted)
	return float64(sorted[Rank(len(sorted), q)])
}

// Median is Quantile(all, 0.5).
func Median[T Number](all []T) float64 { return Quantile(all, 0.5) }

// Interval is a statistic with its 95 % interval.
type Interval struct {
	Value float64 `json:"value"`
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
}

// Times multiplies value and bounds by k, for another unit.
func (in Interval) Times(k float64) Interval { return Interval{k * in.Value, k * in.Lo, k * in.Hi} }

// resamples is the number of bootstrap samples.
const resamples = 1000

// Bootstrap returns statistic over all values, with its 95 % percentile-bootstrap interval: 1000
// times it draws as many groups as there are, with replacement, by seed. Groups must be independent
// of each other, such as the losses of one connection, or one seed. With one group the bounds equal
// the value.
func Bootstrap[T any](groups [][]T, seed uint64, statistic func([]T) float64) Interval {
	n := 0
	for _, g := range groups {
		n += len(g)
	}
	all := make([]T, 0, n)
	for _, g := range groups {
		all = append(all, g...)
	}
	out := Interval{Value: statistic(all)}
	out.Lo, out.Hi = out.Value, out.Value
	if len(groups) < 2 {
		return out
	}
	rng := rand.New(rand.NewPCG(seed, 0x5eed))
	drawn := make([]float64, 0, resamples)
	for range resamples {
		all = all[:0]
		for range groups {
			all = append(all, groups[rng.IntN(len(groups))]...)
		}
		if x := statistic(all); x == x {
			drawn = append(drawn, x)
		}
	}
	if len(drawn) == 0 {
		return out
	}
	slices.Sort(drawn)
	out.Lo, out.Hi = drawn[Rank(len(drawn), 0.025)], drawn[Rank(len(drawn), 0.975)]
	return out
}

// BootstrapMean is Bootstrap for the mean of single values.
func BootstrapMean(values []float64, seed uint64) Interval {
	groups := make([][]float64, len(values))
	for i := range values {
		groups[i] = values[i : i+1]
	}
	return Bootstrap(groups, seed, Mean[float64])
}

// BootstrapQuantile is Bootstrap for the q-quantile of all values. It sorts once, and costs O(n)
// for each draw.
func BootstrapQuantile[T Number](groups [][]T, seed uint64, q float64) Interval {
	type member struct {
		value T
		group int
	}
	var all []member
	which := make([][]int, len(groups))
	for g, values := range groups {
		which[g] = []int{g}
		for _, x := range values {
			all = append(all, member{x, g})
		}
	}
	slices.SortStableFunc(all, func(a, b member) int { return cmp.Compare(a.value, b.value) })
	weight := make([]int, len(groups)) // how often a draw has the group
	return Bootstrap(which, seed, func(drawn []int) float64 {
		clear(weight)
		n := 0
		for _, g := range drawn {
			weight[g]++
			n += len(groups[g])
		}
		if n == 0 {
			return math.NaN()
		}
		left := Rank(n, q)
		for _, m := range all {
			if left -= weight[m.group]; left < 0 {
				return float64(m.value)
			}
		}
		panic("BUG: stat: a rank beyond all values")
	})
}

// KolmogorovSmirnov returns the distance between the distribution of values and cdf, and the
// probability p of a distance at least as great if cdf is their distribution. It uses the
// asymptotic formula with Stephens' correction (M. Stephens, JASA 69, 1974).
func KolmogorovSmirnov(values []float64, cdf func(float64) float64) (d, p float64) {
	sorted := slices.Clone(values)
	slices.SortFunc(sorted, cmp.Compare[float64])
	n := float64(len(sorted))
	for i, x := range sorted {
		f := cdf(x)
		d = max(d, f-float64(i)/n, float64(i+1)/n-f)
	}
	root := math.Sqrt(n)
	lambda := float64((root + 0.12 + 0.11/root) * d)
	if lambda < 0.2 {
		return d, 1 // the series below converges slowly there, to 1 within 10^-12
	}
	sign := 1.0
	for k := 1.0; k <= 100; k++ {
		p += float64(sign * 2 * Exp(-2*k*k*lambda*lambda))
		sign = -sign
	}
	return d, min(max(p, 0), 1)
}
