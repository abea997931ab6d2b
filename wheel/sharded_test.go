package wheel

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// longestStart returns how long one START holds the lock of a shard with n running timers, in
// elementary operations.
func longestStart(t *testing.T, scheme string, n int) uint64 {
	t.Helper()
	s, err := NewSharded(1, scheme, Config{Count: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		s.Schedule(s.New(0, uint64(i)), Time(i+1)*Time(time.Millisecond))
	}
	last := s.New(0, uint64(n))
	before := s.Holds(0)
	s.Schedule(last, Time(n+1)*Time(time.Millisecond))
	return s.Holds(0).Steps - before.Steps
}

func TestLockIsHeldInScheme2ForNStepsAndInScheme6ForOne(t *testing.T) {
	// Varghese and Lauck 1997, Appendix B: "in Scheme 2, when Processor A inserts a timer into
	// the ordered list other processors cannot process timer module routines until Processor A
	// finishes and releases its semaphore. Schemes 5-7 seem suited for implementation in
	// symmetric multiprocessors."
	for _, n := range []int{0, 10, 100, 1000, 10000} {
		for scheme, want := range map[string]uint64{
			"scheme2":       uint64(n) + 1,
			"scheme6":       1,
			"scheme6-eager": 1,
			"scheme6-list":  1,
			"scheme7":       1,
		} {
			if got := longestStart(t, scheme, n); got != want {
				t.Errorf("START in %s with %d timers held the lock for %d steps, want %d", scheme, n, got, want)
			}
		}
	}
}

func TestShardsAreIndependent(t *testing.T) {
	const shards, timers = 4, 1000
	s, err := NewSharded(shards, Default, Config{})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var fired [shards]int
	for i := range shards {
		all.Go(func() {
			handles := make([]ShardTimer, timers)
			for k := range handles {
				handles[k] = s.New(i, uint64(i)<<32|uint64(k))
				s.Schedule(handles[k], Time(k)*Time(time.Millisecond))
			}
			for k := 0; k < timers; k += 2 {
				if !s.Stop(handles[k]) {
					t.Errorf("timer %d of shard %d was not running", k, i)
				}
			}
			owners := make([]uint64, 7)
			for done := false; !done; {
				var n int
				n, done = s.Advance(i, Time(time.Second), owners)
				for _, owner := range owners[:n] {
					if owner>>32 != uint64(i) || owner%2 == 0 {
						t.Errorf("shard %d: timer of owner %#x expired", i, owner)
					}
				}
				fired[i] += n
			}
		})
	}
	all.Wait()
	if want := [shards]int{500, 500, 500, 500}; fired != want {
		t.Errorf("expired by shard: %v, want %v", fired, want)
	}
	if n := s.Len(); n != 0 {
		t.Errorf("Len() = %d, want 0", n)
	}
}

func TestShardedAllocatesNothing(t *testing.T) {
	s, err := NewSharded(1, Default, Config{})
	if err != nil {
		t.Fatal(err)
	}
	timer := s.New(0, 1)
	owners := make([]uint64, 4)
	now := Time(0)
	allocs := testing.AllocsPerRun(100, func() {
		s.Schedule(timer, now+1)
		s.Stop(timer)
		s.Schedule(timer, now+1)
		now = now.Add(2 * time.Millisecond)
		s.Advance(0, now, owners)
	})
	if allocs != 0 {
		t.Errorf("%v allocations in start, stop, start and advance, want 0", allocs)
	}
}

func ExampleSharded() {
	s, _ := NewSharded(2, Default, Config{Tick: time.Millisecond})
	t := s.New(1, 42)
	s.Schedule(t, Time(5*time.Millisecond))
	var owners [16]uint64
	n, done := s.Advance(1, Time(10*time.Millisecond), owners[:])
	fmt.Println(owners[:n], done)
	// Output: [42] true
}

func TestShardedConfigErrors(t *testing.T) {
	if _, err := NewSharded(0, Default, Config{}); err == nil || err.Error() != "wheel: shards 0, want at least 1" {
		t.Errorf("NewSharded(0) = %v", err)
	}
	if _, err := NewSharded(1, "scheme8", Config{}); err == nil {
		t.Error("NewSharded of an unknown scheme succeeded")
	}
}
