// Package background passes packets and events from goroutines that are in a hurry to one that
// writes them to files or readers.
package background

import (
	"sync"

	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// Queue collects items until its writer takes them, in order. Multiple goroutines may invoke Add,
// Dropped and Fail; the writer alone invokes Next, Again, Take and Recycle.
type Queue[T any] struct {
	room   int
	policy Policy
	wake   chan struct{} // there is something to take, or the end has come
	failed chan struct{}
	ended  chan struct{} // the writer has returned

	mu      sync.Mutex
	taken   sync.Cond // the batch was taken, or nothing will be
	batch   Batch[T]
	spare   Batch[T] // memory for the next batch
	size    int      // of the batch
	dropped uint64
	closed  bool
	err     error
}

// Batch is what a writer takes at once.
type Batch[T any] struct {
	Items []T
	Data  []byte // bytes of the items, one after the other
}

// Policy says what Add does if the queue is full.
type Policy uint8

const (
	Drop Policy = iota // counts the item as dropped
	Wait               // waits for the writer
)

// Start starts the writer, in a goroutine of its own. Items of the given size in all may wait,
// besides those taken. The writer returns when Next returns false.
func Start[T any](room int, p Policy, writer func(*Queue[T])) *Queue[T] {
	q := &Queue[T]{
		room: room, policy: p, wake: make(chan struct{}, 1), failed: make(chan struct{}), ended: make(chan struct{}),
	}
	q.taken.L = &q.mu
	go func() {
		defer close(q.ended)
		writer(q)
	}()
	return q
}

// Add calls fill, which appends an item of that size to the batch. An empty queue has room for any
// item. fill runs under the queue's lock, so that times that it reads ascend. Add does nothing
// after Close and Fail.
func (q *Queue[T]) Add(size int, fill func(*Batch[T])) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.size > 0 && q.size+size > q.room && !q.over() {
		if q.policy == Drop {
			q.dropped++
			return
		}
		q.taken.Wait()
	}
	if q.over() {
		return
	}
	fill(&q.batch)
	q.size += size
	q.poke()
}

// over reports whether nothing is added any more. The caller holds the lock.
func (q *Queue[T]) over() bool { return q.closed || q.err != nil }

func (q *Queue[T]) poke() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Next waits until there is something to take, or Again was called. It returns false if all is
// taken and the queue is closed.
func (q *Queue[T]) Next() bool {
	q.mu.Lock()
	over := q.closed && q.size == 0
	q.mu.Unlock()
	if over {
		return false
	}
	<-q.wake
	return true
}

// Again lets the next Next return at once.
func (q *Queue[T]) Again() { q.poke() }

// Take returns the items that wait. They are the writer's.
func (q *Queue[T]) Take() Batch[T] {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := q.batch
	q.batch, q.spare, q.size = q.spare, Batch[T]{}, 0
	q.taken.Broadcast()
	return b
}

// Recycle gives the memory of a batch back, for later items. That of a burst is released.
func (q *Queue[T]) Recycle(b Batch[T]) {
	clear(b.Items)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.spare = Batch[T]{reuse(b.Items, 1<<12), reuse(b.Data, 1<<20)}
}

// reuse returns s without its elements, or nil if it has room for many more than it had.
func reuse[E any](s []E, few int) []E {
	if n := cap(s); n > few && len(s) < n/8 {
		return nil
	}
	return s[:0]
}

// Dropped returns how many items did not fit.
func (q *Queue[T]) Dropped() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}

// Fail records the first error. Nothing is added after it.
func (q *Queue[T]) Fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
		close(q.failed)
		q.taken.Broadcast()
	}
}

// Failed returns a channel that the first Fail closes.
func (q *Queue[T]) Failed() <-chan struct{} { return q.failed }

// Close waits until the writer has taken everything and returned. It returns the error of Fail.
func (q *Queue[T]) Close() error {
	q.mu.Lock()
	q.closed = true
	q.taken.Broadcast()
	q.mu.Unlock()
	q.poke()
	<-q.ended
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

// AppendPacket appends the bytes of a packet, from its network header on.
func AppendPacket(b []byte, pkt *stack.PacketBuffer) []byte {
	views, skip := pkt.AsViewList()
	for v := views.Front(); v != nil; v = v.Next() {
		data := v.AsSlice()
		n := min(skip, len(data))
		skip -= n
		b = append(b, data[n:]...)
	}
	return b
}
