package wheels

import (
	"sync"
	"sync/atomic"
)

// bucketWheel is Scheme 6 with locks for its buckets, as Appendix B of the paper suggests for
// multiprocessors. It exists to be measured: package wheel has a lock for each shard instead.
// Its methods may be called at once, each timer from one goroutine.
type bucketWheel struct {
	buckets []bucket
	locks   []paddedLock // bucket i has lock i modulo their number
	now     atomic.Int64
}

// paddedLock is a lock on a cache line of its own.
type paddedLock struct {
	sync.Mutex
	_ [56]byte
}

// bucket is the head of a ring of timers.
type bucket struct{ head bucketTimer }

// bucketTimer is a timer on a cache line of its own. It is in no bucket when next is nil.
type bucketTimer struct {
	next, prev *bucketTimer
	deadline   int64
	in         int // bucket
	_          [32]byte
}

// newBucketWheel makes a wheel. buckets is a power of two, and locks divides it.
func newBucketWheel(buckets, locks int) *bucketWheel {
	w := &bucketWheel{buckets: make([]bucket, buckets), locks: make([]paddedLock, locks)}
	for i := range w.buckets {
		h := &w.buckets[i].head
		h.next, h.prev = h, h
	}
	return w
}

// lock locks the bucket of a tick and returns its number.
func (w *bucketWheel) lock(tick int64) (in int, lock *paddedLock) {
	in = int(tick) & (len(w.buckets) - 1)
	lock = &w.locks[in%len(w.locks)]
	lock.Lock()
	return in, lock
}

// start starts a stopped timer, which expires ticks after now, at least 1.
func (w *bucketWheel) start(t *bucketTimer, ticks int64) {
	for deadline := w.now.Load() + max(ticks, 1); ; deadline++ {
		in, lock := w.lock(deadline)
		if w.now.Load() < deadline { // the tick of this bucket has not begun
			h := &w.buckets[in].head
			t.deadline, t.in, t.next, t.prev = deadline, in, h.next, h
			h.next.prev, h.next = t, t
			lock.Unlock()
			return
		}
		lock.Unlock()
	}
}

// stop stops a timer, and reports whether it ran.
func (w *bucketWheel) stop(t *bucketTimer) bool {
	_, lock := w.lock(int64(t.in))
	defer lock.Unlock()
	return t.unlink()
}

func (t *bucketTimer) unlink() bool {
	if t.next == nil {
		return false
	}
	t.prev.next, t.next.prev, t.next, t.prev = t.next, t.prev, nil, nil
	return true
}
