//go:build !linux

package wheel

// newSystemClock makes the most precise alarm clock that the system has: here, a timer of the Go runtime.
func newSystemClock(a *Alarm, _ bool) (alarmClock, error) { return newRuntimeClock(a), nil }
