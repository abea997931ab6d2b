package interop

import (
	"fmt"
	"sync"
	"time"
)

// lateness records how late the machine runs the process: a goroutine sleeps for 10 ms again and
// again, and notes each wake-up that is over 100 ms late. It tells a stall of the machine from one
// of TCP.
type lateness struct {
	stop chan struct{}
	done sync.WaitGroup

	mu   sync.Mutex
	gaps []gap
}

// gap is a time during which the process did not run.
type gap struct {
	end  time.Time
	late time.Duration
}

func watchLateness() *lateness {
	l := &lateness{stop: make(chan struct{})}
	l.done.Go(func() {
		const nap, least = 10 * time.Millisecond, 100 * time.Millisecond
		for last := time.Now(); ; last = time.Now() {
			select {
			case <-l.stop:
				return
			case <-time.After(nap):
			}
			if now := time.Now(); now.Sub(last) > nap+least {
				l.mu.Lock()
				l.gaps = append(l.gaps, gap{now, now.Sub(last) - nap})
				l.mu.Unlock()
			}
		}
	})
	return l
}

func (l *lateness) close() {
	close(l.stop)
	l.done.Wait()
}

// between returns the gaps that ended between two times, or up to 100 ms later: how many, the
// longest, and their sum.
func (l *lateness) between(from, to time.Time) (n int, worst, sum time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	to = to.Add(100 * time.Millisecond)
	for i := len(l.gaps) - 1; i >= 0 && l.gaps[i].end.After(from); i-- {
		if g := l.gaps[i]; g.end.Before(to) {
			n, worst, sum = n+1, max(worst, g.late), sum+g.late
		}
	}
	return n, worst, sum
}

// describe says in words what between returns for the time since from.
func (l *lateness) describe(from time.Time) string {
	n, worst, sum := l.between(from, time.Now())
	return fmt.Sprintf("in %v the machine was over 100 ms late %d times, %v in all, %v at most",
		time.Since(from).Round(time.Millisecond), n, sum.Round(time.Millisecond), worst.Round(time.Millisecond))
}
