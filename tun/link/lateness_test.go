package link

import (
	"testing"
	"time"
)

func TestLateness(t *testing.T) {
	for c := range 8 * 60 {
		if least(c) >= least(c+1) || class(least(c)) != c || class(least(c+1)-1) != c {
			t.Fatalf("class %d is [%d, %d), and its bounds are of classes %d and %d", c, least(c), least(c+1), class(least(c)), class(least(c+1)-1))
		}
	}
	var l lateness
	if l.quantile(0.5) != 0 {
		t.Error("none are late")
	}
	for i := range 1000 {
		l.add(time.Duration(i+1) * time.Microsecond)
	}
	for _, test := range []struct {
		q    float64
		want time.Duration
	}{{0.5, 500 * time.Microsecond}, {0.99, 990 * time.Microsecond}, {1, time.Millisecond}} {
		if got := l.quantile(test.q); got < test.want || got > test.want*9/8+time.Microsecond {
			t.Errorf("quantile %v is %v, want %v or up to an eighth more", test.q, got, test.want)
		}
	}
	l.add(-time.Second)
	if l.max != time.Millisecond {
		t.Errorf("max %v", l.max)
	}
}
