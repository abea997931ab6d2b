package wheels

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/experiments/judge"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

// locksClockBuckets is the buckets of a bucketWheel.
const locksClockBuckets = 4096

// locksWay is a wheel with its locks, and the processors that use it.
type locksWay struct {
	wheel      string // bucketed, or a scheme of package wheel
	work       int    // mean steps of other work after each pair: random numbers
	processors int    // each has a goroutine
	locks      int
}

// bucketed is the name of a bucketWheel in the place of a scheme.
const bucketed = "scheme6 of linked records"

// locksWays returns what is timed: each wheel with one lock on one processor, and then on n with
// one lock, and with a lock for each bucket or shard.
func locksWays(schemes []string, works []int, n int) (all []locksWay) {
	for _, work := range works {
		for _, wheel := range append([]string{bucketed}, schemes...) {
			many := n
			all = append(all, locksWay{wheel, work, 1, 1})
			if wheel == bucketed {
				many = locksClockBuckets
				all = append(all, locksWay{wheel, work, 1, many})
			}
			all = append(all, locksWay{wheel, work, n, 1}, locksWay{wheel, work, n, many})
		}
	}
	return all
}

// pair returns a START of so many ticks and a STOP of goroutine i's timer, next to the timers that
// run.
func (p *locksPlan) pair(w locksWay) (func(i, ticks int), error) {
	r := rand.New(rand.NewPCG(1, 0xe7))
	if w.wheel == bucketed {
		s, timers := newBucketWheel(locksClockBuckets, w.locks), make([]bucketTimer, p.Running+w.processors)
		for i := range p.Running {
			s.start(&timers[w.processors+i], int64(1+r.IntN(p.Longest)))
		}
		return func(i, ticks int) {
			s.start(&timers[i], int64(ticks))
			s.stop(&timers[i])
		}, nil
	}
	s, err := wheel.NewSharded(w.locks, w.wheel, wheel.Config{Tick: 1})
	if err != nil {
		return nil, err
	}
	for i := range p.Running {
		s.Schedule(s.New(i%w.locks, uint64(i)), wheel.Time(1+r.IntN(p.Longest)))
	}
	timers := make([]wheel.ShardTimer, w.processors)
	for i := range timers {
		timers[i] = s.New(i%w.locks, uint64(i))
	}
	return func(i, ticks int) {
		s.Schedule(timers[i], wheel.Time(ticks))
		s.Stop(timers[i])
	}, nil
}

// piece has a goroutine on each processor start and stop its timer.
func (p *locksPlan) piece(w locksWay) (testbed.Piece, error) {
	pair, err := p.pair(w)
	return func() int {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(w.processors))
		var all sync.WaitGroup
		for i := range w.processors {
			all.Go(func() {
				r := rand.New(rand.NewPCG(uint64(i), 7))
				for range p.ClockPairs {
					pair(i, 1+r.IntN(p.Longest))
					for range r.IntN(2*w.work + 1) {
						r.Uint64()
					}
				}
			})
		}
		all.Wait()
		return w.processors * p.ClockPairs
	}, err
}

// locksClock times the locks on this machine's processors. There are no claims: the gain depends on
// the machine. What was recorded on two real processors is in locks/processors.csv.
func locksClock(ctx context.Context, p *locksPlan) (*experiments.Outcome, error) {
	ways := locksWays(p.Schemes, []int{0, p.Work}, max(2, runtime.GOMAXPROCS(0)))
	var pieces []testbed.Piece
	for _, w := range ways {
		work, err := p.piece(w)
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, work)
	}
	ns, err := testbed.TimeRounds(ctx, p.ClockRounds, pieces)
	if err != nil {
		return nil, err
	}
	t := experiments.Table{Name: "processors",
		Title: fmt.Sprintf("Pairs of START and STOP with %d timers running, medians and means of %d interleaved rounds",
			p.Running, p.ClockRounds),
		Columns: []string{"wheel", "other work", "processors", "locks", "million pairs/s",
			"relative to one processor, one lock", "95 % from", "to"}}
	alone := 0
	for i, w := range ways {
		if w.processors == 1 && w.locks == 1 {
			alone = i
		}
		var ratios []float64 // of the same rounds
		for round, took := range ns[i] {
			ratios = append(ratios, ns[alone][round]/took)
		}
		in := judge.Student(ratios)
		t.Add(w.wheel, w.work, w.processors, w.locks, 1e3/stat.Median(ns[i]), in.Value, in.Lo, in.Hi)
	}
	return &experiments.Outcome{Tables: []experiments.Table{t}}, nil
}

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
