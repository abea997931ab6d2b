package up

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"tcpwheel/internal/quantity"
	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/tun"
)

// The TCPs that a stack may have: this module's, and gVisor's.
const (
	Ours   = "ours"
	GVisor = "gvisor"
)

// Config configures a Host. The zero value of a field is its default, except for the addresses.
type Config struct {
	Device string // name, as for tun.Open
	Netns  string // network namespace of the device, as for tun.InNamespace
	MTU    int    // 0 is the kernel's default

	Addrs     []netip.Prefix // the stack's
	HostAddrs []netip.Prefix // the kernel's, on the device

	TCP    string // "" is Ours
	Policy string // Ours only: as tcp.ParseConfig reads it

	// Buffers bounds the memory of all buffers of Ours, in bytes: see netstack.Config. 0 is its default.
	Buffers quantity.Size

	// TunQueue is how many packets the kernel may queue for the stack; what arrives while the queue is
	// full is lost. 0 is DefaultTunQueue.
	TunQueue int

	// Serve names what is served: echo, discard, chargen and http (/bytes/N) are services of the stack.
	// Its HTTP server has /info, too, and a page of its state, with info, and the status server has
	// /debug/pprof with pprof. Nil is DefaultServices, and none is nothing.
	Serve []string

	// KeepAlive configures the keepalive of connections that the stack accepts and opens. The default
	// is off.
	KeepAlive net.KeepAliveConfig

	// Link is the emulated link of either direction between kernel and stack, and Seed the seed of its
	// random numbers. A LinkPlan replaces Link, and its seed, if it has one, replaces Seed.
	Link sim.LinkConfig
	Seed uint64
	Plan *LinkPlan

	// Ports whose connections are passed on: Expose from the stack to the kernel, Forward from the
	// kernel through the stack.
	Expose, Forward []Forward
	MaxForwarded    int // connections at a time of each of them and of each service, others wait; 0 is 4096

	// Capture is a pcapng file, "-" for Stdout, for all packets between the stack and its end of the
	// link. With TCP Ours, a packet that a timer sent has a comment on it. Super-segments are captured
	// whole, with the checksums that the device will compute.
	Capture       string
	CaptureLimits CaptureLimits
	Stdout        io.Writer

	// Status is an address and port of the process's network namespace, as "127.0.0.1:7070", to serve
	// the state of the host at: a page, /info, /metrics and /events. "" is none.
	Status string

	// StatusListener, if not nil, is where the status server listens. Status must be set, too. The
	// host closes it.
	StatusListener net.Listener

	// DropPrivileges lets Run give up its capabilities once the host is up, and the means to gain others
	// by running programs. Programs with cgo keep theirs.
	DropPrivileges bool

	// Trace is a file for the events of /events. "" is none.
	Trace string

	// Log receives lines for the user of a running host, each cause once. It may be nil.
	Log func(string)
}

// Check returns an error that names the first invalid field, its value and the bound.
func (c *Config) Check() error {
	if slices.Contains(tcptimers.Names(), c.TCP) {
		return fmt.Errorf("TCP %q is a policy of ours: use --policy %[1]s", c.TCP)
	}
	if err := tun.CheckName(c.Device); err != nil {
		return err
	}
	if err := c.checkAddrs(); err != nil {
		return err
	}
	if err := c.checkForwards(); err != nil {
		return err
	}
	if c.MTU != 0 && (c.MTU < minMTU || c.MTU > maxMTU) {
		return fmt.Errorf("MTU %d, want %d to %d", c.MTU, minMTU, maxMTU)
	}
	if c.TunQueue < 0 || c.TunQueue > maxTunQueue {
		return fmt.Errorf("TUN queue of %d packets, want 1 to %d", c.TunQueue, maxTunQueue)
	}
	if c.Buffers != 0 && c.Buffers < minBuffers {
		return fmt.Errorf("buffers of %v, want at least %v", c.Buffers, quantity.Size(minBuffers))
	}
	if err := c.checkTCP(); err != nil {
		return err
	}
	if err := checkKeepAlive(c.KeepAlive); err != nil {
		return fmt.Errorf("keepalive %w", err)
	}
	if err := c.checkServe(); err != nil {
		return err
	}
	if err := c.CaptureLimits.check(c.Capture); err != nil {
		return err
	}
	if err := checkStatus(c.Status); err != nil {
		return err
	}
	if c.Plan != nil && !reflect.DeepEqual(c.Link, sim.LinkConfig{}) {
		return errors.New("a plan and a link, want one of them")
	}
	there, back, _ := c.links()
	if err := there.Check(); err != nil {
		return err
	}
	return back.Check()
}

func (c *Config) checkTCP() error {
	switch {
	case c.TCP == "" || c.TCP == Ours:
		p, err := c.protocol()
		if err == nil {
			_, err = netstack.NewProtocolWith(p)
		}
		return err
	case c.TCP != GVisor:
		return fmt.Errorf("TCP %q, want %s or %s", c.TCP, Ours, GVisor)
	case c.Policy != "":
		return fmt.Errorf("policy %q with TCP %s, which has its own", c.Policy, GVisor)
	case c.Buffers != 0:
		return fmt.Errorf("buffers %v with TCP %s, which has no bound", c.Buffers, GVisor)
	}
	return nil
}

