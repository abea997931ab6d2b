package wheel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// In the virtual time of a bubble, the runtime's timers do exactly what the ordered list does.
func TestRuntimeAgreesWithOrderedList(t *testing.T) {
	run := func(scheme string, seed uint64) (log []string) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 6))
			f := MustNew(scheme, Config{Tick: 3 * time.Millisecond, Origin: -1000, Count: true})
			timers, now := make([]Timer, 20), Time(-1000)
			for i := range timers {
				timers[i] = f.New(uint64(i))
			}
			step := func() {
				x := timers[r.IntN(len(timers))]
				if r.IntN(3) == 0 {
					log = append(log, fmt.Sprint("stop ", x, f.Stop(x)))
				} else {
					f.Schedule(x, now.Add(time.Duration(r.IntN(60)-5)*time.Millisecond))
				}
			}
			for range 500 {
				step()
				if r.IntN(4) != 0 {
					continue
				}
				now = now.Add(time.Duration(r.IntN(50)) * time.Millisecond)
				SleepTo(f, now)
				n, done := f.Advance(now, r.IntN(4), func(x Timer) {
					log = append(log, fmt.Sprint("expire ", x, f.Now()))
					step()
				})
				at, ok := f.NextExpiry(now.Add(time.Hour))
				log = append(log, fmt.Sprint(n, done, f.Now(), f.Len(), at, ok))
				if err := f.check(); err != nil {
					t.Fatal(err)
				}
			}
			c := f.Counts()
			log = append(log, fmt.Sprint(c.Starts, c.Stops, c.Expiries, c.Wakeups))
		})
		return log
	}
	for seed := range uint64(20) {
		if got, want := run("runtime", seed), run("scheme2", seed); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %d events differ from the %d of scheme2", seed, len(got), len(want))
		}
	}
}

// A STOP or START may come after the runtime fired the timer, before or after its function has
// reached the queue. Either way that run does not count.
func TestRuntimeStaleRunDoesNotCount(t *testing.T) {
	for _, waits := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := MustNew("runtime", Config{Count: true})
			stopped, moved, kept := f.New(0), f.New(1), f.New(2)
			var got []string
			advance := func(now Time) {
				SleepTo(f, now)
				f.Advance(now, 0, func(x Timer) { got = append(got, fmt.Sprint(x, f.Now())) })
			}
			ms := Time(time.Millisecond)
			for _, x := range []Timer{stopped, moved, kept} {
				f.Schedule(x, 10*ms)
			}
			time.Sleep(10 * time.Millisecond)
			if waits {
				synctest.Wait()
			}
			if !f.Stop(stopped) {
				t.Error("Stop of a due timer = false, want true")
			}
			f.Schedule(moved, 20*ms)
			f.Schedule(moved, 30*ms)
			advance(10 * ms)
			advance(29 * ms)
			if err := f.check(); err != nil {
				t.Error(err)
			}
			advance(30 * ms)
			if want := []string{fmt.Sprint(kept, " 10ms"), fmt.Sprint(moved, " 30ms")}; !slices.Equal(got, want) {
				t.Errorf("waits %v: expired %v, want %v", waits, got, want)
			}
			for x, r := range f.(*runtimeTimers).records {
				if r.stale != 0 {
					t.Errorf("waits %v: timer %d waits for %d stale runs", waits, x, r.stale)
				}
			}
		})
	}
}

// The queue does not grow by runs that were overtaken before an Advance saw them.
func TestRuntimeQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := MustNew("runtime", Config{}).(*runtimeTimers)
		x := f.New(0)
		for i := range 100 {
			at := Time(i) * Time(time.Millisecond)
			f.Schedule(x, at.Add(time.Millisecond))
			SleepTo(f, at.Add(time.Millisecond))
			if len(f.ran) > 1 || f.records[x].stale != 0 {
				t.Fatalf("%d runs in the queue, %d of them stale, want 1 at most", len(f.ran), f.records[x].stale)
			}
			if i%2 == 0 {
				f.Stop(x)
			}
		}
	})
}

// A now ahead of the machine's clock gets only what the runtime has fired. The rest is late, and
// Now does not go back.
func TestRuntimeAheadOfTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := MustNew("runtime", Config{})
		x := f.New(0)
		second := Time(time.Second)
		f.Schedule(x, second)
		if n, done := f.Advance(5*second, 0, nil); n != 0 || !done || f.Len() != 1 {
			t.Errorf("Advance before the runtime has run anything = %d, %v, want 0, true", n, done)
		}
		if at, ok := f.NextWakeup(); at != 5*second || !ok {
			t.Errorf("NextWakeup() = %v, %v, want now", at, ok)
		}
		SleepTo(f, second)
		n, _ := f.Advance(5*second, 0, func(Timer) {
			if f.Now() != 5*second {
				t.Errorf("Now() = %v in a late expiry, want 5s", f.Now())
			}
		})
		if n != 1 || f.Len() != 0 {
			t.Errorf("%d expired when the runtime had run it, want 1", n)
		}
	})
}

// On the machine's clock: no timer is early, lost or expired twice, whatever races with the
// runtime.
func TestRuntimeOnTheMachinesClock(t *testing.T) {
	const n = 500
	r := rand.New(rand.NewPCG(6, 6))
	f := MustNew("runtime", Config{Tick: 100 * time.Microsecond})
	start := f.(*runtimeTimers).start
	due := map[Timer]Time{}
	for range n {
		f.New(0)
	}
	stops, expiries := 0, 0
	// On a busy machine the deadlines may all have passed here.
	goOn := func() bool { return time.Since(start) < 50*time.Millisecond || stops == 0 || expiries == 0 }
	for goOn() || f.Len() > 0 {
		if x := Timer(1 + r.IntN(n)); goOn() {
			_, running := due[x]
			switch {
			case r.IntN(3) > 0:
				due[x] = Time(time.Since(start)).Add(time.Duration(r.IntN(1_000_000)))
				f.Schedule(x, due[x])
			case f.Stop(x) != running:
				t.Fatalf("Stop(%d) = %v, want %v", x, !running, running)
			default:
				delete(due, x)
				stops++
			}
		}
		f.Advance(Time(time.Since(start)), 0, func(x Timer) {
			at, running := due[x]
			switch elapsed := Time(time.Since(start)); {
			case !running:
				t.Fatalf("timer %d expired and did not run", x)
			case elapsed < at:
				t.Fatalf("timer %d expired at %v, before its deadline %v", x, elapsed, at)
			}
			delete(due, x)
			expiries++
		})
	}
	if err := f.check(); err != nil {
		t.Error(err)
	}
	if len(due) != 0 || expiries == 0 || stops == 0 {
		t.Errorf("%d timers lost, %d expired, %d stopped", len(due), expiries, stops)
	}
}

// Only the first START of a record allocates: its time.Timer and the function.
func TestRuntimeRestartDoesNotAllocate(t *testing.T) {
	f := MustNew("runtime", Config{})
	f.Reserve(1)
	x := f.New(0)
	f.Schedule(x, Time(time.Hour))
	if got := testing.AllocsPerRun(100, func() {
		f.Schedule(x, Time(2*time.Hour))
		f.Stop(x)
		f.Schedule(x, Time(time.Hour))
	}); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
	f.Stop(x)
}
