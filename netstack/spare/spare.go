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

// classes are by capacity: MinSize, twice that, and so on.
var classes [6]class

var _ = [1]struct{}{}[MinSize<<(len(classes)-1)-MaxSize]

// class has the views of a capacity. The one that was put last is handed out first, as it may still be in a cache: a device fills it faster
// than one that was not touched for long. What is beyond most is left to a pool that the collector empties.
type class struct {
	mu    sync.Mutex
	views [most]*buffer.View
	n     int
	rest  sync.Pool
}

// most is how many views of a capacity are kept for good, 2 MiB of all capacities.
const most = 16

func (c *class) get() *buffer.View {
	c.mu.Lock()
	if c.n > 0 {
		c.n--
		v := c.views[c.n]
		c.mu.Unlock()
		return v
	}
	c.mu.Unlock()
	v, _ := c.rest.Get().(*buffer.View)
	return v
}

func (c *class) put(v *buffer.View) {
	c.mu.Lock()
	if c.n < most {
		c.views[c.n] = v
		c.n++
		c.mu.Unlock()
		return
	}
	c.mu.Unlock()
	c.rest.Put(v)
}

// classOf returns where views of a capacity wait that is enough for size octets, nil if there are none such.
func classOf(size int) *class {
	if size < MinSize || size > MaxSize || refs.GetLeakMode() != refs.NoLeakChecking {
		return nil
	}
	return &classes[bits.Len(uint(size-1)/MinSize)]
}

// Get returns a view of size octets, which are anything. Its capacity is the next power of two.
func Get(size int) *buffer.View {
	if c := classOf(size); c != nil {
		if v := c.get(); v != nil {
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
	c := classOf(size)
	if c == nil || size&(size-1) != 0 {
		v.Release()
		return
	}
	if _, err := v.WriteAt(nil, 0); err != nil { // copies a chunk that is shared
		panic("BUG: " + err.Error())
	}
	v.Reset()
	c.put(v)
}
