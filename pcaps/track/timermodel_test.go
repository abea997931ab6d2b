package track

import (
	"testing"
	"time"
)

// TestDelayedACKs infers the timer of a receiver that delays ACKs.
func TestDelayedACKs(t *testing.T) {
	for name, test := range map[string]struct {
		delay func(i int) float64
		want  string
	}{
		"fixed":     {func(i int) float64 { return 40 + float64(i%3)/10 }, "fixed"},
		"heartbeat": {func(i int) float64 { return float64(10 + i*37%190) }, "heartbeat"},
	} {
		l := newLab(t, Config{})
		l.open(0)
		l.send(60, true, 1, 100, 1)
		l.send(110, false, 1, 0, 101)
		for i := range 40 {
			at := 1000 * float64(i+1)
			l.send(at, true, 101+100*i, 100, 1)
			l.send(at+50+test.delay(i), false, 1, 0, 201+100*i)
		}
		d := l.wantClean(1)[0].Flows[0].Delayed
		if d.Timer != test.want || d.Count < 30 {
			t.Errorf("%s: %+v, want %s", name, d, test.want)
		}
		if name == "fixed" && (d.Median < 39*time.Millisecond || d.Median > 41*time.Millisecond) {
			t.Errorf("median %v, want 40ms", d.Median)
		}
	}
}
