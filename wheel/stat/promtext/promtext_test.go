package promtext

import (
	"errors"
	"strings"
	"testing"
)

// TestWrite wants families in order, sorted labels, escapes, and buckets that count all below them.
func TestWrite(t *testing.T) {
	h := NewHistogram(0.5, 2, 2)
	for _, v := range []float64{0.25, 0.5, 0.75, 8} {
		h.Observe(v)
	}
	var p Page
	p.Histogram("wait_seconds", "Waits.", h, "kind", "rto", "at", "a")
	p.Counter("b_total", "First\nand \\.", 1e6, "z", `"x"\`, "a", "1\n2")
	p.Gauge("a", "A gauge.", -0.5)
	p.Counter("b_total", "ignored", 2)
	var b strings.Builder
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	want := `# HELP a A gauge.
# TYPE a gauge
a -0.5
# HELP b_total First\nand \\.
# TYPE b_total counter
b_total{a="1\n2",z="\"x\"\\"} 1e+06
b_total 2
# HELP wait_seconds Waits.
# TYPE wait_seconds histogram
wait_seconds_bucket{at="a",kind="rto",le="0.5"} 2
wait_seconds_bucket{at="a",kind="rto",le="1"} 3
wait_seconds_bucket{at="a",kind="rto",le="+Inf"} 4
wait_seconds_sum{at="a",kind="rto"} 9.5
wait_seconds_count{at="a",kind="rto"} 4
`
	if b.String() != want {
		t.Errorf("wrote\n%s\nwant\n%s", &b, want)
	}
	if err := p.Write(failing{}); err == nil {
		t.Error("no error of a writer that fails")
	}
	if n := testing.AllocsPerRun(100, func() { h.Observe(1) }); n > 0 {
		t.Errorf("Observe allocates %v times", n)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("full") }

// TestMisuse: wrong buckets, and a name of two kinds, are faults of the program.
func TestMisuse(t *testing.T) {
	for name, wrong := range map[string]func(){
		"no buckets":   func() { NewHistogram(1, 2, 0) },
		"no growth":    func() { NewHistogram(1, 1, 3) },
		"from nothing": func() { NewHistogram(0, 2, 3) },
		"two kinds": func() {
			var p Page
			p.Gauge("a", "", 1)
			p.Counter("a", "", 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			wrong()
		})
	}
}
