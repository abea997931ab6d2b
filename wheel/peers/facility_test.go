package peers

import (
	"container/heap"
	"sync/atomic"
	"testing"
	"time"

	"github.com/RussellLuo/timingwheel"
	"github.com/antlabs/timer"

	"tcpwheel/wheel"
)

// facility is an implementation under test. Each has its own loops, so that none pays for a call
// through an interface.
type facility interface {
	// start starts timer i of n, to expire after the benchmark.
	start(i int)

	startStop(b *testing.B) // an iteration: START and STOP of another timer
	rearm(b *testing.B)     // an iteration: START of a random one of n running timers
	expire(b *testing.B)    // an iteration: START of n timers, and the expiry of all

	close()
}

// implementation makes facilities of one kind. In real time, timers cannot expire faster than the
// clock.
type implementation struct {
	name     string
	realTime bool
	make     func(n int) facility
}

// implementations are all schemes of package wheel, and the peers.
func implementations() (all []implementation) {
	for _, name := range wheel.Schemes() {
		if name != "runtime" {
			all = append(all, implementation{name, false, func(n int) facility { return newWheel(name, n) }})
		}
	}
	return append(all,
		implementation{"runtime", true, newRuntime},
		implementation{"container-heap", false, newHeap},
		implementation{"timingwheel", true, newTimingWheel},
		implementation{"antlabs-timer", true, newAntlabs},
	)
}

const (
	tick = time.Millisecond
	away = time.Hour // timers in real time are at least so far away that none expires
)

func never() {}

// random is Marsaglia's xorshift, inlined.
type random uint64

func (x *random) next() uint64 {
	*x ^= *x << 13
	*x ^= *x >> 7
	*x ^= *x << 17
	return uint64(*x)
}

// interval returns 1 to 10,000 ticks from the upper half of r; below returns 0 to n-1 from the
// lower half.
func interval(r uint64) time.Duration { return time.Duration(1+r>>32*10_000>>32) * tick }
func below(r uint64, n int) int       { return int(r & (1<<32 - 1) * uint64(n) >> 32) }

// soon returns 10 to 20 ms: the shortest intervals that every peer can keep.
func soon(r uint64) time.Duration {
	return 10*time.Millisecond + time.Duration(r>>32*10_000>>32)*time.Microsecond
}

// virtual is a facility of package wheel.
type virtual struct {
	wheel.Facility
	n      int
	rng    random
	timers []wheel.Timer
	spare  [64]wheel.Timer
}

func newWheel(scheme string, n int) *virtual {
	v := &virtual{Facility: wheel.MustNew(scheme, wheel.Config{Tick: tick}), n: n, rng: 1, timers: make([]wheel.Timer, n)}
	v.Reserve(n + len(v.spare))
	for i := range v.timers {
		v.timers[i] = v.New(uint64(i))
	}
	for i := range v.spare {
		v.spare[i] = v.New(uint64(n + i))
	}
	return v
}

func (v *virtual) start(i int) { v.Schedule(v.timers[i], v.Now().Add(interval(v.rng.next()))) }
func (v *virtual) close()      {}

func (v *virtual) startStop(b *testing.B) {
	now, rng := v.Now(), v.rng
	for i := 0; b.Loop(); i++ {
		t := v.spare[i%len(v.spare)]
		v.Schedule(t, now.Add(interval(rng.next())))
		v.Stop(t)
	}
}

func (v *virtual) rearm(b *testing.B) {
	now, rng := v.Now(), v.rng
	for b.Loop() {
		r := rng.next()
		v.Schedule(v.timers[below(r, v.n)], now.Add(interval(r)))
	}
}

func (v *virtual) expire(b *testing.B) {
	for b.Loop() {
		for i := range v.n {
			v.start(i)
		}
		for now, expired := v.Now(), 0; expired < v.n; {
			now = now.Add(tick)
			n, _ := v.Advance(now, 0, func(wheel.Timer) {})
			expired += n
		}
	}
}

// realTime is a facility on the machine's clock, where AfterFunc makes a timer. These calls cost
// 100 ns and more, so that calling them through a function value makes no difference.
type realTime[T interface{ Stop() bool }] struct {
	afterFunc func(d time.Duration, f func()) T
	reset     func(t T, d time.Duration) T
	end       func()

	rng    random
	timers []T
}

