package wheel

import (
	"math"
	"testing/synctest"
	"time"
)

// SleepTo brings the clock of a facility on the machine's clock ("runtime") to now, and waits
// until the runtime has fired every timer due by then. An Advance(now) that follows does what it
// does in other schemes. Call it in the synctest bubble that f was made in. For other schemes it
// does nothing.
//
// The clock of a bubble ends 262 years after it began. It then stands still, and timers for any
// later instant fire.
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
