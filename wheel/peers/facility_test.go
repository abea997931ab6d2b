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

// facility is an implementation under test. Each has its loops for itself, so that none pays for a call through an
// interface in them that the others do not pay for.
type facility interface {
	// start starts timer i of n, to expire after the benchmark.
	start(i int)

	startStop(b *testing.B) // an iteration is START and STOP of another timer
	rearm(b *testing.B)     // an iteration is START of a random one of the n that run
	expire(b *testing.B)    // an iteration is START of n timers, and the expiry of all

	close()
}

// implementation is a kind of facility. One in real time can not expire timers faster than the clock.
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
		implementation{"runtime", true, func(n int) facility { return &goRuntime{timers: make([]*time.Timer, n)} }},
		implementation{"container-heap", false, func(n int) facility { return newHeap(n) }},
		implementation{"timingwheel", true, func(n int) facility { return newTimingWheel(n) }},
		implementation{"antlabs-timer", true, func(n int) facility { return newAntlabs(n) }},
	)
}

const (
	tick = time.Millisecond
	away = time.Hour // so far that no timer of a benchmark in real time expires meanwhile
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

// interval returns 1 to 10,000 ticks from the upper half of r; below, 0 to n-1 from the lower half.
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

// goRuntime is package time.
type goRuntime struct {
	rng    random
	timers []*time.Timer
}

func (g *goRuntime) start(i int) { g.timers[i] = time.AfterFunc(away+interval(g.seed()), never) }

func (g *goRuntime) seed() uint64 {
	g.rng |= 1
	return g.rng.next()
}

func (g *goRuntime) startStop(b *testing.B) {
	for b.Loop() {
		time.AfterFunc(away+interval(g.seed()), never).Stop()
	}
}

func (g *goRuntime) rearm(b *testing.B) {
	for b.Loop() {
		r := g.seed()
		g.timers[below(r, len(g.timers))].Reset(away + interval(r))
	}
}

func (g *goRuntime) expire(b *testing.B) {
	expireInRealTime(b, len(g.timers), func(d time.Duration, f func()) { time.AfterFunc(d, f) })
}

func (g *goRuntime) close() {
	for _, t := range g.timers {
		if t != nil {
			t.Stop()
		}
	}
}

// expireInRealTime starts n timers and waits for all, again and again.
func expireInRealTime(b *testing.B, n int, start func(d time.Duration, f func())) {
	rng := random(1)
	for b.Loop() {
		var expired atomic.Int64
		last := make(chan struct{})
		fire := func() {
			if expired.Add(1) == int64(n) {
				close(last)
			}
		}
		for range n {
			start(soon(rng.next()), fire)
		}
		<-last
	}
}

// timingWheel is RussellLuo/timingwheel: hierarchical, with a delay queue of busy slots. It has no reset.
type timingWheel struct {
	*timingwheel.TimingWheel
	rng    random
	timers []*timingwheel.Timer
}

func newTimingWheel(n int) *timingWheel {
	w := &timingWheel{timingwheel.NewTimingWheel(tick, 4096), 1, make([]*timingwheel.Timer, n)}
	w.Start()
	return w
}

func (w *timingWheel) start(i int) { w.timers[i] = w.AfterFunc(away+interval(w.rng.next()), never) }
func (w *timingWheel) close()      { w.Stop() }

func (w *timingWheel) startStop(b *testing.B) {
	for b.Loop() {
		w.AfterFunc(away+interval(w.rng.next()), never).Stop()
	}
}

func (w *timingWheel) rearm(b *testing.B) {
	for b.Loop() {
		r := w.rng.next()
		i := below(r, len(w.timers))
		w.timers[i].Stop()
		w.timers[i] = w.AfterFunc(away+interval(r), never)
	}
}

func (w *timingWheel) expire(b *testing.B) {
	expireInRealTime(b, len(w.timers), func(d time.Duration, f func()) { w.AfterFunc(d, f) })
}

// antlabs is antlabs/timer: Linux's old wheel with a tick of 10 ms. Its Reset is said to be unstable, and waits for itself
// when the new slot is the old one, so re-arming is Stop and AfterFunc.
type antlabs struct {
	timer.Timer
	rng    random
	timers []timer.TimeNoder
	ended  chan struct{}
}

func newAntlabs(n int) *antlabs {
	a := &antlabs{timer.NewTimer(timer.WithTimeWheel()), 1, make([]timer.TimeNoder, n), make(chan struct{})}
	go func() {
		defer close(a.ended)
		a.Run()
	}()
	return a
}

func (a *antlabs) start(i int) { a.timers[i] = a.AfterFunc(away+interval(a.rng.next()), never) }

func (a *antlabs) close() {
	a.Stop()
	<-a.ended
}

func (a *antlabs) startStop(b *testing.B) {
	for b.Loop() {
		a.AfterFunc(away+interval(a.rng.next()), never).Stop()
	}
}

func (a *antlabs) rearm(b *testing.B) {
	for b.Loop() {
		r := a.rng.next()
		i := below(r, len(a.timers))
		a.timers[i].Stop()
		a.timers[i] = a.AfterFunc(away+interval(r), never)
	}
}

func (a *antlabs) expire(b *testing.B) {
	expireInRealTime(b, len(a.timers), func(d time.Duration, f func()) { a.AfterFunc(d, f) })
}

// heapTimers is a timer facility as many a program has written it: container/heap, and the place in it on each timer.
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

func newHeap(n int) *heapTimers {
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
