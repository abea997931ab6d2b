package wheel

import "fmt"

// callout is the callout list of 4.4BSD (the paper's §VII): ordered by expiry, with differential
// times. The first callout holds the ticks from now to its expiry, each other one the ticks
// between its predecessor's expiry and its own. So the clock counts down only the first. START
// searches from the head, O(n), and subtracts the differences it passes; the record after the new
// one gives up as many ticks. STOP by handle adds the difference of the stopped timer to its
// successor, O(1). For callers that know only func and argument, as those of untimeout did, there
// is Callouts. PER TICK BOOKKEEPING is O(1).
//
// The "now" of the first difference is front.cur. The clock jumps from one expiry to the next, so
// the first difference gives up a whole gap at once and never falls below 0. Timers of one tick
// expire in START order. (4.4BSD's search stopped before callouts of the same tick, which
// reversed them.)
//
// StartVisits, Comparisons and TickVisits are counted as in scheme2.
type callout struct {
	front
	diff []uint64 // c_time by record: ticks after the predecessor's expiry; of the first, after cur
}

func newCallout(name string, cfg Config) Facility {
	s := &callout{diff: make([]uint64, 1)}
	s.init(name, s, cfg, 1)
	return s
}

// insert is the search of timeout.
func (s *callout) insert(t uint32) {
	ticks, passed := s.nodes[t].tick-s.cur, uint64(0)
	at := s.lists[listFirst].head
	for ; at != 0 && s.diff[at] <= ticks; at = s.nodes[at].next {
		ticks -= s.diff[at]
		passed++
	}
	s.diff[t] = ticks
	if at != 0 {
		s.diff[at] -= ticks
	}
	if s.counting {
		s.counts.StartVisits += passed
		s.counts.Comparisons += passed
		if at != 0 {
			s.counts.Comparisons++
		}
	}
	s.insertBefore(listFirst, at, t)
}

func (s *callout) remove(t uint32) {
	if next := s.nodes[t].next; next != 0 {
		s.diff[next] += s.diff[t]
	}
	s.unlink(t)
}

func (s *callout) reserve(n int) { s.diff = append(make([]uint64, 0, n+1), s.diff...)[:n+1] }

// collect is hardclock, which counts down the first difference, and the part of softclock that
// removes the due callouts.
func (s *callout) collect(target uint64) bool {
	head, gap := s.lists[listFirst].head, target-s.cur
	if head == 0 || s.diff[head] > gap {
		if head != 0 {
			s.diff[head] -= gap
			if s.counting {
				s.counts.TickVisits++
			}
		}
		s.cur = target
		return false
	}
	s.cur += s.diff[head]
	s.diff[head] = 0
	if s.counting {
		s.counts.Wakeups++
	}
	for head != 0 && s.diff[head] == 0 {
		s.unlink(head)
		s.pushBack(listDue, head)
		if s.counting {
			s.counts.TickVisits++
		}
		head = s.lists[listFirst].head
	}
	return true
}

func (s *callout) nextExpiry(limit uint64) uint64 {
	if head := s.lists[listFirst].head; head != 0 {
		return s.cur + s.diff[head]
	}
	return limit + 1
}

func (s *callout) nextWakeup() uint64 { return s.cur + s.diff[s.lists[listFirst].head] }

// verify checks that the differences add up to the ticks of expiry.
func (s *callout) verify() (int, error) {
	sum := s.cur
	return s.checkList(listFirst, func(t uint32) error {
		sum += s.diff[t]
		if sum <= s.cur {
			return fmt.Errorf("timer %d has tick %d, which has passed, now %d", t, sum, s.cur)
		}
		if tick := s.nodes[t].tick; sum != tick {
			return fmt.Errorf("timer %d has tick %d, its differences add up to %d", t, tick, sum)
		}
		return nil
	})
}
