package up

import (
	"context"
	"runtime"
	"runtime/debug"
	"time"
)

// idleAfter is how long traffic must be low before unused memory returns to the system. Without a
// collection the Go runtime keeps it: a process without allocations collects every two minutes.
const idleAfter = 5 * time.Second

// maxTimeWait bounds the connections in TIME-WAIT, so that after a load with a connection for each
// request they take 20 MB at most.
const maxTimeWait = 1 << 16

const (
	lowTraffic = 1 << 20  // bytes in idleAfter
	minRelease = 16 << 20 // bytes of heap that a collection may free; less is not worth the pause

	// releaseAgain is when, in periods of idleAfter, memory is returned a second time: the connections
	// in TIME-WAIT have gone.
	releaseAgain = 15
)

// idleMemory decides when to return unused memory to the system.
type idleMemory struct {
	moved uint64 // bytes that have passed
	used  uint64 // bytes of heap ever allocated, when memory was last returned
	since int    // periods of low traffic since it was returned; 0 is none to follow
}

// due reports whether to return memory now: when traffic was low since the last call and much was
// allocated, and again some time after that. moved and allocated count bytes since the start.
// It must be called every idleAfter.
func (m *idleMemory) due(moved, allocated uint64) bool {
	low := moved-m.moved < lowTraffic
	m.moved = moved
	switch {
	case !low:
		return false
	case allocated-m.used >= minRelease:
		m.used, m.since = allocated, 1
		return true
	case m.since == 0:
		return false
	}
	if m.since++; m.since <= releaseAgain {
		return false
	}
	m.used, m.since = allocated, 0
	return true
}

// release returns unused memory to the system when traffic has become low: see due.
func (m *idleMemory) release(moved uint64) {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	if m.due(moved, stats.TotalAlloc) {
		// The first collection moves the pools' buffers to their victim caches, the second frees them.
		runtime.GC()
		debug.FreeOSMemory()
	}
}

// every calls f every d until the context ends.
func every(ctx context.Context, d time.Duration, f func()) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f()
		}
	}
}
