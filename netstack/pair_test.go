package netstack

import (
	"fmt"
	"testing"
)

// TestExchange sends in both directions at once between our TCP and itself, and ours and gVisor's.
func TestExchange(t *testing.T) {
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			families(t, func(t *testing.T, v6 bool) {
				for _, size := range []int{0, 1, 1460, 100_000, 3 << 20} {
					t.Run(fmt.Sprint(size), func(t *testing.T) {
						n := newPair(t, pairConfig{a: p.a, b: p.b})
						a, b := n.connect(v6)
						exchange(t, a, b, size)
					})
				}
			})
		})
	}
}
