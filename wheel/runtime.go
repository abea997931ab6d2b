package wheel

import (
	"fmt"
	"sync"
	"time"
)

// runtimeTimers puts the Go runtime's timers behind Facility, for comparison: one time.Timer per
// record, started by time.AfterFunc and Reset, stopped by Stop. Unlike the schemes of the paper
// it runs on the machine's clock, which is at Config.Origin when the facility is made.
//
// When the runtime fires a timer, its record goes into a queue. Advance expires those in the
// queue that are due by its now. So now should be the machine's time since the facility was made,
// plus Origin. If now is ahead of the clock, or the runtime is behind, the rest expires in a
// later Advance, late; Now does not go back for it. No timer is ever early. Tests first bring the
// clock of a synctest bubble to now, and then get what other schemes do: see SleepTo in
// export_test.go. Timers of one tick expire in START order.
//
// Only Advance calls the expiry function, on the caller's goroutine. The functions that the
// runtime calls touch nothing but the queue. The runtime keeps a facility with running timers
// alive: stop them before dropping it.
//
// The first START of a record allocates its time.Timer and function, and the runtime may allocate
// when it fires a timer. START reads the clock. NextExpiry and NextWakeup look at all timers.
// Counts exclude the runtime's own work: TickVisits are the timers that Advance took from the
// queue, Wakeups the ticks on which there were some.
type runtimeTimers struct {
	front
	start   time.Time // the instant of Origin on the machine's clock
	records []runtimeRecord
	seq     uint64   // calls of START so far
	ready   tickHeap // fired by the runtime, not expired by Advance yet
	batch   []uint32 // the other buffer of the queue

	mu  sync.Mutex
	ran []uint32 // the queue, guarded by mu: timers fired by the runtime, stale ones included
}

// runtimeRecord is the data of a record besides its node. A record is in listFirst until the
// runtime has fired its timer and the queue has been read.
type runtimeRecord struct {
	timer *time.Timer
	seq   uint64 // of the last START
	stale uint32 // entries of the timer in ran to ignore: a STOP or START overtook them
}

func newRuntimeTimers(name string, cfg Config) Facility {
	s := &runtimeTimers{start: time.Now(), records: make([]runtimeRecord, 1)}
	s.init(name, s, cfg, 1)
	return s
}

func (s *runtimeTimers) insert(t uint32) {
	s.seq++
	r := &s.records[t]
	r.seq = s.seq
	d := s.untilTime(s.time(s.nodes[t].tick))
	switch {
	case d <= 0:
		// The clock is past at, although the last Advance was not: the runtime is not needed.
		s.makeReady(t)
		return
	case r.timer == nil:
		r.timer = time.AfterFunc(d, func() { s.run(t) })
	default:
		r.timer.Reset(d)
	}
	s.pushBack(listFirst, t)
}

// untilTime returns how long the machine's clock takes to reach at.
func (s *runtimeTimers) untilTime(at Time) time.Duration {
	return at.Sub(s.origin) - time.Since(s.start)
}

// run is called by the runtime, on a goroutine of its own.
func (s *runtimeTimers) run(t uint32) {
	s.mu.Lock()
	s.ran = append(s.ran, t)
	s.mu.Unlock()
}

func (s *runtimeTimers) remove(t uint32) {
	if s.nodes[t].where == listFirst {
		stopped := s.records[t].timer.Stop()
		if !stopped {
			s.drain() // the runtime has fired it: it may be in the queue
		}
		if s.nodes[t].where == listFirst {
			if !stopped {
				s.records[t].stale++ // it is on its way to the queue
			}
			s.unlink(t)
			return
		}
	}
	s.ready.remove(&s.arena, t)
}

// drain moves the timers that the runtime has fired to ready.
func (s *runtimeTimers) drain() {
	s.mu.Lock()
	s.ran, s.batch = s.batch[:0], s.ran
	s.mu.Unlock()
	for _, t := range s.batch {
		if r := &s.records[t]; r.stale > 0 {
			r.stale--
			continue
		}
		s.unlink(t)
		s.makeReady(t)
	}
}

func (s *runtimeTimers) makeReady(t uint32) {
	s.ready.push(&s.arena, heapEntry{tick: s.nodes[t].tick, seq: s.records[t].seq, t: t})
}

func (s *runtimeTimers) collect(target uint64) bool {
	s.drain()
	if len(s.ready.entries) == 0 || s.ready.entries[0].tick > target {
		s.cur = max(s.cur, target)
		return false
	}
	tick := s.ready.entries[0].tick
	s.cur = max(s.cur, tick) // a late timer does not turn the clock back
	if s.counting {
		s.counts.Wakeups++
	}
	for len(s.ready.entries) > 0 && s.ready.entries[0].tick == tick {
		t := s.ready.entries[0].t
		s.ready.remove(&s.arena, t)
		s.pushBack(listDue, t)
		if s.counting {
			s.counts.TickVisits++
		}
	}
	return true
}

func (s *runtimeTimers) nextExpiry(limit uint64) uint64 {
	first := limit + 1
	if len(s.ready.entries) > 0 {
		first = s.ready.entries[0].tick
	}
	return max(s.earliestIn(listFirst, first), s.cur) // a late timer is due now
}

func (s *runtimeTimers) nextWakeup() uint64 { return s.nextExpiry(notRunning - 1) }

func (s *runtimeTimers) reserve(n int) {
	s.records = append(make([]runtimeRecord, 0, n+1), s.records...)[:n+1]
	s.ready.reserve(n)
	s.batch = append(make([]uint32, 0, n), s.batch...)
	s.mu.Lock()
	s.ran = append(make([]uint32, 0, n), s.ran...)
	s.mu.Unlock()
}

func (s *runtimeTimers) verify() (int, error) {
	armed, err := s.checkList(listFirst, func(t uint32) error {
		if s.records[t].timer == nil {
			return fmt.Errorf("timer %d waits for the runtime, which has none for it", t)
		}
		return nil
	})
	if err != nil {
		return armed, err
	}
	return armed + len(s.ready.entries), s.ready.check(&s.arena)
}
