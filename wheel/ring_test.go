package wheel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRing plays random insertions at both ends and in between, removals and drains on a ring and
// on a slice of slices.
func TestRing(t *testing.T) {
	if testing.Short() {
		t.Skip("same counts without the race detector, in a tenth of the time")
	}
	for _, slots := range []int{2, 4, 64, 128, 8192} {
		t.Run(fmt.Sprintf("slots=%d", slots), func(t *testing.T) {
			test := &ringTest{T: t, rng: rand.New(rand.NewPCG(uint64(slots), 0)), want: make([][]uint32, slots),
				a: newArena(slots), r: newRing(listFirst, slots)}
			for range 50 {
				timer, _ := test.a.alloc(0)
				test.idle = append(test.idle, timer)
			}
			steps := 3000
			if slots > 1000 && !long {
				steps = 500 // each compares all slots
			}
			for range steps {
				test.change()
				test.compare()
			}
		})
	}
}

type ringTest struct {
	*testing.T
	rng  *rand.Rand
	a    arena
	r    ring
	want [][]uint32 // the timers of each slot
	idle []uint32
}

// change does one random operation on the ring and on the slices.
func (test *ringTest) change() {
	slot := uint32(test.rng.IntN(len(test.want)))
	if test.rng.IntN(2) == 0 {
		slot %= 4 // so that slots fill
		slot &= test.r.mask
	}
	here := test.want[slot]
	switch op := test.rng.IntN(8); {
	case op < 4 && len(test.idle) > 0:
		timer, i := test.idle[0], test.rng.IntN(len(here)+1)
		test.idle = test.idle[1:]
		at := uint32(0)
		if i < len(here) {
			at = here[i]
		}
		test.r.insertBefore(&test.a, slot, at, timer)
		test.want[slot] = slices.Insert(here, i, timer)
	case op < 7 && len(here) > 0:
		i := test.rng.IntN(len(here))
		test.r.unlink(&test.a, here[i])
		test.idle = append(test.idle, here[i])
		test.want[slot] = slices.Delete(here, i, i+1)
	case op == 7:
		if n := test.r.drain(&test.a, slot, listDue); n != uint64(len(here)) {
			test.Fatalf("drain(%d) = %d, want %d", slot, n, len(here))
		}
		var drained []uint32
		for timer := test.a.popFront(listDue); timer != 0; timer = test.a.popFront(listDue) {
			drained = append(drained, timer)
		}
		if !slices.Equal(drained, here) {
			test.Fatalf("drained %v, want %v", drained, here)
		}
		test.idle = append(test.idle, drained...)
		test.want[slot] = nil
	}
}

// compare compares all slots, and the next busy slot after a random number.
func (test *ringTest) compare() {
	got := make([][]uint32, len(test.want))
	_, err := test.r.check(&test.a, func(slot, timer uint32) error {
		got[slot] = append(got[slot], timer)
		return nil
	})
	if err != nil {
		test.Fatal(err)
	}
	if !slices.EqualFunc(got, test.want, slices.Equal[[]uint32]) {
		test.Fatalf("slots hold %v, want %v", got, test.want)
	}
	n := test.rng.Uint64N(1 << 40)
	want := uint64(0)
	for k := n + 1; k <= n+uint64(len(got)) && want == 0; k++ {
		if len(got[test.r.slot(k)]) > 0 {
			want = k
		}
	}
	if next, ok := test.r.next(n); ok != (want != 0) || ok && next != want || ok == test.r.idle() {
		test.Fatalf("next(%d) = %d, %v, want %d", n, next, ok, want)
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
