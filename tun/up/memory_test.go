package up

import "testing"

// TestIdleMemory checks when memory is returned: in the first quiet period after much was
// allocated, and again when TIME-WAIT is over.
func TestIdleMemory(t *testing.T) {
	var m idleMemory
	const mb = 1 << 20
	moved, allocated := uint64(0), uint64(0)
	period := func(traffic, heap uint64) bool {
		moved, allocated = moved+traffic, allocated+heap
		return m.due(moved, allocated)
	}
	for _, step := range []struct {
		what          string
		periods       int
		traffic, heap uint64
		want          int // times that memory is returned
	}{
		{"nothing was allocated", 100, 0, 0, 0},
		{"little was allocated", 5, 1000, 3 * mb, 0},
		{"a transfer", 10, 50 * mb, 100 * mb, 0},
		{"the first quiet period", 1, 1000, mb, 1},
		{"until TIME-WAIT is over", releaseAgain - 1, 1000, 1000, 0},
		{"then again", 1, 0, 0, 1},
		{"and not again", 100, 0, 0, 0},
	} {
		n := 0
		for range step.periods {
			if period(step.traffic, step.heap) {
				n++
			}
		}
		if n != step.want {
			t.Errorf("%s: memory was returned %d times, want %d", step.what, n, step.want)
		}
	}
}
