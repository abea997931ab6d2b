package virtual

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/wheel"
)

// Config configures a Net. The zero value of each field is its default.
type Config struct {
	Seed uint64 // of sequence numbers, ports and the links' random numbers
	TCP  [2]TCP // of ends 0 and 1
	MTU  uint32 // 576 to 65535 bytes; the default is 1500

	// Link is the model of the direction from end 0 to end 1, and from end 1 to end 0. The default
	// delivers at once.
	Link [2]sim.LinkConfig

	Wire Wire // if not nil, it decides about packets instead of Link
}

// Net is two stacks and the link between them. One goroutine, the driver, calls Run.
type Net struct {
	Clock *netstack.VirtualClock
	Tasks *sockets.Tasks

	stacks     [2]*stack.Stack
	directions [2]*direction
	wire       Wire
}

// queue is the capacity of a channel endpoint in packets. Each is read at once, so a small one
// would do.
const queue = 1 << 12

// New makes a Net. The ends have the addresses of Addr. The error names the field that is out of
// bounds.
func New(cfg Config) (n *Net, err error) {
	if cfg.MTU == 0 {
		cfg.MTU = 1500
	}
	if cfg.MTU < 576 || cfg.MTU > 65535 {
		return nil, fmt.Errorf("virtual: MTU %d, want 576 to 65535", cfg.MTU)
	}
	n = &Net{wire: cfg.Wire}
	if n.Clock, err = netstack.NewVirtualClock(netstack.VirtualClockConfig{}); err != nil {
		return nil, err
	}
	n.Tasks = sockets.NewTasks(n.Clock)
	ends := [2]*channel.Endpoint{channel.New(queue, cfg.MTU, ""), channel.New(queue, cfg.MTU, "")}
	for i, end := range ends {
		d := &direction{net: n, index: i, from: end, to: ends[1-i], streams: streams{}}
		if cfg.Wire == nil {
			if d.link, err = NewPacketLink(cfg.Link[i], sim.LinkKey(cfg.Seed, [2]string{"0>1", "1>0"}[i])); err != nil {
				return nil, fmt.Errorf("virtual: link of end %d: %w", i, err)
			}
		}
		end.AddNotify(d)
		n.directions[i] = d
	}
	for i := range n.stacks {
		seed := int64(2*cfg.Seed) + int64(i)
		clock := tcpip.Clock(n.Clock)
		switch t := &cfg.TCP[i]; {
		case t.ClockTick > 0:
			clock = coarseClock{n.Clock, t.ClockTick}
		case t.GVisor || t.StrictClock:
			clock = &strictClock{VirtualClock: n.Clock}
		}
		// One wheel for all connections: the run must not depend on the number of CPUs.
		cfg.TCP[i].Config.Shards = 1
		o := stack.Options{
			Clock: clock, RandSource: netstack.NewSeededSource(seed), SecureRNG: netstack.NewSeededSource(^seed),
		}
		if n.stacks[i], err = NewStack(o, &cfg.TCP[i], ends[i], n.Addr(i)); err != nil {
			for _, s := range n.stacks[:i] {
				s.Destroy()
			}
			return nil, fmt.Errorf("virtual: end %d: %w", i, err)
		}
	}
	n.Clock.SetSettle(func() { n.Tasks.Settle(n.stacks[0], n.stacks[1]) })
	return n, nil
}

// Addr returns the IPv4 address of an end, 0 or 1.
func (n *Net) Addr(end int) netip.Addr { return netip.AddrFrom4([4]byte{10, 9, 0, byte(end + 1)}) }

// Stack returns the stack of an end. Close destroys it.
func (n *Net) Stack(end int) *stack.Stack { return n.stacks[end] }

// Dial connects from a port of an end to a port of the other end. Only tasks may call it. Local
// port 0 lets the stack choose.
func (n *Net) Dial(end int, local, remote uint16) (*sockets.Conn, error) {
	d := sockets.Dialer{Stack: n.stacks[end], Tasks: n.Tasks, LocalAddr: netip.AddrPortFrom(n.Addr(end), local)}
	return d.DialTCP(context.Background(), netip.AddrPortFrom(n.Addr(1-end), remote))
}

// Listen listens on a port of an end.
func (n *Net) Listen(end int, port uint16) (*sockets.Listener, error) {
	return (&sockets.ListenConfig{Stack: n.stacks[end], Tasks: n.Tasks}).ListenTCP(netip.AddrPortFrom(n.Addr(end), port))
}

// Counts returns the retransmissions of an end, over all connections.
func (n *Net) Counts(end int) Counts { return CountsOf(n.stacks[end]) }

// LinkCounts returns the packets that the link from an end has delivered and lost. They are 0 with
// Config.Wire.
func (n *Net) LinkCounts(from int) (c sim.LinkCounts) {
	if l := n.directions[from].link; l != nil {
		c = l.Counts()
	}
	return c
}

// Now returns the virtual time since New.
func (n *Net) Now() wheel.Time { return n.Clock.Time() }

// Run lets time pass until span is over, no event is left, or done (if not nil) returns true. It
// calls done after each event.
//
// The error says what keeps the tasks from going on, with stacks: a goroutine that is no task has
// waited in virtual time, or no event is left for which the tasks could wait. A goroutine that is
// no task runs at any time, so a later Run may be the one that reports it.
func (n *Net) Run(span time.Duration, done func() bool) error {
	until := n.Now().Add(span)
	for done == nil || !done() {
		n.Clock.Advance(0)
		if err := n.Tasks.Err(); err != nil {
			return fmt.Errorf("virtual: %w", err)
		}
		if done != nil && done() {
			return nil
		}
		at, ok := n.Clock.NextExpiry()
		if left := n.Tasks.Unfinished(); !ok && left > 0 {
			n.Clock.Advance(max(0, until.Sub(n.Now())))
			return fmt.Errorf("virtual: %d tasks wait, and no event is left:\n%s", left, n.Tasks.Stacks())
		}
		if !ok || at > until {
			n.Clock.Advance(max(0, until.Sub(n.Now())))
			return n.Tasks.Err()
		}
		n.Clock.Advance(at.Sub(n.Now()))
	}
	return nil
}

// Close destroys the stacks. Tasks must have ended: see sockets.Tasks.
func (n *Net) Close() {
	n.Clock.SetSettle(nil)
	for _, s := range n.stacks {
		s.Destroy()
	}
}

// strictClock is a clock whose readings never repeat: those of one instant are 1 ns apart.
type strictClock struct {
	*netstack.VirtualClock
	mu   sync.Mutex
	last time.Duration
}

// NowMonotonic implements tcpip.Clock.
func (c *strictClock) NowMonotonic() tcpip.MonotonicTime {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(c.last+1, time.Duration(c.Time()))
	return tcpip.MonotonicTime{}.Add(c.last)
}

// coarseClock is a clock whose readings are whole ticks. Its timers are exact.
type coarseClock struct {
	*netstack.VirtualClock
	tick time.Duration
}

// NowMonotonic implements tcpip.Clock.
func (c coarseClock) NowMonotonic() tcpip.MonotonicTime {
	return tcpip.MonotonicTime{}.Add(time.Duration(c.Time()).Truncate(c.tick))
}
