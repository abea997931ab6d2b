package netns

import (
	"flag"
	"strconv"
	"sync"
	"time"
)

// TestsAtOnce sets how many parallel tests run at once, unless the command line does. Tests that
// mostly wait for timers and packets run more of them than there are processors. Call it from
// TestMain.
func TestsAtOnce(n int) {
	flag.Parse()
	isSet := false
	flag.Visit(func(f *flag.Flag) { isSet = isSet || f.Name == "test.parallel" })
	if f := flag.Lookup("test.parallel"); f != nil && !isSet {
		_ = f.Value.Set(strconv.Itoa(n))
	}
}

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
