// Package spare hands views of packets out again without clearing them, for those who overwrite all of their octets: a device that
// reads packets, a socket that takes what is written to it. gVisor's pool clears each chunk that it hands out, which was an eighth of the
// processor time of a flow from a kernel.
//
// # Usage
//
//	v := spare.Get(32 << 10) // its octets are anything
//	n, err := unix.Read(fd, v.AsSlice())
//	v.CapLength(n)           // nobody sees what was not overwritten
//	…
//	spare.Put(v)             // in place of v.Release()
//
// # Limitations
//
// Views of fewer than MinSize octets and of more than MaxSize come from gVisor's pool and go there. So do all while leaks of gVisor's objects
// are looked for (refs.SetLeakMode), as those that wait here would be taken for such.
//
// # Concurrency
//
// Multiple goroutines may invoke all functions.
package spare

import (
	"math/bits"
	"sync"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/refs"
)

// The sizes of the views that are handed out again, octets.
const (
	MinSize = 2 << 10
	MaxSize = buffer.MaxChunkSize
)

// pools are by capacity: MinSize, twice that, and so on.
var pools [6]sync.Pool

var _ = [1]struct{}{}[MinSize<<(len(pools)-1)-MaxSize]

// pool returns where views of a capacity wait that is enough for size octets, nil if there are none such.
func pool(size int) *sync.Pool {
	if size < MinSize || size > MaxSize || refs.GetLeakMode() != refs.NoLeakChecking {
		return nil
	}
	return &pools[bits.Len(uint(size-1)/MinSize)]
}

// Get returns a view of size octets, which are anything. Its capacity is the next power of two.
func Get(size int) *buffer.View {
	if p := pool(size); p != nil {
		if v, ok := p.Get().(*buffer.View); ok {
			v.Grow(size)
			return v
		}
	}
	return buffer.NewViewSize(size)
}

// Put lets go of a view, which must be the caller's own. Whoever has a clone keeps what it shows: the chunk is copied then, which is why
// Put is for views of which there are seldom clones.
func Put(v *buffer.View) {
	size := v.Capacity()
	p := pool(size)
	if p == nil || size&(size-1) != 0 {
		v.Release()
		return
	}
	if _, err := v.WriteAt(nil, 0); err != nil { // copies a chunk that is shared
		panic("BUG: " + err.Error())
	}
	v.Reset()
	p.Put(v)
}
