package wheel

import (
	"math/rand"
	"testing"
)

// eachThatNeverAllocates runs test for all schemes but "runtime", eager and lazy.
func eachThatNeverAllocates(t *testing.T, test func(t *testing.T, fresh func() Facility)) {
	for _, scheme := range Schemes() {
		if scheme == "runtime" {
			continue // the first START of a record makes its time.Timer
		}
		for _, mode := range []string{"eager", "lazy"} {
			t.Run(scheme+"/"+mode, func(t *testing.T) {
				test(t, func() Facility { return MustNew(scheme, Config{Slots: 64, Lazy: mode == "lazy"}) })
			})
		}
	}
}

// wantNoAllocs runs work on a new facility from prepare for each run, so that allocations at the
// first use are seen too. It makes three attempts: work allocates in each or in none, the
// runtime's other goroutines only in some.
func wantNoAllocs[T any](t *testing.T, what string, prepare func() T, work func(T)) {
	t.Helper()
	n := 0.0
	for range 3 {
		prepared := []T{prepare(), prepare()} // AllocsPerRun has a run to warm up
		n = testing.AllocsPerRun(1, func() {
			work(prepared[0])
			prepared = prepared[1:]
		})
		if n == 0 {
			return
		}
	}
	t.Errorf("%s: %v allocations, want none", what, n)
}

func TestNewDoesNotAllocateAfterReserve(t *testing.T) {
	// "New is the only call that allocates, and only when the arena grows: amortised O(1), and
	// never within the room that Reserve made."
	eachThatNeverAllocates(t, func(t *testing.T, fresh func() Facility) {
		reserved := func() Facility {
			f := fresh()
			f.Reserve(1000)
			return f
		}
		wantNoAllocs(t, "New and Free after Reserve", reserved, func(f Facility) {
			for range 3 {
				for i := range 1000 {
					f.Schedule(f.New(uint64(i)), Time(i)*ms)
				}
				for i := range 1000 {
					f.Free(Timer(i + 1))
				}
			}
		})
	})
}

// workload has everything that its operations need, so that they allocate nothing themselves.
type workload struct {
	Facility
	random
	now     Time
	restart func(t Timer) // soon, half of the time
}

const workloadTimers = 400

func newWorkload(f Facility, reserve bool) *workload {
	w := &workload{Facility: f}
	w.restart = func(t Timer) {
		if w.next(2) == 0 {
			w.Schedule(t, w.Now()+Time(w.next(500))*ms)
		}
	}
	if reserve {
		f.Reserve(workloadTimers)
	}
	for range workloadTimers {
		f.New(0)
	}
	return w
}

// all starts all timers, the i-th at at(i).
func (w *workload) all(at func(i Time) Time) {
	for i := range Time(workloadTimers) {
		w.Schedule(Timer(i+1), at(i))
	}
}

var workloads = []struct {
	name string
	run  func(w *workload)
}{
	{"START of all, then STOP of all", func(w *workload) {
		w.all(func(i Time) Time { return i * ms })
		for i := range Timer(workloadTimers) {
			w.Stop(i + 1)
		}
	}},
	{"all for one tick, and expired", func(w *workload) {
		w.all(func(Time) Time { return 100 * ms })
		w.Advance(1000*ms, 0, ignore)
	}},
	{"all for one slot in turn", func(w *workload) {
		for slot := range Time(8) {
			w.all(func(Time) Time { return (1000 + slot) * ms })
		}
	}},
	{"all overdue", func(w *workload) {
		for range 3 {
			w.all(func(Time) Time { return 0 })
			w.Advance(0, 0, ignore)
		}
	}},
	{"restarted in their expiry", func(w *workload) {
		w.all(func(i Time) Time { return i % 97 * ms })
		for ; w.now < 1000*ms; w.now += 7 * ms {
			w.Advance(w.now, 50, w.restart)
		}
	}},
	{"one timer extended again and again", func(w *workload) {
		for ; w.now < 100*ms; w.now += 5 * us {
			w.Schedule(1, w.now+200*ms)
			w.Advance(w.now, 0, ignore)
		}
	}},
	{"any order of all calls", func(w *workload) {
		for range 20 * workloadTimers {
			t := Timer(1 + w.next(workloadTimers))
			switch w.next(8) {
			case 0:
				w.Stop(t)
			case 1:
				w.ScheduleRange(t, w.now+Time(w.next(1<<30)), w.now+1<<31)
			case 2:
				w.now += Time(w.next(uint64(20 * ms)))
				w.Advance(w.now, int(w.next(20)), w.restart)
			case 3:
				w.NextExpiry(w.now + 100*ms)
				w.NextWakeup()
			default:
				w.Schedule(t, w.now+Time(w.next(1<<31))>>w.next(22)<<w.next(12)-5*ms)
			}
		}
	}},
}

func ignore(Timer) {}

// random is a random number generator that does not allocate.
type random struct{ state uint64 }

// next returns a number below n, which is at most 2^31.
func (r *random) next(n uint64) uint64 {
	r.state = r.state*6364136223846793005 + 1442695040888963407 // Knuth's MMIX
	return r.state >> 33 % n
}

func TestStartStopAndAdvanceDoNotAllocate(t *testing.T) {
	if testing.Short() {
		t.Skip("same counts without the race detector, in a tenth of the time")
	}
	// "New makes a record and Free releases it. In between, its timer may be started and stopped
	// any number of times without an allocation."
	eachThatNeverAllocates(t, func(t *testing.T, fresh func() Facility) {
		for _, reserve := range []bool{false, true} {
			for _, w := range workloads {
				wantNoAllocs(t, w.name, func() *workload { return newWorkload(fresh(), reserve) }, w.run)
			}
		}
	})
}

func TestLazyMemoryStaysBounded(t *testing.T) {
	// "A record is in the structure at most once, so memory cannot grow."
	eachThatNeverAllocates(t, func(t *testing.T, fresh func() Facility) {
		rng := rand.New(rand.NewSource(1))
		prepare := func() Facility {
			f := fresh()
			for range 8 {
				f.New(0)
			}
			return f
		}
		wantNoAllocs(t, "30,000 STARTs, STOPs and restarts", prepare, func(f Facility) {
			for i := range 30_000 {
				timer := Timer(1 + rng.Intn(8))
				f.Schedule(timer, Time(i)*us+Time(rng.Intn(1<<30)))
				f.Stop(timer)
				f.Schedule(timer, Time(i)*us+Time(rng.Intn(1<<30)))
				if i%64 == 0 {
					f.Advance(Time(i)*us, 0, ignore)
				}
			}
		})
		f := prepare()
		for i := range 1000 {
			f.Schedule(Timer(1+i%8), Time(i)*ms)
			f.Stop(Timer(1 + i%8))
		}
		if f.Len() != 0 {
			t.Errorf("Len() = %d, want 0: all were stopped", f.Len())
		}
		if err := f.check(); err != nil {
			t.Error(err)
		}
	})
}
