package judge

import (
	"math"

	"tcpwheel/experiments"
	"tcpwheel/wheel/stat"
)

// Known is Said for numbers that a plan may lack: without one of them the claim does not apply.
func Known(format string, values ...any) experiments.Measure {
	for _, v := range values {
		x := 0.0
		switch v := v.(type) {
		case float64:
			x = v
		case stat.Interval:
			x = v.Value
		}
		if x != x {
			return experiments.Measured(math.NaN(), "")
		}
	}
	return Said(format, values...)
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
