package wheel

import (
	"fmt"
	"math"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// From linux/time.h and linux/timerfd.h. The flags of timerfd_create are those of open, which differ by architecture.
const (
	clockMonotonic = 1
	timerAbsolute  = 1 // TFD_TIMER_ABSTIME
)

// lastSecond is the last second to which a clock is set: 68 years of uptime, what the 32-bit architectures can express.
// A clock set for later goes off then, which is early, and is set again.
const lastSecond = math.MaxInt32

// timerfd is an alarm clock made of a timerfd, which the kernel serves from a high-resolution timer with no slack. It
// is set to absolute instants, so that a goroutine that is preempted on its way to set it does not make it late.
//
// Its number of expiries is never read, which would be two system calls per wake-up, one to find nothing before the
// goroutine parks, and 1 to 2 µs of lateness: setting the timer clears the number, and the netpoller reports edges, so
// that only a timer that expires after it was set wakes anybody up.
type timerfd struct {
	alarm  *Alarm
	noSpin bool // no leads
	fd     uintptr
	file   *os.File // the same descriptor, registered with the netpoller
	conn   syscall.RawConn
	base   Time // what CLOCK_MONOTONIC shows at instant 0

	next   atomic.Int64       // the instant for which wait has not returned yet, or unset
	lead   atomic.Int64       // how much earlier the timer was set
	class  atomic.Int64       // that of the sleep until then
	leads  leads              // what was learnt from the sleeps before
	came   func(uintptr) bool // hasCome, as conn takes it
	parked bool               // wait has parked the goroutine since it was called
}

// itimerspec is the kernel's. syscall.Timespec has the layout that the calls without "64" in their name take.
type itimerspec struct {
	interval, value syscall.Timespec
}

// newSystemClock makes the most precise alarm clock that the system has: here, a timerfd.
func newSystemClock(a *Alarm, noSpin bool) (alarmClock, error) {
	const flags = syscall.O_NONBLOCK | syscall.O_CLOEXEC
	fd, _, errno := syscall.RawSyscall(syscall.SYS_TIMERFD_CREATE, clockMonotonic, flags, 0)
	if errno != 0 {
		return nil, fmt.Errorf("wheel: %w", os.NewSyscallError("timerfd_create", errno))
	}
	c := &timerfd{alarm: a, fd: fd, file: os.NewFile(fd, "timerfd"), noSpin: noSpin}
	c.next.Store(unset)
	c.came = c.hasCome
	err := c.readBase()
	if err == nil {
		// Only a file that the netpoller has accepted has deadlines.
		err = c.file.SetReadDeadline(time.Time{})
	}
	if err == nil {
		c.conn, err = c.file.SyscallConn()
	}
	if err != nil {
		c.file.Close()
		return nil, fmt.Errorf("wheel: timerfd: %w", err)
	}
	return c, nil
}

// readBase finds out what CLOCK_MONOTONIC shows at instant 0. The runtime reads the same clock but does not tell its
// reading, so that the two are read one after the other. The tightest of several pairs is kept; as now is read first,
// what is left of the error, a fraction of a microsecond, lets the clock go off late and not early.
func (c *timerfd) readBase() error {
	tightest := Time(math.MaxInt64)
	for range 16 {
		var ts syscall.Timespec
		before := c.alarm.Now()
		_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&ts)), 0)
		if errno != 0 {
			return os.NewSyscallError("clock_gettime", errno)
		}
		if span := c.alarm.Now() - before; span < tightest {
			tightest, c.base = span, Time(ts.Nano())-before
		}
	}
	return nil
}

func (c *timerfd) set(at Time) {
	lead, class := time.Duration(0), 0
	if sleep := at.Sub(c.alarm.Now()); sleep > 0 && !c.noSpin {
		class = leadClass(sleep)
		lead = c.leads.lead(class, sleep)
	}
	c.lead.Store(int64(lead))
	c.class.Store(int64(class))
	c.next.Store(int64(at))
	// An instant long past is set to the first nanosecond of the clock, because its zero disarms.
	ns := min(max(c.base.Add(time.Duration(at)-lead), 1), lastSecond*1e9)
	c.settime(itimerspec{value: syscall.NsecToTimespec(int64(ns))})
}

func (c *timerfd) clear(pending bool) {
	c.next.Store(unset)
	if pending {
		c.settime(itimerspec{})
	}
}

// settime also forgets an expiry that has been. The call does not block, so the scheduler need not know of it.
func (c *timerfd) settime(spec itimerspec) {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_TIMERFD_SETTIME, c.fd, timerAbsolute,
		uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	if errno != 0 {
		panic(fmt.Sprintf("BUG: wheel: timerfd_settime: %v", errno))
	}
}

// wait parks the goroutine until the netpoller reports the descriptor. It fails only when that is closed.
func (c *timerfd) wait() bool {
	c.parked = false
	return c.conn.Read(c.came) == nil
}

// hasCome is asked when wait begins, and again each time that the netpoller has reported the descriptor. Between the
// instant for which the timer was set and the one that was asked for, which is the lead, it spins.
//
// When wait begins, the netpoller forgets what it reported before, be it for the instant that is set now; so the clock
// tells whether that has come. The instant is stored before the timer is set: if it is missed here, the report is yet
// to come. A report before its instant is that of one which was replaced, and passed on all the same, as Wait allows:
// nothing here depends on the kernel and the runtime agreeing on the time to the nanosecond.
func (c *timerfd) hasCome(uintptr) bool {
	reported := c.parked
	c.parked = true
	for learn := reported; ; learn = false {
		at, now := Time(c.next.Load()), c.alarm.Now()
		woken := at - Time(c.lead.Load()) // loaded after next, as it is stored before
		switch {
		case at == unset:
			return false
		case now < woken:
			return reported
		case learn:
			c.leads.learn(int(c.class.Load()), now.Sub(woken))
		}
		if at <= now {
			c.next.CompareAndSwap(int64(at), unset)
			return true
		}
	}
}

func (c *timerfd) close() error { return c.file.Close() }
