package netstack

import (
	"math"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/wheel"
)

// Advance runs all functions that are due within d, and moves the clock by d. It also runs the
// functions that these start and that are due by then. It returns how many it ran. Advance(0) runs
// what is due now. A negative d counts as 0. Advance never returns if functions keep starting
// timers of 0.
func (c *VirtualClock) Advance(d time.Duration) (n int) {
	until := c.Time().Add(max(d, 0))
	n = c.drive(until, math.MaxInt)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = max(c.now, until)
	return n
}

// Run runs functions until no timer is left or the next is due later than limit from now. It
// returns how many it ran, and leaves the clock at the last one. Choose a limit: a keepalive timer
// restarts forever.
func (c *VirtualClock) Run(limit time.Duration) (n int) {
	return c.drive(c.Time().Add(max(limit, 0)), math.MaxInt)
}

// Step runs the next function, however late it is due, and moves the clock there. It reports
// whether there was one. A driver can wait for a condition:
//
//	for !done && clock.Step() {
//	}
func (c *VirtualClock) Step() bool { return c.drive(math.MaxInt64, 1) == 1 }

// SetSettle sets a function that the driver calls at the start of Advance, Run and Step, and after
// each timer function. It should wait until other goroutines have done the work they were given.
// They may start and stop timers; settle must not drive the clock.
func (c *VirtualClock) SetSettle(settle func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle = settle
}

// drive runs at most limit functions that are due by until, and returns how many.
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
		panic("BUG: netstack: virtual clock driven by two goroutines, or from a timer function")
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

// next moves the clock to the next timer due by until, and returns its function. nil means none is
// due.
func (c *VirtualClock) next(until wheel.Time) (f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.due = nil; c.due == nil; {
		at, ok := c.wheel.NextExpiry(until)
		if !ok {
			return nil
		}
		// One expiry at a time: a function may still stop other timers of its tick.
		c.now = max(c.now, at)
		c.wheel.Advance(c.now, 1, c.onExpiry)
	}
	return c.due.f
}

// Settle waits until the goroutines of gVisor's TCP have processed all segments that the stacks
// received. Pass it to VirtualClock.SetSettle:
//
//	clock.SetSettle(func() { netstack.Settle(a, b) })
//
// A run of gVisor's own TCP is then deterministic, packet by packet, under these conditions:
//
//   - Options.RandSource and Options.SecureRNG of each stack are seeded (NewSeededSource). Sequence
//
// numbers, timestamps and ports come from them.
//   - Links deliver packets in functions of the clock, not within WritePackets. A pipe or loopback
//
// link wakes the receiver while the sender still sends. How many segments the receiver finds is
// then a race.
//   - The program calls the stacks only from the driver: in timer functions, or between two calls
//     of
//
// Advance. Callbacks of waiter.Queue run in gVisor's goroutines, one event at a time, before Settle
// returns.
//
// GOMAXPROCS does not matter: with one event at a time, one of gVisor's goroutines works. Settle
// also waits for all of them if links deliver within WritePackets.
//
// Do not call Settle with closed stacks, or from the stacks' goroutines: it would never return. It
// does nothing for transport protocols without goroutines.
func Settle(stacks ...*stack.Stack) {
	for before := segmentsReceived(stacks); ; {
		// Pause returns when each goroutine has found its queue empty once. If no segment was queued in
		// the meantime, in any stack, all queues are empty now.
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

// segmentsReceived returns the number of segments that gVisor's TCP has ever queued.
func segmentsReceived(stacks []*stack.Stack) (n uint64) {
	for _, s := range stacks {
		n += s.Stats().TCP.ValidSegmentsReceived.Value()
	}
	return n
}
