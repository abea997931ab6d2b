package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestLogAndExp(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100000 {
		x := math.Ldexp(rng.Float64()+0.5, rng.IntN(200)-100)
		if got, want := Log(x), math.Log(x); math.Abs(got-want) > 4e-16*math.Max(math.Abs(want), 0.3) {
			t.Fatalf("Log(%v) = %v, want %v", x, got, want)
		}
		y := (rng.Float64() - 0.5) * 1400
		if got, want := Exp(y), math.Exp(y); math.Abs(got-want) > 1e-15*want {
			t.Fatalf("Exp(%v) = %v, want %v", y, got, want)
		}
	}
	if Log(1) != 0 || Exp(0) != 1 || Exp(-1000) != 0 {
		t.Errorf("Log(1) = %v, Exp(0) = %v, Exp(-1000) = %v", Log(1), Exp(0), Exp(-1000))
	}
	for _, x := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if got := Log(x); got == got {
			t.Errorf("Log(%v) = %v, want NaN", x, got)
		}
	}
}

func TestLogIsTheSameOnAllMachines(t *testing.T) {
	// The bits that amd64 gives, and every other machine must.
	for _, c := range []struct {
		x        float64
		log, exp uint64
	}{
		{0.1, 0xc0026bb1bbb55515, 0x3ff1aec7b35a00d4}, {0.7, 0xbfd6d3c324e13f50, 0x40001c2a61268987}, {3, 0x3ff193ea7aad030b, 0x403415e5bf6fb106}, {123.456, 0x401343774f3e2362, 0x4b11428e1cbc0143},
	} {
		if l, e := math.Float64bits(Log(c.x)), math.Float64bits(Exp(c.x)); l != c.log || e != c.exp {
			t.Errorf("x = %v: Log %#x, Exp %#x; want %#x, %#x", c.x, l, e, c.log, c.exp)
		}
	}
}

func TestPower(t *testing.T) {
	for _, c := range []struct {
		x    float64
		n    int
		want float64
	}{{2, 0, 1}, {2, 10, 1024}, {0.5, 3, 0.125}, {0, 0, 1}, {-3, 3, -27}} {
		if got := Power(c.x, c.n); got != c.want {
			t.Errorf("Power(%v, %d) = %v, want %v", c.x, c.n, got, c.want)
		}
	}
}

func TestDraws(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var exponential, normal []float64
	for range 5000 {
		exponential = append(exponential, Exponential(rng))
		normal = append(normal, Normal(rng))
	}
	if d, p := KolmogorovSmirnov(exponential, func(x float64) float64 { return 1 - Exp(-x) }); p < 0.01 {
		t.Errorf("exponential draws: d %v, p %v", d, p)
	}
	if d, p := KolmogorovSmirnov(normal, func(x float64) float64 { return (1 + math.Erf(x/math.Sqrt2)) / 2 }); p < 0.01 {
		t.Errorf("normal draws: d %v, p %v", d, p)
	}
}
