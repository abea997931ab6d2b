package bufpool

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"testing"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/refs"
)

func TestGetReusesViews(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties sync.Pools
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, size := range []int{MinSize, MinSize + 1, 2*MinSize - 1, 2 * MinSize, 7000, MaxSize / 2, MaxSize - 1, MaxSize} {
		reused := 0
		for range 100 { // a sync.Pool may drop some, and does under the race detector
			v := Get(size)
			if v.Size() != size || v.Capacity() < size || v.Capacity() >= 2*size {
				t.Fatalf("Get(%d) has %d bytes of capacity %d", size, v.Size(), v.Capacity())
			}
			at := v.BasePtr()
			v.TrimFront(size / 2)
			v.CapLength(size / 4)
			Put(v)
			if v = Get(size); v.BasePtr() == at {
				reused++
			}
			Put(v)
		}
		if reused == 0 {
			t.Errorf("Get(%d) never reused a view", size)
		}
	}
}

func TestOtherSizesComeFromGVisor(t *testing.T) {
	for _, size := range []int{0, 1, 64, MinSize - 1, MinSize / 2, MaxSize + 1, 2 * MaxSize} {
		v := Get(size)
		if v.Size() != size {
			t.Errorf("Get(%d) has %d bytes", size, v.Size())
		}
		if !bytes.Equal(v.AsSlice(), make([]byte, size)) {
			t.Errorf("Get(%d) is not cleared", size)
		}
		Put(v)
	}
}

// TestClonesKeepTheirContents: a reader of a clone must not see the next packet after the owner has
// put its view.
func TestClonesKeepTheirContents(t *testing.T) {
	for range 100 {
		v := Get(MinSize)
		v.WriteAt(bytes.Repeat([]byte("a"), MinSize), 0)
		clone := v.Clone()
		Put(v)
		w := Get(MinSize)
		copy(w.AsSlice(), bytes.Repeat([]byte("b"), MinSize))
		if !bytes.Equal(clone.AsSlice(), bytes.Repeat([]byte("a"), MinSize)) {
			t.Fatal("a clone shows the next packet")
		}
		clone.Release()
		Put(w)
	}
}

// TestLeakCheckIsClean: while gVisor looks for leaks, bufpool holds no view.
func TestLeakCheckIsClean(t *testing.T) {
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
	}{{"bufpool", Get, Put}, {"gvisor", buffer.NewViewSize, (*buffer.View).Release}} {
		b.Run("from="+from.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				from.put(from.get(32 << 10))
			}
		})
	}
}
