package stat

import "math"

// Line returns the least-squares line through points and R², the share of the variance of y that it
// explains. R² is 1 if all y are equal. x needs two different values; otherwise all results are
// NaN.
func Line(x, y []float64) (slope, intercept, r2 float64) {
	mx, my := Mean(x), Mean(y)
	var xx, xy, yy float64
	for i := range x {
		dx, dy := x[i]-mx, y[i]-my
		xx, xy, yy = xx+float64(dx*dx), xy+float64(dx*dy), yy+float64(dy*dy)
	}
	if xx == 0 || len(x) == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	slope = xy / xx
	if yy == 0 {
		return slope, my, 1
	}
	return slope, my - float64(slope*mx), xy * xy / (xx * yy)
}
