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

// From linux/time.h and linux/timerfd.h. The flags of timerfd_create are those of open, which
// differ by architecture.
const (
	clockMonotonic = 1
	timerAbsolute  = 1 // TFD_TIMER_ABSTIME
)

// lastSecond is the last second to which the clock is set: 68 years of uptime, the range of
// 32-bit architectures. An alarm for a later instant goes off then, early, and is set again.
const lastSecond = math.MaxInt32

// timerfd is an alarm clock made of a timerfd, which the kernel serves from a high-resolution
// timer without slack. It is set to absolute instants, so a goroutine that is preempted before
// setting it does not make it late.
//
// Its count of expiries is never read: that would cost two system calls per wake-up, one of them
// to find nothing before the goroutine parks, and 1 to 2 µs of lateness. Setting the timer clears
// the count, and the netpoller reports edges, so only an expiry after the timer was set wakes the
// goroutine.
type timerfd struct {
	alarm  *Alarm
	noSpin bool // without leads
	fd     uintptr
	file   *os.File // the same descriptor, registered with the netpoller
	conn   syscall.RawConn
	base   Time // CLOCK_MONOTONIC at instant 0

	next   atomic.Int64       // the instant that wait has not returned for yet, or unset
	lead   atomic.Int64       // how much earlier the timer was set
	class  atomic.Int64       // leadClass of the sleep until then
	leads  leads              // learnt from earlier sleeps
	came   func(uintptr) bool // c.hasCome as a function value
	parked bool               // the current call of wait has parked the goroutine
}

// itimerspec is the kernel's struct. syscall.Timespec has the layout of the calls without "64" in
// their name.
type itimerspec struct {
	interval, value syscall.Timespec
}

// newSystemClock makes the most precise alarm clock of the system: here, a timerfd. It returns
// errFakeClock in a bubble.
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
		if err == errFakeClock {
			return nil, err
		}
		return nil, fmt.Errorf("wheel: timerfd: %w", err)
	}
	return c, nil
}

// readBase finds CLOCK_MONOTONIC at instant 0. The runtime reads the same clock but does not
// return its reading, so the two are read one after the other, and the tightest of 16 pairs
// counts. Now is read first, so the remaining error, a fraction of a microsecond, makes the clock
// late and not early.
//
// If the kernel's clock moves while Now stands still, package time has a fake clock:
// errFakeClock.
func (c *timerfd) readBase() error {
	tightest := Time(math.MaxInt64)
	begin, kernelBegin, kernel := c.alarm.Now(), Time(0), Time(0)
	for range 16 {
		var ts syscall.Timespec
		before := c.alarm.Now()
		_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&ts)), 0)
		if errno != 0 {
			return os.NewSyscallError("clock_gettime", errno)
		}
		if kernel = Time(ts.Nano()); kernelBegin == 0 {
			kernelBegin = kernel
		}
		if span := c.alarm.Now() - before; span < tightest {
			tightest, c.base = span, kernel-before
		}
	}
	if kernel > kernelBegin && c.alarm.Now() == begin {
		return errFakeClock
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
	// An instant long past is set to the clock's first nanosecond, because zero disarms.
	ns := min(max(c.base.Add(time.Duration(at)-lead), 1), lastSecond*1e9)
	c.settime(itimerspec{value: syscall.NsecToTimespec(int64(ns))})
}

func (c *timerfd) clear(pending bool) {
	c.next.Store(unset)
	if pending {
		c.settime(itimerspec{})
	}
}

// settime also forgets a past expiry. The call does not block, so the scheduler need not know of
// it.
func (c *timerfd) settime(spec itimerspec) {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_TIMERFD_SETTIME, c.fd, timerAbsolute,
		uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	if errno != 0 {
		panic(fmt.Sprintf("BUG: wheel: timerfd_settime: %v", errno))
	}
}

// wait parks the goroutine until the netpoller reports the descriptor. It fails only once that is
// closed.
func (c *timerfd) wait() bool {
	c.parked = false
	return c.conn.Read(c.came) == nil
}

// hasCome is called when wait begins, and again each time the netpoller reports the descriptor.
// It spins through the lead: from the instant the timer was set to, until the instant asked for.
//
// When wait begins, the netpoller forgets earlier reports, even one for the instant set now. So
// the clock decides whether that instant has come. The instant is stored before the timer is set:
// if it is missed here, its report is yet to come. A report before its instant belongs to a
// replaced instant and is passed on, as Wait allows. Nothing here needs the kernel and the
// runtime to agree to the nanosecond.
func (c *timerfd) hasCome(uintptr) bool {
	reported := c.parked
	c.parked = true
	for learn := reported; ; learn = false {
		at, now := Time(c.next.Load()), c.alarm.Now()
		woken := at - Time(c.lead.Load()) // loaded after next, because it is stored before
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
