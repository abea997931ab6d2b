package judge

import "tcpwheel/wheel/stat"

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