func checkStatus(at string) error {
	if at == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(at)
	if _, e := strconv.ParseUint(port, 10, 16); err != nil || e != nil {
		return fmt.Errorf("status %q, want an address and port, such as 127.0.0.1:7070", at)
	}
	return nil
}

// ParseKeepAlive reads IDLE,INTERVAL,COUNT: the time before the first probe, the time between
// probes, and how many unanswered probes end a connection, as in "10s,1s,3".
func ParseKeepAlive(text string) (net.KeepAliveConfig, error) {
	parts := strings.Split(text, ",")
	wrong := fmt.Errorf("%q, want IDLE,INTERVAL,COUNT, such as 10s,1s,3", text)
	if len(parts) != 3 {
		return net.KeepAliveConfig{}, wrong
	}
	idle, err := quantity.ParseDuration(parts[0])
	interval, err2 := quantity.ParseDuration(parts[1])
	count, err3 := strconv.Atoi(parts[2])
	if err := errors.Join(err, err2, err3); err != nil {
		return net.KeepAliveConfig{}, wrong
	}
	k := net.KeepAliveConfig{Enable: true, Idle: idle, Interval: interval, Count: count}
	return k, checkKeepAlive(k)
}

// checkKeepAlive returns an error that says what is wrong, without the name of the field or flag.
func checkKeepAlive(k net.KeepAliveConfig) error {
	if k.Enable && (k.Idle <= 0 || k.Interval <= 0 || k.Count < 1 || k.Count > maxProbes) {
		return fmt.Errorf("%v,%v,%d, want times above 0s and 1 to %d probes", k.Idle, k.Interval, k.Count, maxProbes)
	}
	return nil
}

// links returns the models of the directions from the stack and to it, and the seed.
func (c *Config) links() (there, back sim.LinkConfig, seed uint64) {
	p := c.Plan
	if p == nil {
		return c.Link, c.Link, c.Seed
	}
	if seed = c.Seed; p.Seed != nil {
		seed = *p.Seed
	}
	return p.FromStack, p.ToStack, seed
}

// DefaultTunQueue is the default of Config.TunQueue. The kernel's own, 500 packets, is less than a
// few hundred clients send at a time.
const (
	DefaultTunQueue = 4096
	maxTunQueue     = 1 << 20
	minBuffers      = 1 << 20 // bytes
)

// Bounds of the MTU. Below 1280 only IPv4 works.
const (
	minMTU = 68
	maxMTU = math.MaxUint16

	maxProbes = 127 // of keepalive, as in Linux
)

func (c *Config) checkAddrs() error {
	if len(c.Addrs) == 0 {
		return fmt.Errorf("no address for the stack, want at least one")
	}
	if len(c.HostAddrs) == 0 {
		return fmt.Errorf("no address for the kernel, want at least one")
	}
	var seen []netip.Addr
	for _, p := range slices.Concat(c.Addrs, c.HostAddrs) {
		switch a := p.Addr(); {
		case !p.IsValid() || a.Is4In6():
			return fmt.Errorf("address %v, want one with a prefix length, as in 10.7.0.2/24", p)
		case a.IsMulticast() || a.IsUnspecified() || a.IsLoopback():
			return fmt.Errorf("address %v, want a unicast address", a)
		case slices.Contains(seen, a):
			return fmt.Errorf("address %v twice", a)
		default:
			seen = append(seen, a)
		}
	}
	for _, p := range c.Addrs {
		if !slices.ContainsFunc(c.HostAddrs, func(h netip.Prefix) bool { return h.Addr().Is6() == p.Addr().Is6() }) {
			return fmt.Errorf("address %v, but none of that family for the kernel", p)
		}
	}
	return nil
}

// protocol returns the configuration of Ours. Policies with a timer for each segment learn from late
// packets, as in netstack.DefaultConfig, unless their settings say otherwise.
func (c *Config) protocol() (netstack.Config, error) {
	policy := cmp.Or(c.Policy, tcptimers.DefaultPolicy)
	conn, err := tcp.ParseConfig(policy)
	if conn.Policy.Rexmit == tcptimers.RexmitPerSegment && !strings.Contains(policy, "late-originals") {
		conn.LateOriginals = true
	}
	return netstack.Config{Conn: conn, Causes: c.Capture != "" || c.observes(), MaxTimeWait: maxTimeWait, Buffers: int64(min(c.Buffers, math.MaxInt64))}, err
}

// clockTick returns the granularity of the stack's clock, 0 for gVisor's own. The clock of Ours is
// finer than its timers, so that they are late by little more than their tick. On gVisor's clock
// timers are late by a millisecond.
func (c *Config) clockTick() time.Duration {
	if c.TCP == GVisor {
		return 0
	}
	tick := 100 * time.Microsecond
	if p, err := c.protocol(); err == nil {
		tick = max(min(tick, p.Conn.Policy.Tick), 10*time.Microsecond)
	}
	return tick
}

// observes reports whether a host has an observer.
func (c *Config) observes() bool { return c.Status != "" || c.Trace != "" }

// isImpaired reports whether the link does anything to packets.
func (c *Config) isImpaired() bool {
	return c.Plan != nil || !reflect.DeepEqual(c.Link, sim.LinkConfig{})
}

// log writes a line for the user.
func (c *Config) log(format string, args ...any) {
	if c.Log != nil {
		c.Log(fmt.Sprintf(format, args...))
	}
}
