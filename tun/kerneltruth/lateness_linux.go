package kerneltruth

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// processors guards the number of processors that Go uses.
var processors sync.Mutex

// addProcessors raises by n how many goroutines run at once.
func addProcessors(n int) {
	processors.Lock()
	defer processors.Unlock()
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + n)
}

// nap is how long the thread sleeps that measures lateness.
const nap = 2 * time.Millisecond

// measureLateness starts a thread of normal priority that sleeps again and again. stop ends it, and
// returns by how much it overslept at most. The links' own lateness is no measure: they may have
// real-time priority, and the kernel's timers have not once a softirq waits for ksoftirqd. Go takes
// the thread for a running one while it sleeps, so another goroutine may run meanwhile: else
// packets would wait for up to 10 ms.
func measureLateness() (stop func() time.Duration) {
	addProcessors(1)
	done, most := make(chan struct{}), make(chan time.Duration)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}
		length := unix.NsecToTimespec(nap.Nanoseconds())
		for late := time.Duration(0); ; {
			select {
			case <-done:
				most <- late
				return
			default:
			}
			_ = unix.SchedSetAttr(0, &attr, 0) // a link that starts raises all threads
			start := time.Now()
			if unix.Nanosleep(&length, nil) == nil {
				late = max(late, time.Since(start)-nap)
			}
		}
	}()
	return func() time.Duration {
		close(done)
		addProcessors(-1)
		return <-most
	}
}
