package experiments

import (
	"math"

	"tcpwheel/wheel/stat"
)

// Select returns the items that keep accepts, in their order.
func Select[T any](all []T, keep func(*T) bool) (kept []T) {
	for i := range all {
		if keep(&all[i]) {
			kept = append(kept, all[i])
		}
	}
	return kept
}

// Group is the items with one key.
type Group[K comparable, T any] struct {
	Key   K
	Items []T
}

// GroupBy groups items by a key, in order of first occurrence.
func GroupBy[K comparable, T any](all []T, key func(*T) K) (groups []Group[K, T]) {
	index := map[K]int{}
	for i := range all {
		k := key(&all[i])
		at, ok := index[k]
		if !ok {
			at = len(groups)
			index[k], groups = at, append(groups, Group[K, T]{Key: k})
		}
		groups[at].Items = append(groups[at].Items, all[i])
	}
	return groups
}

// Values returns a number of each item.
func Values[T any](all []T, of func(*T) float64) []float64 {
	values := make([]float64, len(all))
	for i := range all {
		values[i] = of(&all[i])
	}
	return values
}

// MeanOf returns the mean of a number over the items, with its 95 % interval. The items are taken
// as independent, as runs under different seeds are.
func MeanOf[T any](all []T, of func(*T) float64) stat.Interval {
	return stat.BootstrapMean(Values(all, of), 1)
}

// SamplesBySeed returns the samples of the items, a group for each seed, as stat.Bootstrap takes
// them.
func SamplesBySeed[T, S any](all []T, seed func(*T) int, samples func(*T) []S) (groups [][]S) {
	for _, g := range GroupBy(all, seed) {
		var of []S
		for i := range g.Items {
			of = append(of, samples(&g.Items[i])...)
		}
		groups = append(groups, of)
	}
	return groups
}

// Farthest keeps the ratio that is farthest from 1.
type Farthest struct {
	Ratio float64
	Seen  bool
}

// Add takes a ratio of a measured to an expected number.
func (f *Farthest) Add(ratio float64) {
	if !f.Seen || math.Abs(ratio-1) > math.Abs(f.Ratio-1) {
		f.Ratio, f.Seen = ratio, true
	}
}
