package tailmap

import (
	"slices"
	"time"

	"tcpwheel/wheel/stat"
)

// lateness starts to measure how late this machine wakes a goroutine that sleeps for a millisecond.
// end stops it and returns the median and the greatest lateness: a busy machine wakes it late.
func lateness() (end func() (median, most time.Duration)) {
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
		return time.Duration(stat.Median(late)), slices.Max(late)
	}
}
