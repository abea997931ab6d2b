package wheel

import (
	"fmt"
	"sync"
)

// Sharded is the timer facility for several processors (the paper's Appendix B): one facility per
// shard, each behind its own lock, so that processors that keep to their shard never wait for
// each other. Multiple goroutines may invoke its methods.
//
// A call holds its shard's lock for as long as the scheme's routine takes: O(n) for a START of
// Scheme 2, as the paper warns, and O(1) for a START of Scheme 6. Holds measures it in elementary
// operations.
type Sharded struct {
	shards []shard
	count  bool
}

type shard struct {
	mu sync.Mutex
	Facility
	holds  Holds
	fired  []uint64      // the argument of Advance
	n      int           // how many it holds
	expire func(t Timer) // appends to fired
	_      [64]byte      // keeps the locks of neighbours in different cache lines
}

// ShardTimer is the handle of a timer of one shard.
type ShardTimer struct {
	Shard uint32
	Timer Timer
}

// Holds measures how long a lock was held: the visits to timer records under it, plus one per
// call.
type Holds struct {
	Calls   uint64 `json:"calls"`
	Steps   uint64 `json:"steps"`   // of all calls
	Longest uint64 `json:"longest"` // of one call
}

// NewSharded makes n facilities, at least 1, of the named scheme, each with cfg.
func NewSharded(n int, scheme string, cfg Config) (*Sharded, error) {
	if n < 1 {
		return nil, fmt.Errorf("wheel: shards %d, want at least 1", n)
	}
	s := &Sharded{shards: make([]shard, n), count: cfg.Count}
	for i := range s.shards {
		f, err := New(scheme, cfg)
		if err != nil {
			return nil, err
		}
		h := &s.shards[i]
		h.Facility = f
		h.expire = func(t Timer) { h.fired[h.n] = f.Owner(t); h.n++ }
	}
	return s, nil
}

// Shards returns the number of shards.
func (s *Sharded) Shards() int { return len(s.shards) }

// New makes a timer record in a shard: see Facility.New.
func (s *Sharded) New(shard int, owner uint64) (t ShardTimer) {
	s.do(uint32(shard), func(f Facility) { t = ShardTimer{uint32(shard), f.New(owner)} })
	return t
}

// Free releases the record of t.
func (s *Sharded) Free(t ShardTimer) {
	s.do(t.Shard, func(f Facility) { f.Free(t.Timer) })
}

// Schedule starts t: see Facility.Schedule.
func (s *Sharded) Schedule(t ShardTimer, deadline Time) {
	s.do(t.Shard, func(f Facility) { f.Schedule(t.Timer, deadline) })
}

// Stop stops t and reports whether it was running. A timer that Advance has already returned, to
// any goroutine, was not.
func (s *Sharded) Stop(t ShardTimer) (stopped bool) {
	s.do(t.Shard, func(f Facility) { stopped = f.Stop(t.Timer) })
	return stopped
}

// Advance does PER_TICK_BOOKKEEPING for one shard up to now. It fills fired with the owners of
// expired timers, in the order of expiry, and returns how many. done is false if there may be
// more. It takes the lock once; the caller does EXPIRY PROCESSING without it.
func (s *Sharded) Advance(shard int, now Time, fired []uint64) (n int, done bool) {
	if len(fired) == 0 {
		return 0, false
	}
	s.do(uint32(shard), func(f Facility) {
		h := &s.shards[shard]
		h.fired, h.n = fired, 0
		n, done = f.Advance(now, len(fired), h.expire)
		h.fired = nil
	})
	return n, done
}

// NextWakeup returns the first instant at which Advance of the shard may have work to do.
func (s *Sharded) NextWakeup(shard int) (at Time, ok bool) {
	s.do(uint32(shard), func(f Facility) { at, ok = f.NextWakeup() })
	return at, ok
}

// Len returns the number of running timers of all shards.
func (s *Sharded) Len() (n int) {
	for i := range s.shards {
		s.do(uint32(i), func(f Facility) { n += f.Len() })
	}
	return n
}

// Holds returns how long the lock of a shard was held, all 0 unless Config.Count was set.
func (s *Sharded) Holds(shard int) Holds {
	h := &s.shards[shard]
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.holds
}

// do runs f on a shard under its lock.
func (s *Sharded) do(i uint32, f func(Facility)) {
	h := &s.shards[i]
	h.mu.Lock()
	defer h.mu.Unlock()
	if !s.count {
		f(h.Facility)
		return
	}
	before := h.Counts().Visits()
	f(h.Facility)
	steps := h.Counts().Visits() - before + 1
	h.holds.Calls++
	h.holds.Steps += steps
	h.holds.Longest = max(h.holds.Longest, steps)
}
