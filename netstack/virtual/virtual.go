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
	"tcpwheel/netstack/sockets"
	"tcpwheel/wheel"
)

// Config is what a Net is made of.
type Config struct {
	Seed uint64 // of sequence numbers and the like
	TCP  [2]TCP // of each end
	MTU  uint32 // 576 to 65535; 0 is 1500
	Wire Wire
}

// Wire is what packets pass. Its methods are called one at a time, and must not call the Net.
type Wire interface {
	// Send takes a packet that leaves an end, and returns how long it takes to the other one; false is that it is lost.
	Send(now wheel.Time, from int, p *Packet) (took time.Duration, ok bool)
	// Arrive takes a packet that has come to the end of its way, and returns whether it is handed to the stack there.
	Arrive(now wheel.Time, from int, p *Packet) bool
}

// Relay is a Wire with a switch in it, which packets come to when Send's time is over, in place of the other end.
type Relay interface {
	Wire
	// Forward takes a packet that has come to the switch, and returns how long it takes from there to the other end; false is that it is
	// lost.
	Forward(now wheel.Time, from int, p *Packet) (took time.Duration, ok bool)
}

// Net is two stacks and a Wire. The driver is one goroutine.
type Net struct {
	Clock *netstack.VirtualClock
	Tasks *sockets.Tasks

	stacks [2]*stack.Stack
	wire   Wire
}

// queue is how many packets an end can hand to the wire at once. It takes them at once, so few would do.
const queue = 1 << 12

// New makes the stacks, whose addresses are those of Addr.
func New(cfg Config) (n *Net, err error) {
	if cfg.MTU == 0 {
		cfg.MTU = 1500
	}
	if cfg.MTU < 576 || cfg.MTU > 65535 || cfg.Wire == nil {
		return nil, fmt.Errorf("virtual: MTU %d, wire %v, want 576 to 65535, and a wire", cfg.MTU, cfg.Wire)
	}
	n = &Net{wire: cfg.Wire}
	if n.Clock, err = netstack.NewVirtualClock(netstack.VirtualClockConfig{}); err != nil {
		return nil, err
	}
	n.Tasks = sockets.NewTasks(n.Clock)
	ends := [2]*channel.Endpoint{channel.New(queue, cfg.MTU, ""), channel.New(queue, cfg.MTU, "")}
	for i, end := range ends {
		end.AddNotify(&direction{net: n, index: i, from: end, to: ends[1-i], streams: map[flowKey]*stream{}})
	}
	for i := range n.stacks {
		seed := int64(2*cfg.Seed) + int64(i)
		clock := tcpip.Clock(n.Clock)
		if cfg.TCP[i].GVisor || cfg.TCP[i].StrictClock {
			clock = &strictClock{VirtualClock: n.Clock}
		}
		// One wheel for all connections, so that the number of processors makes no difference.
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

// Addr returns the address of an end, 0 or 1.
func (n *Net) Addr(end int) netip.Addr { return netip.AddrFrom4([4]byte{10, 9, 0, byte(end + 1)}) }

// Stack returns the stack of an end, for what a Net does not tell. It is the Net's to destroy.
func (n *Net) Stack(end int) *stack.Stack { return n.stacks[end] }

// Dial connects from a port of an end to a port of the other, as a task.
func (n *Net) Dial(end int, local, remote uint16) (*sockets.Conn, error) {
	d := sockets.Dialer{Stack: n.stacks[end], Tasks: n.Tasks, LocalAddr: netip.AddrPortFrom(n.Addr(end), local)}
	return d.DialTCP(context.Background(), netip.AddrPortFrom(n.Addr(1-end), remote))
}

// Listen listens at a port of an end.
func (n *Net) Listen(end int, port uint16) (*sockets.Listener, error) {
	return (&sockets.ListenConfig{Stack: n.stacks[end], Tasks: n.Tasks}).ListenTCP(netip.AddrPortFrom(n.Addr(end), port))
}

// Counts returns the retransmissions of an end, over all connections.
func (n *Net) Counts(end int) Counts { return CountsOf(n.stacks[end]) }

// Now returns the virtual time.
func (n *Net) Now() wheel.Time { return n.Clock.Time() }

// Run lets time pass until nothing is left to happen, the span is over, or done, if it is not nil, returns true. It is
// asked after each event.
func (n *Net) Run(span time.Duration, done func() bool) {
	until := n.Now().Add(span)
	for done == nil || !done() {
		n.Clock.Advance(0)
		if done != nil && done() {
			return
		}
		at, ok := n.Clock.NextExpiry()
		if !ok || at > until {
			n.Clock.Advance(max(0, until.Sub(n.Now())))
			return
		}
		n.Clock.Advance(at.Sub(n.Now()))
	}
}

// Close ends the stacks. Tasks must have ended: see sockets.Tasks.
func (n *Net) Close() {
	n.Clock.SetSettle(nil)
	for _, s := range n.stacks {
		s.Destroy()
	}
}

// strictClock never tells the same time twice: readings of one instant are 1 ns apart.
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
