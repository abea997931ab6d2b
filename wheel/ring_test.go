package wheel

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestRing(t *testing.T) {
	if testing.Short() {
		t.Skip("same counts without the race detector, in a tenth of the time")
	}
	// A ring against a slice of slices: random insertions at both ends and in between, removals,
	// drains.
	for _, slots := range []int{2, 4, 64, 128, 8192} {
		random := rand.New(rand.NewPCG(uint64(slots), 0))
		a := newArena(slots)
		r := newRing(listFirst, slots)
		want := make([][]uint32, slots)
		var idle []uint32
		for range 50 {
			timer, _ := a.alloc(0)
			idle = append(idle, timer)
		}
		for range 3000 {
			slot := uint32(random.IntN(slots))
			if random.IntN(2) == 0 {
				slot %= 4 // so that slots fill
				slot &= r.mask
			}
			here := want[slot]
			switch op := random.IntN(8); {
			case op < 4 && len(idle) > 0:
				timer, i := idle[0], random.IntN(len(here)+1)
				idle = idle[1:]
				at := uint32(0)
				if i < len(here) {
					at = here[i]
				}
				r.insertBefore(&a, slot, at, timer)
				want[slot] = slices.Insert(here, i, timer)
			case op < 7 && len(here) > 0:
				i := random.IntN(len(here))
				r.unlink(&a, here[i])
				idle = append(idle, here[i])
				want[slot] = slices.Delete(here, i, i+1)
			case op == 7:
				if n := r.drain(&a, slot, listDue); n != uint64(len(here)) {
					t.Fatalf("%d slots: drain(%d) = %d, want %d", slots, slot, n, len(here))
				}
				var drained []uint32
				for timer := a.popFront(listDue); timer != 0; timer = a.popFront(listDue) {
					drained = append(drained, timer)
				}
				if !slices.Equal(drained, here) {
					t.Fatalf("%d slots: drained %v, want %v", slots, drained, here)
				}
				idle = append(idle, drained...)
				want[slot] = nil
			}
			got := make([][]uint32, slots)
			_, err := r.check(&a, func(slot, timer uint32) error {
				got[slot] = append(got[slot], timer)
				return nil
			})
			if err != nil {
				t.Fatalf("%d slots: %v", slots, err)
			}
			if !slices.EqualFunc(got, want, slices.Equal[[]uint32]) {
				t.Fatalf("%d slots: %v, want %v", slots, got, want)
			}
			n := random.Uint64N(1 << 40)
			wantNext := uint64(0)
			for k := n + 1; k <= n+uint64(slots) && wantNext == 0; k++ {
				if len(want[r.slot(k)]) > 0 {
					wantNext = k
				}
			}
			if next, ok := r.next(n); ok != (wantNext != 0) || ok && next != wantNext || ok == r.idle() {
				t.Fatalf("%d slots: next(%d) = %d, %v, want %d", slots, n, next, ok, wantNext)
			}
		}
	}
}

func TestRingSkipsWholeRotations(t *testing.T) {
	r := newRing(listFirst, 8)
	for _, c := range []struct{ n, last, want uint64 }{
		{5, 5, 5}, {5, 12, 5}, {5, 13, 13}, {5, 20, 13}, {0, 1<<63 - 1, 1<<63 - 8}, {3, 1 << 63, 1<<63 - 5},
	} {
		if got := r.skip(c.n, c.last); got != c.want {
			t.Errorf("skip(%d, %d) = %d, want %d", c.n, c.last, got, c.want)
		}
	}
}
