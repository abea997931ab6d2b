package stopwatch

import (
	"testing"
	"time"
)

func TestLateness(t *testing.T) {
	end := Lateness()
	time.Sleep(20 * time.Millisecond)
	if median, most := end(); median < 0 || most < median {
		t.Errorf("late by %v in the median, %v at most", median, most)
	}
	Lateness()() // ends though it has seen nothing
}
