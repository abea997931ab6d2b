package judge

import "tcpwheel/wheel/stat"

// Resampled returns a measure of the rows, with the 95 % interval of the percentile bootstrap over
// the values of a key, such as the seed. A draw whose measure is NaN does not count.
func Resampled[K comparable, R any](rows []R, key func(*R) K, of func(rows []R) float64) stat.Interval {
	var groups [][]R
	for _, g := range By(rows, key) {
		groups = append(groups, g.Rows)
	}
	return stat.Bootstrap(groups, 1, of)
}

// MeanOver is Resampled for the mean of a number of the rows.
func MeanOver[K comparable, R any](rows []R, key func(*R) K, of func(*R) float64) stat.Interval {
	var groups [][]float64
	for _, g := range By(rows, key) {
		groups = append(groups, Values(g.Rows, of))
	}
	return stat.Bootstrap(groups, 1, stat.Mean[float64])
}
