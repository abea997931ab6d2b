package tuntest

import (
	"sync"
	"testing"
	"time"
)

// Lateness begins to look at how late a goroutine that sleeps is woken up, and returns what ends that and tells the most. The end of the
// test ends it, too.
func Lateness(t testing.TB) (end func() time.Duration) {
	stop, most := make(chan struct{}), make(chan time.Duration, 1)
	go func() {
		for late := time.Duration(0); ; {
			const nap = time.Millisecond
			start := time.Now()
			select {
			case <-stop:
				most <- late
				return
			case <-time.After(nap):
				late = max(late, time.Since(start)-nap)
			}
		}
	}()
	ended := sync.OnceFunc(func() { close(stop) })
	t.Cleanup(ended)
	return func() time.Duration { ended(); return <-most }
}
