package link

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// realtimeLinks counts the links of the process that want real-time priority.
var realtimeLinks struct {
	sync.Mutex
	n int
}

// enterRealtime gives the process real-time priority, for one more link.
func enterRealtime() error {
	realtimeLinks.Lock()
	defer realtimeLinks.Unlock()
	if realtimeLinks.n++; realtimeLinks.n > 1 {
		return nil
	}
	return setPriority(true)
}

// leaveRealtime gives the process normal priority again, once no link wants another.
func leaveRealtime() error {
	realtimeLinks.Lock()
	defer realtimeLinks.Unlock()
	if realtimeLinks.n--; realtimeLinks.n > 0 {
		return nil
	}
	return setPriority(false)
}

// setPriority gives all threads of the process real-time priority, or normal priority again. New
// threads inherit it.
func setPriority(first bool) error {
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}
	if first {
		attr.Policy, attr.Priority = unix.SCHED_RR, 1
	}
	done := make(map[string]bool)
	for more := true; more; { // threads may start meanwhile
		more = false
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, t := range tasks {
			id, err := strconv.Atoi(t.Name())
			if err != nil || done[t.Name()] {
				continue
			}
			more, done[t.Name()] = true, true
			if err := unix.SchedSetAttr(id, &attr, 0); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("link: priority of real time: %w: run as root or with CAP_SYS_NICE", err)
			}
		}
	}
	return nil
}

// asOrdinary calls f on the caller's thread at normal priority. Programs that f starts inherit it.
func asOrdinary(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}
	if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
		return err
	}
	err := f()
	attr.Policy, attr.Priority = unix.SCHED_RR, 1
	return errors.Join(err, unix.SchedSetAttr(0, &attr, 0))
}

// CheckRealtime returns an error if the process may not use real-time priority.
func CheckRealtime() error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}
		done <- unix.SchedSetAttr(0, &attr, 0)
	}()
	return <-done
}
