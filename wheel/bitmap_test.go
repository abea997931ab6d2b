package wheel

import (
	"fmt"
	"math/rand"
	"testing"
)

// bitmapTwin is bitmap in the simplest code.
type bitmapTwin []bool

func (b bitmapTwin) next(i uint32) (uint32, bool) {
	for ; int(i) < len(b); i++ {
		if b[i] {
			return i, true
		}
	}
	return 0, false
}

func (b bitmapTwin) after(i, slots uint32) uint32 {
	for d := uint32(1); d <= slots; d++ {
		if b[(i+d)%slots] {
			return d
		}
	}
	return 0
}

func TestBitmapAgreesWithBools(t *testing.T) {
	for _, slots := range []uint32{2, 4, 32, 64, 128, 1 << 10, 1 << 12, 1 << 13, 1 << 18, 1 << 19} {
		t.Run(fmt.Sprintf("slots=%d", slots), func(t *testing.T) {
			test := &bitmapTest{T: t, slots: slots, bits: newBitmap(int(slots)), twin: make(bitmapTwin, slots)}
			rng := rand.New(rand.NewSource(int64(slots)))
			near := func(i uint32) uint32 { return (i + uint32(rng.Intn(5)) - 2) % slots }
			steps := 2000
			if slots > 1<<13 {
				steps = 300 // the twin looks at all slots
			}
			last := uint32(0)
			for step := range steps {
				i := uint32(rng.Intn(int(slots)))
				switch rng.Intn(4) {
				case 0: // neighbours, also over the end
					i = near(last)
				case 1: // the borders of the words of each level
					i = near(i &^ (1<<(6*(1+rng.Intn(3))) - 1))
				}
				last = i
				// Sparse at first, then filling up, then emptied: the words of each level leave
				// zero and return to it.
				if full := step > steps/3 && step < 2*steps/3; rng.Intn(4) == 0 == full {
					test.clear(i)
				} else {
					test.set(i)
				}
				test.wantSame(near(i))
				test.wantSame(uint32(rng.Intn(int(slots))))
			}
			for i := range slots {
				test.clear(i)
			}
			test.wantSame(0)
			for _, i := range []uint32{0, slots / 2, slots - 1} {
				test.set(i)
				for _, from := range []uint32{0, 1, slots/2 - 1, slots / 2, slots - 2, slots - 1} {
					test.wantSame(from)
				}
				test.clear(i)
			}
		})
	}
}

type bitmapTest struct {
	*testing.T
	slots uint32
	bits  bitmap
	twin  bitmapTwin
}

func (test *bitmapTest) set(i uint32)   { test.bits.set(i); test.twin[i] = true }
func (test *bitmapTest) clear(i uint32) { test.bits.clear(i); test.twin[i] = false }

// wantSame compares all answers about slot i and the slots after it.
func (test *bitmapTest) wantSame(i uint32) {
	test.Helper()
	if got, want := test.bits.has(i), test.twin[i]; got != want {
		test.Fatalf("has(%d) = %v, want %v", i, got, want)
	}
	got, ok := test.bits.next(i)
	if want, wantOK := test.twin.next(i); got != want || ok != wantOK {
		test.Fatalf("next(%d) = %d, %v, want %d, %v", i, got, ok, want, wantOK)
	}
	after := test.twin.after(i, test.slots)
	if got := test.bits.after(i, test.slots); got != after {
		test.Fatalf("after(%d, %d) = %d, want %d", i, test.slots, got, after)
	}
	for n := uint32(1); n <= 65; n++ {
		inWord := i/64 == (i+n)/64 && i+n < test.slots
		if got, want := test.bits.idle(i, test.slots, uint64(n)), inWord && (after == 0 || after > n); got != want {
			test.Fatalf("idle(%d, %d, %d) = %t, want %t", i, test.slots, n, got, want)
		}
	}
}

func TestBitmapEndsWithItsLastSlot(t *testing.T) {
	for _, slots := range []uint32{2, 64, 1 << 12, 1 << 18} {
		b := newBitmap(int(slots))
		b.set(slots - 1)
		if got, ok := b.next(slots - 1); !ok || got != slots-1 {
			t.Errorf("%d slots: next(last) = %d, %v, want the last", slots, got, ok)
		}
		b.clear(slots - 1)
		if got, ok := b.next(0); ok {
			t.Errorf("%d slots, none busy: next(0) = %d", slots, got)
		}
		if got, ok := b.next((slots + 63) &^ 63); ok {
			t.Errorf("%d slots: next(past the end) = %d", slots, got)
		}
	}
}
