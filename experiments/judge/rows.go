package judge

import "tcpwheel/wheel/stat"

// Where returns the rows that keep accepts, in order.
func Where[R any](rows []R, keep func(*R) bool) (kept []R) {
	for i := range rows {
		if keep(&rows[i]) {
			kept = append(kept, rows[i])
		}
	}
	return kept
}

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

// Crossing returns the x at which the line through points first reaches a level, x rising. It
// reports whether it does.
func Crossing(x, y []float64, level float64) (at float64, ok bool) {
	for i := range x {
		if y[i] == level {
			return x[i], true
		}
		if i > 0 && (y[i-1] < level) != (y[i] < level) {
			share := (level - y[i-1]) / (y[i] - y[i-1])
			return x[i-1] + float64(share*(x[i]-x[i-1])), true
		}
	}
	return 0, false
}
