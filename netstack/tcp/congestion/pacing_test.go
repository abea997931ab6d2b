package congestion

import (
	"math"
	"testing"
	"time"

	"tcpwheel/wheel"
)

func TestPacingRate(t *testing.T) {
	// RFC 9002 §7.7: cwnd per smoothed RTT, times a small factor; the factors are Linux's.
	for _, test := range []struct {
		cwnd, ssthresh uint32
		srtt           time.Duration
		want           uint64
		ok             bool
	}{
		{10000, math.MaxUint32, 100 * time.Millisecond, 200000, true},
		{10000, 20000, 100 * time.Millisecond, 120000, true},
		{9999, 20000, time.Second, 19998, true},
		{10000, 5000, 0, 0, false},
		{1, 1, math.MaxInt64, 1, true},
		{maxWindow, 1, 1, maxWindow * 1200000000, true},
	} {
		if got, ok := PacingRate(test.cwnd, test.ssthresh, test.srtt); got != test.want || ok != test.ok {
			t.Errorf("PacingRate(%d, %d, %v) = %d, %v, want %d", test.cwnd, test.ssthresh, test.srtt, got, ok, test.want)
		}
	}
}

func TestPacer(t *testing.T) {
	var p Pacer
	if p.Next(5) != 5 {
		t.Error("the first segment waits")
	}
	p.OnSent(0, 1000, 1000000)
	if got := p.Next(0); got != wheel.Time(time.Millisecond) {
		t.Errorf("next departure %v, want 1ms", got)
	}
	p.OnSent(0, 1, 3) // sent early: the debt adds up, and a third of a second rounds up
	if got, want := p.Next(0), wheel.Time(time.Millisecond+333333334); got != want {
		t.Errorf("next departure %v, want %v", got, want)
	}
	// A pause is followed by no burst.
	p.OnSent(wheel.Time(time.Hour), 1000, 1000)
	if got := p.Next(wheel.Time(time.Hour)); got != wheel.Time(time.Hour+time.Second) {
		t.Errorf("next departure %v", got)
	}
	p.OnSent(wheel.Time(2*time.Hour), math.MaxUint32, 1)
	p.OnSent(0, math.MaxUint32, 1)
	p.OnSent(0, math.MaxUint32, 1)
	p.OnSent(0, math.MaxUint32, 1)
	if got := p.Next(0); got != math.MaxInt64 {
		t.Errorf("next departure %v, want the end of time", got)
	}
	p.OnSent(7, 1, 0)
	if got := p.Next(0); got != 7 {
		t.Errorf("next departure %v without pacing", got)
	}
}
