// Package bufpool, used by netstack and tun, reuses packet buffers (gVisor's buffer.View) without
// clearing them. Its users overwrite every byte: a device that reads packets, a socket that copies
// what the caller writes. gVisor's own pool clears each chunk that it returns. That was an eighth
// of the CPU time of a bulk flow.
//
// # Usage
//
//	v := bufpool.Get(32 << 10) // the contents are undefined
//	n, err := unix.Read(fd, v.AsSlice())
//	v.CapLength(n) // hide what was not overwritten
//	...
//	bufpool.Put(v) // instead of v.Release()
//
// # Limitations
//
// Views smaller than MinSize or larger than MaxSize come from gVisor's pool and return there. While
// gVisor looks for leaks (refs.SetLeakMode), all views do: it would report the views that wait here
// as leaks.
//
// # Concurrency
//
// Multiple goroutines may invoke all functions.
package bufpool

import (
	"math/bits"
	"sync"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/refs"
)

// The capacities, in bytes, of the views that are reused.
const (
	MinSize = 2 << 10
	MaxSize = buffer.MaxChunkSize
)

// classes holds one class for each capacity: MinSize, 2*MinSize, 4*MinSize ...
var classes [6]class

var _ = [1]struct{}{}[MinSize<<(len(classes)-1)-MaxSize]

// class holds the free views of one capacity. get returns the latest one first: it may still be in
// the CPU's cache. Views beyond maxKept go to a sync.Pool, which the garbage collector empties.
type class struct {
	mu    sync.Mutex
	views [maxKept]*buffer.View
	n     int
	rest  sync.Pool
}

// maxKept is the number of views of one capacity that are never given to the collector: 2 MiB in
// all classes.
const maxKept = 16

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
	if c.n < maxKept {
		c.views[c.n] = v
		c.n++
		c.mu.Unlock()
		return
	}
	c.mu.Unlock()
	c.rest.Put(v)
}

// classOf returns the class whose views hold size bytes. It returns nil if gVisor's pool serves
// that size.
func classOf(size int) *class {
	if size < MinSize || size > MaxSize || refs.GetLeakMode() != refs.NoLeakChecking {
		return nil
	}
	return &classes[bits.Len(uint(size-1)/MinSize)]
}

// Get returns a view of size bytes with undefined contents. Its capacity is the next power of two.
func Get(size int) *buffer.View {
	if c := classOf(size); c != nil {
		if v := c.get(); v != nil {
			v.Grow(size)
			return v
		}
	}
	return buffer.NewViewSize(size)
}

// Put releases a view, which the caller must own. Clones of the view keep their contents: if there
// is one, Put copies the chunk. So Put is for views that are seldom cloned.
func Put(v *buffer.View) {
	size := v.Capacity()
	c := classOf(size)
	if c == nil || size&(size-1) != 0 {
		v.Release()
		return
	}
	if _, err := v.WriteAt(nil, 0); err != nil { // copies a shared chunk
		panic("BUG: " + err.Error())
	}
	v.Reset()
	c.put(v)
}
