package cli

import "testing"

// TestRarely checks how far memory may grow before a collection.
func TestRarely(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{{0, 1700}, {16 << 20, 1700}, {32 << 20, 1600}, {128 << 20, 400}, {256 << 20, 200}, {512 << 20, 100}, {4 << 30, 100}} {
		if got := rarely(c.live); got != c.want {
			t.Errorf("rarely(%d MB) = %d %%, want %d", c.live>>20, got, c.want)
		}
	}
}
