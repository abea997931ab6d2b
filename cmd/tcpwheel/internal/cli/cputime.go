//go:build unix

package cli

import (
	"syscall"
	"time"
)

// cpuTime returns the process's CPU time, garbage collection included.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic("BUG: getrusage of the process itself: " + err.Error())
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
