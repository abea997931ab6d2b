package stat

import (
	"math"
	"math/rand/v2"
)

// Package math has code for each kind of processor, and the compiler fuses x*y + z where the
// processor can. Both change the last digit between machines. The functions here use single
// operations, whose results IEEE 754 prescribes. A conversion to float64 prevents fusion.

const (
	ln2Hi = 6.93147180369123816490e-01 // ln 2 to 33 bits: products with small whole numbers are exact
	ln2Lo = 1.90821492927058770002e-10 // the rest
)

// Log returns the natural logarithm of x > 0, the same on all machines. Its relative error is at
// most 4·10^-16.
func Log(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 1) {
		return math.NaN()
	}
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		e--
	}
	// ln m = 2·artanh(s), s at most 0.172: eleven terms reach the last bit.
	s := (m - 1) / (m + 1)
	square := float64(s * s)
	sum := 0.0
	for k := 23; k >= 3; k -= 2 {
		sum = float64(square * (1/float64(k) + sum))
	}
	k := float64(e)
	return float64(k*ln2Hi) + (float64(2*s) + (float64(float64(2*s)*sum) + float64(k*ln2Lo)))
}

// Exp returns e^x for x from -700 to 700, the same on all machines. Its relative error is at most
// 10^-15. Below -700 it is 0.
func Exp(x float64) float64 {
	switch {
	case x < -700:
		return 0
	case !(x <= 700):
		return math.NaN()
	}
	k := math.Round(x / math.Ln2)
	r := (x - float64(k*ln2Hi)) - float64(k*ln2Lo)
	sum := 1.0
	for i := 16; i >= 1; i-- {
		sum = 1 + float64(r*sum)/float64(i)
	}
	return math.Ldexp(sum, int(k))
}

// Power returns x^n for n ≥ 0 by squaring, the same on all machines. It costs O(log n).
func Power(x float64, n int) float64 {
	p := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			p *= x
		}
		x *= x
	}
	return p
}

// Exponential draws from the exponential distribution with mean 1, the same on all machines.
func Exponential(r *rand.Rand) float64 { return -Log(1 - float64(r.Float64())) }

// Normal draws from the standard normal distribution, the same on all machines. It uses Marsaglia's
// polar method (G. Marsaglia and T. Bray, SIAM Review 6, 1964).
func Normal(r *rand.Rand) float64 {
	for {
		u, v := float64(2*float64(r.Float64()))-1, float64(2*float64(r.Float64()))-1
		if s := float64(u*u) + float64(v*v); s > 0 && s < 1 {
			return u * math.Sqrt(float64(-2*Log(s))/s)
		}
	}
}

// NormalTail returns the probability that a standard normal deviate exceeds z ≥ 0, the same on all
// machines. Its absolute error is at most 7.5·10^-8 (M. Abramowitz and I. Stegun, Handbook of
// Mathematical Functions, 26.2.17).
func NormalTail(z float64) float64 {
	t := 1 / (1 + float64(0.2316419*z))
	sum := 0.0
	for _, b := range []float64{1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.319381530} {
		sum = float64(t * (b + sum))
	}
	return float64(Exp(-float64(z*z)/2) * 0.3989422804014327 * sum)
}
