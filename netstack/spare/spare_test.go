package spare

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"testing"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/refs"
)

func TestViewsAreHandedOutAgain(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which empties pools
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, size := range []int{MinSize, MinSize + 1, 2*MinSize - 1, 2 * MinSize, 7000, MaxSize / 2, MaxSize - 1, MaxSize} {
		again := 0
		for range 100 { // a pool may lose some, and does when races are looked for
			v := Get(size)
			if v.Size() != size || v.Capacity() < size || v.Capacity() >= 2*size {
				t.Fatalf("Get(%d) has %d octets of %d", size, v.Size(), v.Capacity())
			}
			at := v.BasePtr()
			v.TrimFront(size / 2)
			v.CapLength(size / 4)
			Put(v)
			if v = Get(size); v.BasePtr() == at {
				again++
			}
			Put(v)
		}
		if again == 0 {
			t.Errorf("views of %d octets are never handed out again", size)
		}
	}
}

func TestViewsOfOtherSizesAreGVisors(t *testing.T) {
	for _, size := range []int{0, 1, 64, MinSize - 1, MinSize / 2, MaxSize + 1, 2 * MaxSize} {
		v := Get(size)
		if v.Size() != size {
			t.Errorf("Get(%d) has %d octets", size, v.Size())
		}
		if !bytes.Equal(v.AsSlice(), make([]byte, size)) {
			t.Errorf("the %d octets are not clear", size)
		}
		Put(v)
	}
}

// TestClonesKeepWhatTheyShow: who reads a packet that somebody else has let go of must not see the next one.
func TestClonesKeepWhatTheyShow(t *testing.T) {
	for range 100 {
		v := Get(MinSize)
		v.WriteAt(bytes.Repeat([]byte("a"), MinSize), 0)
		clone := v.Clone()
		Put(v)
		w := Get(MinSize)
		copy(w.AsSlice(), bytes.Repeat([]byte("b"), MinSize))
		if !bytes.Equal(clone.AsSlice(), bytes.Repeat([]byte("a"), MinSize)) {
			t.Fatal("a clone shows another packet")
		}
		clone.Release()
		Put(w)
	}
}

// TestLeaksAreFound: while leaks are looked for, no view waits here.
func TestLeaksAreFound(t *testing.T) {
	refs.SetLeakMode(refs.LeaksPanic)
	defer refs.SetLeakMode(refs.NoLeakChecking)
	Put(Get(MinSize))
	refs.DoLeakCheck()
}

func BenchmarkGet(b *testing.B) {
	for _, from := range []struct {
		name string
		get  func(int) *buffer.View
		put  func(*buffer.View)
	}{{"spare", Get, Put}, {"gvisor", buffer.NewViewSize, (*buffer.View).Release}} {
		b.Run("from="+from.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				from.put(from.get(32 << 10))
			}
		})
	}
}
