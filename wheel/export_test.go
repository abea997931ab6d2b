package wheel

import (
	"math"
	"testing/synctest"
	"time"
)

// SleepTo brings the clock of a facility that lives on the machine's clock ("runtime") to now, and waits until the
// runtime has run every timer that is due by then: an Advance(now) that follows does what it does in other schemes. It
// has to be called in the synctest bubble in which f was made. For other schemes it does nothing.
//
// The clock of a bubble ends 262 years after it began. There it stands still, and timers for any later instant run.
func SleepTo(f Facility, now Time) {
	r, ok := f.(*runtimeTimers)
	if !ok {
		return
	}
	if time.Now().UnixNano() < math.MaxInt64 {
		time.Sleep(r.untilTime(max(now, r.origin)))
	}
	synctest.Wait()
}
