package judge

import (
	"math"

	"tcpwheel/wheel/stat"
)

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
