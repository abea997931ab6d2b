package track

import (
	"math"
	"testing"
	"time"

	"tcpwheel/wheel"
)

// A sample gives back what it was made of. On a clock that jumps by centuries its RTT is 36 years.
func TestSampleInSixteenBytes(t *testing.T) {
	const most = math.MaxInt64 >> 3
	for rtt, want := range map[time.Duration]time.Duration{-1: 0, 1: 1, time.Second: time.Second, most: most, math.MaxInt64 - 5: most} {
		for expected := 1; expected <= 4; expected++ {
			for _, round := range []bool{false, true} {
				s := newSample(5, wheel.Time(5).Add(rtt), expected, round)
				if s.rtt() != want || s.acked() != wheel.Time(5).Add(want) || s.expected() != expected || s.round() != round {
					t.Errorf("a sample of %v with %d expected, %v, has %v until %v, %d, %v", rtt, expected, round, s.rtt(), s.acked(), s.expected(), s.round())
				}
			}
		}
	}
}
