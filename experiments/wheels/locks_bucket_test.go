package wheels

import (
	"math/rand/v2"
	"sync"
	"testing"
)

// TestBucketWheel checks that each timer expires at its tick or is stopped before it, with one
// lock and with a lock for each bucket.
func TestBucketWheel(t *testing.T) {
	for _, locks := range []int{1, 4, 16} {
		w := newBucketWheel(16, locks)
		timers := make([]bucketTimer, 100)
		due := map[int64]int{}
		for i := range timers {
			w.start(&timers[i], int64(i))
			due[max(int64(i), 1)]++
		}
		for i := 10; i < 20; i++ {
			if !w.stop(&timers[i]) || w.stop(&timers[i]) {
				t.Errorf("%d locks: timer %d does not stop once", locks, i)
			}
			due[int64(i)]--
		}
		for now := int64(1); now < 110; now++ {
			if n := w.tick(); n != due[now] {
				t.Errorf("%d locks: %d timers expire at tick %d, want %d", locks, n, now, due[now])
			}
		}
	}
}

// TestBucketWheelAtOnce starts and stops timers in four goroutines while ticks pass. Each start
// ends in one stop or one expiry.
func TestBucketWheelAtOnce(t *testing.T) {
	const each = 2000
	w := newBucketWheel(64, 64)
	var all sync.WaitGroup
	stopped := make([]int, 4)
	for g := range stopped {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for range each {
				var timer bucketTimer
				w.start(&timer, 1+r.Int64N(100))
				if w.stop(&timer) {
					stopped[g]++
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	expired := 0
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
			expired += w.tick()
		}
	}
	sum := expired
	for _, n := range stopped {
		sum += n
	}
	if want := each * len(stopped); sum != want {
		t.Errorf("%d stops and expiries, want %d", sum, want)
	}
}

// tick begins the next tick and returns the number of timers that expire. One goroutine may call
// it at a time.
func (w *bucketWheel) tick() (expired int) {
	now := w.now.Load() + 1
	in, lock := w.lock(now)
	defer lock.Unlock()
	w.now.Store(now)
	h := &w.buckets[in].head
	for t := h.next; t != h; {
		next := t.next
		if t.deadline <= now {
			t.unlink()
			expired++
		}
		t = next
	}
	return expired
}
