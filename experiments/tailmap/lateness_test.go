package tailmap

import (
	"testing"
	"time"
)

func TestLateness(t *testing.T) {
	end := lateness()
	time.Sleep(20 * time.Millisecond)
	if median, most := end(); median < 0 || most < median {
		t.Errorf("late by %v in the median, %v at most", median, most)
	}
	lateness()() // ends without a measurement
}
