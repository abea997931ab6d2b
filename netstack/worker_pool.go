package netstack

import (
	"runtime"
	"sync"
	"time"
)

// timeSlice is how long a connection runs before others get a turn. It is long for a flow, and
// short for a dial that competes with many flows.
const timeSlice = 200 * time.Microsecond

// workerPool runs bulk connections in time slices, so that device readers and dialers need not wait
// for them. It has at most max goroutines, and none while it has no work.
type workerPool struct {
	max int // goroutines, one per CPU

	mu      sync.Mutex
	running int         // goroutines
	waiting []*Endpoint // FIFO of connections with work; the pool holds their batons
	head    int         // waiting[:head] has been served
}

// add queues a connection that has work. The caller hands over the baton.
func (w *workerPool) add(e *Endpoint) {
	w.mu.Lock()
	w.enqueue(e)
	more := w.running < w.max
	if more {
		w.running++
	}
	w.mu.Unlock()
	if more {
		go w.work()
	}
}

// stackPerStep is roughly the stack that a step needs, in bytes, down to the device.
const stackPerStep = 8 << 10

// growStack grows a new goroutine's stack in one go. Otherwise it would double and be copied four
// times.
//
//go:noinline
func (w *workerPool) growStack() {
	var room [stackPerStep]byte
	runtime.KeepAlive(&room)
}

// work runs connections in time slices until none is left.
func (w *workerPool) work() {
	w.growStack()
	for e := w.next(nil); e != nil; {
		if e.run(nil) {
			e = w.next(e)
		} else {
			e = w.next(nil)
		}
		if e != nil {
			runtime.Gosched()
		}
	}
}

// next requeues e (if not nil) and returns the connection whose turn it is. nil means that the
// queue is empty and the calling worker must exit.
func (w *workerPool) next(e *Endpoint) *Endpoint {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e != nil {
		w.enqueue(e)
	}
	if w.head == len(w.waiting) {
		w.running--
		return nil
	}
	e = w.waiting[w.head]
	w.waiting[w.head] = nil
	if w.head++; w.head == len(w.waiting) {
		w.waiting, w.head = w.waiting[:0], 0
	}
	return e
}

func (w *workerPool) enqueue(e *Endpoint) {
	if w.head > 32 && 2*w.head > len(w.waiting) {
		n := copy(w.waiting, w.waiting[w.head:])
		clear(w.waiting[n:])
		w.waiting, w.head = w.waiting[:n], 0
	}
	w.waiting = append(w.waiting, e)
}
