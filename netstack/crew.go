package netstack

import (
	"runtime"
	"sync"
	"time"
)

// turn is for how long a connection runs before others have their turn: long for a flow, and short for whoever dials beside many.
const turn = 200 * time.Microsecond

// crew runs bulk connections, whose work others must not wait for, in turns. It has at most one goroutine for each processor, however
// many connections there are, so that whoever reads a device or dials does not wait for all of them; and none while nothing is to be done.
type crew struct {
	most int // goroutines

	mu      sync.Mutex
	running int         // goroutines
	waiting []*Endpoint // with work and their baton held, first come first served
	head    int         // those before it have had their turn
}

// add takes over a connection that has work, and the baton with it.
func (c *crew) add(e *Endpoint) {
	c.mu.Lock()
	c.push(e)
	more := c.running < c.most
	if more {
		c.running++
	}
	c.mu.Unlock()
	if more {
		go c.work()
	}
}

// deep is about how many octets of stack a turn takes, down to the device.
const deep = 8 << 10

// start is the beginning of a goroutine. Its stack grows at once to what turns take, not by doubling and being copied four times.
//
//go:noinline
func (c *crew) start() {
	var room [deep]byte
	runtime.KeepAlive(&room)
}

// work gives connections their turns until there are none.
func (c *crew) work() {
	c.start()
	for e := c.next(nil); e != nil; {
		if e.runFor(turn, nil) {
			e = c.next(e)
		} else {
			e = c.next(nil)
		}
		if e != nil {
			runtime.Gosched()
		}
	}
}

// next puts a connection, unless it is nil, behind the others, and returns the first. It returns nil if there is none, and the goroutine
// that has asked no longer counts then.
func (c *crew) next(behind *Endpoint) *Endpoint {
	c.mu.Lock()
	defer c.mu.Unlock()
	if behind != nil {
		c.push(behind)
	}
	if c.head == len(c.waiting) {
		c.running--
		return nil
	}
	e := c.waiting[c.head]
	c.waiting[c.head] = nil
	if c.head++; c.head == len(c.waiting) {
		c.waiting, c.head = c.waiting[:0], 0
	}
	return e
}

func (c *crew) push(e *Endpoint) {
	if c.head > 32 && 2*c.head > len(c.waiting) {
		n := copy(c.waiting, c.waiting[c.head:])
		clear(c.waiting[n:])
		c.waiting, c.head = c.waiting[:n], 0
	}
	c.waiting = append(c.waiting, e)
}
