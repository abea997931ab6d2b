//go:build !linux

package wheel

// newSystemClock makes the most precise alarm clock of the system: here, a timer of the Go
// runtime.
func newSystemClock(a *Alarm, _ bool) (alarmClock, error) { return newRuntimeClock(a), nil }
