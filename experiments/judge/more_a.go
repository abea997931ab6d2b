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
