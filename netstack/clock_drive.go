package netstack

import (
	"math"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/wheel"
)

// Advance lets d pass: it runs all functions that come due, those that are started meanwhile included, and leaves the
// clock d later. It returns how many it ran. Advance(0) runs what is due now. A negative d counts as 0. Functions that
// start timers of 0 for ever keep it for ever.
func (c *VirtualClock) Advance(d time.Duration) (n int) {
	until := c.Time().Add(max(d, 0))
	n = c.drive(until, math.MaxInt)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = max(c.now, until)
	return n
}

// Run runs functions until no timer runs, or the next is due later than limit from now. It returns how many it ran, and
// leaves the clock at the last of them. Without a limit, a keepalive timer that starts itself again keeps it for ever.
func (c *VirtualClock) Run(limit time.Duration) (n int) {
	return c.drive(c.Time().Add(max(limit, 0)), math.MaxInt)
}

// Step runs the next function, however late it is due, and leaves the clock there. It reports whether there was one, so
// that a driver may wait for a condition:
//
//	for !done && clock.Step() {
//	}
func (c *VirtualClock) Step() bool { return c.drive(math.MaxInt64, 1) == 1 }

// SetSettle has the driver call settle when Advance, Run or Step begin, and after each function: time passes, and the
// next function runs, when it has returned. It is for waiting until other goroutines have done what the function, or
// the driver before, gave them to do. They may start and stop timers; settle must not drive the clock.
func (c *VirtualClock) SetSettle(settle func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle = settle
}

// drive runs up to limit functions that are due by until, and returns how many.
func (c *VirtualClock) drive(until wheel.Time, limit int) (n int) {
	settle := c.begin()
	defer c.end()
	settle()
	for ; n < limit; n++ {
		f := c.next(until)
		if f == nil {
			break
		}
		f()
		settle()
	}
	return n
}

func (c *VirtualClock) begin() (settle func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.driven {
		panic("BUG: netstack: virtual clock driven by two, or from the function of a timer")
	}
	c.driven = true
	if c.settle == nil {
		return func() {}
	}
	return c.settle
}

func (c *VirtualClock) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.driven = false
}

// next moves the clock to the next timer that is due by until, and returns its function, or nil if there is none.
func (c *VirtualClock) next(until wheel.Time) (f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.due = nil; c.due == nil; {
		at, ok := c.wheel.NextExpiry(until)
		if !ok {
			return nil
		}
		// One expiry at a time, so that a function may still stop those of its own tick.
		c.now = max(c.now, at)
		c.wheel.Advance(c.now, 1, c.onExpiry)
	}
	return c.due.f
}

// Settle waits until the goroutines in which gVisor's TCP handles the segments that the stacks received have nothing left
// to do. It is made for VirtualClock.SetSettle:
//
//	clock.SetSettle(func() { netstack.Settle(a, b) })
//
// With it a run of gVisor's own TCP is deterministic, packet by packet, on these conditions:
//
//   - Options.RandSource and Options.SecureRNG of each stack are seeded (NewSeededSource): sequence numbers, timestamps and
//     ports are drawn from them.
//   - Links deliver in functions of the clock, and not from within WritePackets: a pipe or loopback link hands segments
//     to the receiver's goroutines while the sender's still sends, and how many a receiver finds together is a race.
//   - The program calls the stacks from the driver only, in functions of timers or between Advance and Advance. What
//     waiter.Queue notifies runs in gVisor's goroutines, one event at a time, before Settle returns.
//
// It needs no condition on GOMAXPROCS, by which gVisor's TCP counts its goroutines: with one event at a time, one of
// them works. Where links do deliver from within WritePackets, Settle still waits for all of them.
//
// Settle must not be called with stacks that are closed, or from the goroutines of the stacks: it would wait for ever.
// It does nothing to transport protocols without goroutines.
func Settle(stacks ...*stack.Stack) {
	for before := segmentsReceived(stacks); ; {
		// A stack is paused when its goroutines have found their queues empty, each at a time of its own. If no segment
		// was queued meanwhile, in any stack, then they all are empty now.
		for _, s := range stacks {
			s.Pause()
			s.Resume()
		}
		after := segmentsReceived(stacks)
		if after == before {
			return
		}
		before = after
	}
}

// segmentsReceived returns how many segments gVisor's TCP has ever queued for its goroutines.
func segmentsReceived(stacks []*stack.Stack) (n uint64) {
	for _, s := range stacks {
		n += s.Stats().TCP.ValidSegmentsReceived.Value()
	}
	return n
}
