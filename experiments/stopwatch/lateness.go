package stopwatch

import (
	"slices"
	"time"
)

// Lateness begins to look at how late a goroutine that sleeps for a millisecond is woken up, and returns what ends that and tells: how late in
// the median, and at most. It tells how busy the machine is while something else is timed.
func Lateness() (end func() (median, most time.Duration)) {
	stop, seen := make(chan struct{}), make(chan []time.Duration)
	go func() {
		var late []time.Duration
		for {
			const nap = time.Millisecond
			start := time.Now()
			select {
			case <-stop:
				seen <- late
				return
			case <-time.After(nap):
				late = append(late, time.Since(start)-nap)
			}
		}
	}()
	return func() (median, most time.Duration) {
		close(stop)
		late := <-seen
		if len(late) == 0 {
			return 0, 0
		}
		slices.Sort(late)
		return late[len(late)/2], late[len(late)-1]
	}
}
