package quantity

import "testing"

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n          int
		noun, want string
	}{
		{0, "loss", "0 losses"}, {1, "loss", "1 loss"}, {7, "loss", "7 losses"}, {1, "recovery", "1 recovery"}, {2, "recovery", "2 recoveries"},
		{2, "window probe", "2 window probes"}, {-3, "byte", "-3 bytes"},
	} {
		if got := Count(c.n, c.noun); got != c.want {
			t.Errorf("Count(%d, %q) = %q, want %q", c.n, c.noun, got, c.want)
		}
	}
}
