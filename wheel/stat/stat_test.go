package stat

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestQuantileIsOneOfTheValues(t *testing.T) {
	all := []time.Duration{30, 10, 20, 40}
	for _, c := range []struct{ q, want float64 }{{0, 10}, {0.25, 10}, {0.26, 20}, {0.5, 20}, {0.75, 30}, {0.99, 40}, {1, 40}} {
		if got := Quantile(all, c.q); got != c.want {
			t.Errorf("Quantile(%v) = %v, want %v", c.q, got, c.want)
		}
	}
	if all[0] != 30 {
		t.Error("Quantile has sorted the values of its caller")
	}
	if got := Quantile([]int{}, 0.5); got == got {
		t.Errorf("Quantile of nothing = %v, want NaN", got)
	}
}

func TestBootstrapCovers(t *testing.T) {
	// Of 200 samples of 50 normal deviates about 95 % of the intervals hold the true mean.
	rng := rand.New(rand.NewPCG(1, 2))
	covered := 0
	for i := range uint64(200) {
		values := make([]float64, 50)
		for j := range values {
			values[j] = rng.NormFloat64() + 3
		}
		in := BootstrapMean(values, i)
		if in.Lo > in.Value || in.Value > in.Hi {
			t.Fatalf("interval %v does not hold its own value", in)
		}
		if in.Lo <= 3 && 3 <= in.Hi {
			covered++
		}
	}
	if covered < 180 || covered > 199 {
		t.Errorf("%d of 200 intervals hold the mean, want about 190", covered)
	}
}

func TestBootstrapDrawsGroupsWhole(t *testing.T) {
	// Ten equal values of each of two groups: the mean of what is drawn is one of three.
	groups := [][]float64{{0, 0, 0, 0, 0}, {1, 1, 1, 1, 1}}
	got := Bootstrap(groups, 1, Mean[float64])
	if got != (Interval{0.5, 0, 1}) {
		t.Errorf("interval = %v, want 0.5, 0 to 1", got)
	}
	if again := Bootstrap(groups, 1, Mean[float64]); again != got {
		t.Errorf("the same seed gives %v and %v", got, again)
	}
}

// TestBootstrapQuantile: it gives what Bootstrap gives with Quantile.
func TestBootstrapQuantile(t *testing.T) {
	var groups [][]int64
	for g := range int64(7) {
		var values []int64
		for i := range 30 + g {
			values = append(values, (i*7919+g*104729)%1000)
		}
		groups = append(groups, values)
	}
	for _, q := range []float64{0, 0.5, 0.95, 0.99, 1} {
		got := BootstrapQuantile(groups, 3, q)
		want := Bootstrap(groups, 3, func(all []int64) float64 { return Quantile(all, q) })
		if got != want {
			t.Errorf("quantile %v is %+v, want %+v", q, got, want)
		}
	}
	if in := BootstrapQuantile([][]int64{nil, {}}, 3, 0.5); in.Value == in.Value {
		t.Errorf("the quantile of nothing is %v", in)
	}
}

func TestKolmogorovSmirnov(t *testing.T) {
	uniform := func(x float64) float64 { return min(max(x, 0), 1) }
	rng := rand.New(rand.NewPCG(1, 2))
	rejected := 0
	for range 200 {
		values := make([]float64, 500)
		for i := range values {
			values[i] = rng.Float64()
		}
		if _, p := KolmogorovSmirnov(values, uniform); p < 0.05 {
			rejected++
		}
		for i := range values {
			values[i] = values[i] * values[i]
		}
		if _, p := KolmogorovSmirnov(values, uniform); p > 1e-6 {
			t.Fatalf("squares of uniform numbers pass for uniform, p %v", p)
		}
	}
	if rejected < 2 || rejected > 20 {
		t.Errorf("%d of 200 uniform samples are rejected at 5 %%, want about 10", rejected)
	}
	// The 5 % point of the asymptotic distribution is 1.358 (N. Smirnov, 1948).
	even := make([]float64, 10000)
	for i := range even {
		even[i] = (float64(i) + 0.5) / 10000
	}
	if d, p := KolmogorovSmirnov(even, uniform); d > 1e-4 || p != 1 {
		t.Errorf("even values: d %v, p %v", d, p)
	}
}

// TestRank checks definition 1 of Hyndman and Fan where q·n is whole, and where rounding puts it
// above a whole number.
func TestRank(t *testing.T) {
	for _, c := range []struct {
		n    int
		q    float64
		want int
	}{{1, 0, 0}, {4, 0.5, 1}, {5, 0.5, 2}, {20, 0.95, 18}, {100, 0.07, 6}, {100, 0.071, 7}, {3, 1, 2}} {
		if got := Rank(c.n, c.q); got != c.want {
			t.Errorf("Rank(%d, %v) = %d, want %d", c.n, c.q, got, c.want)
		}
	}
}