func newRuntime(n int) facility {
	f := &realTime[*time.Timer]{afterFunc: time.AfterFunc, rng: 1, timers: make([]*time.Timer, n)}
	f.reset = func(t *time.Timer, d time.Duration) *time.Timer {
		t.Reset(d)
		return t
	}
	f.end = func() {
		for _, t := range f.timers {
			if t != nil {
				t.Stop()
			}
		}
	}
	return f
}

// newTimingWheel is RussellLuo/timingwheel: hierarchical, with a delay queue of busy slots. It has
// no reset.
func newTimingWheel(n int) facility {
	w := timingwheel.NewTimingWheel(tick, 4096)
	w.Start()
	f := &realTime[*timingwheel.Timer]{afterFunc: w.AfterFunc, end: w.Stop, rng: 1, timers: make([]*timingwheel.Timer, n)}
	f.reset = f.stopAndStart
	return f
}

// newAntlabs is antlabs/timer: Linux's old wheel with a tick of 10 ms. Its Reset deadlocks when the
// new slot is the old one.
func newAntlabs(n int) facility {
	w := timer.NewTimer(timer.WithTimeWheel())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Run()
	}()
	f := &realTime[timer.TimeNoder]{rng: 1, timers: make([]timer.TimeNoder, n)}
	f.afterFunc = func(d time.Duration, fn func()) timer.TimeNoder { return w.AfterFunc(d, fn) }
	f.reset = f.stopAndStart
	f.end = func() {
		w.Stop()
		<-ended
	}
	return f
}

func (r *realTime[T]) stopAndStart(t T, d time.Duration) T {
	t.Stop()
	return r.afterFunc(d, never)
}

func (r *realTime[T]) close() { r.end() }

func (r *realTime[T]) start(i int) {
	r.timers[i] = r.afterFunc(away+interval(r.rng.next()), never)
}

func (r *realTime[T]) startStop(b *testing.B) {
	for b.Loop() {
		r.afterFunc(away+interval(r.rng.next()), never).Stop()
	}
}

func (r *realTime[T]) rearm(b *testing.B) {
	for b.Loop() {
		x := r.rng.next()
		i := below(x, len(r.timers))
		r.timers[i] = r.reset(r.timers[i], away+interval(x))
	}
}

// expire starts n timers and waits for all of them, in each iteration.
func (r *realTime[T]) expire(b *testing.B) {
	n := int64(len(r.timers))
	for b.Loop() {
		var expired atomic.Int64
		last := make(chan struct{})
		fire := func() {
			if expired.Add(1) == n {
				close(last)
			}
		}
		for range n {
			r.afterFunc(soon(r.rng.next()), fire)
		}
		<-last
	}
}

// heapTimers is a timer facility as many programs write it: container/heap, with its position in
// each timer.
type heapTimers struct {
	queue  queue
	now    time.Duration
	rng    random
	timers []*item
	spare  [64]*item
}

type item struct {
	at    time.Duration
	place int
}

type queue []*item

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].at < q[j].at }
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

func (q *queue) Push(x any) {
	t := x.(*item)
	t.place = len(*q)
	*q = append(*q, t)
}

func (q *queue) Pop() any {
	last := len(*q) - 1
	t := (*q)[last]
	*q = (*q)[:last]
	return t
}

func newHeap(n int) facility {
	h := &heapTimers{queue: make(queue, 0, n+64), rng: 1, timers: make([]*item, n)}
	for i := range h.timers {
		h.timers[i] = new(item)
	}
	for i := range h.spare {
		h.spare[i] = new(item)
	}
	return h
}

func (h *heapTimers) start(i int) {
	h.timers[i].at = h.now + interval(h.rng.next())
	heap.Push(&h.queue, h.timers[i])
}

func (h *heapTimers) close() {}

func (h *heapTimers) startStop(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		t := h.spare[i%len(h.spare)]
		t.at = h.now + interval(h.rng.next())
		heap.Push(&h.queue, t)
		heap.Remove(&h.queue, t.place)
	}
}

func (h *heapTimers) rearm(b *testing.B) {
	for b.Loop() {
		r := h.rng.next()
		t := h.timers[below(r, len(h.timers))]
		t.at = h.now + interval(r)
		heap.Fix(&h.queue, t.place)
	}
}

func (h *heapTimers) expire(b *testing.B) {
	for b.Loop() {
		for i := range h.timers {
			h.start(i)
		}
		for len(h.queue) > 0 {
			h.now += tick
			for len(h.queue) > 0 && h.queue[0].at <= h.now {
				heap.Pop(&h.queue)
			}
		}
	}
}
