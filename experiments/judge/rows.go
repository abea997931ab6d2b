package judge

import (
	"cmp"
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
