package netns

import (
	"sync"
	"time"
)

// Lateness starts to measure how late a sleeping goroutine wakes up, and returns a function that
// stops it and returns the largest lateness so far. The end of the test stops it too.
func Lateness(t interface{ Cleanup(func()) }) (stop func() time.Duration) {
	done, most := make(chan struct{}), make(chan time.Duration, 1)
	go func() {
		for late := time.Duration(0); ; {
			const nap = time.Millisecond
			start := time.Now()
			select {
			case <-done:
				most <- late
				return
			case <-time.After(nap):
				late = max(late, time.Since(start)-nap)
			}
		}
	}()
	end := sync.OnceFunc(func() { close(done) })
	t.Cleanup(end)
	return func() time.Duration { end(); return <-most }
}
