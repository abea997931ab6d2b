package up

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/tcp/events"
	"tcpwheel/tcptimers"
	"tcpwheel/tun"
	"tcpwheel/tun/netns"
	"tcpwheel/wheel"
)

// Host is a TCP/IP stack with services behind a TUN device.
type Host struct {
	config   Config
	device   *tun.Device
	link     stack.LinkEndpoint
	impaired *tun.Impaired   // nil without an emulated link
	wheel    *wheel.Realtime // of the emulated link, or nil
	clock    *netstack.Clock // of the stack; nil is gVisor's
	capture  *capture        // or nil
	observer *observer       // nil with none of Status, Trace, emulated link
	losses   lossTap

	saidScarce [2]bool // of Run: see sayWhatIsScarce

	status   *statusServer // or nil
	began    time.Time
	stack    *stack.Stack
	services *services
	forwards *forwards
}

// Start makes the device, configures the kernel, and starts the stack and its services. Its error
// is that of Config.Check, or of package tun, which says what to do.
func Start(c Config) (*Host, error) { return start(context.Background(), c) }

// start is Start with a context, whose end stops it.
func start(ctx context.Context, c Config) (*Host, error) {
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("up: %w", err)
	}
	s := &Host{config: c, began: time.Now()}
	s.config.Addrs, s.config.HostAddrs = slices.Clone(c.Addrs), slices.Clone(c.HostAddrs)
	if err := s.start(ctx); err != nil {
		err = errors.Join(err, s.Close())
		if s.capture != nil {
			s.capture.remove()
		}
		return nil, err
	}
	return s, nil
}

func (s *Host) start(ctx context.Context) (err error) {
	c := &s.config
	if err := c.checkFree(); err != nil {
		return fmt.Errorf("up: %w", err)
	}
	if s.device, err = tun.Open(c.Device, tun.Options{Netns: c.Netns, MTU: c.MTU}); err != nil {
		return err
	}
	if err := s.device.SetQueueLen(cmp.Or(c.TunQueue, DefaultTunQueue)); err != nil {
		return err
	}
	s.link = s.device.Endpoint()
	if c.isImpaired() {
		if err := s.impair(); err != nil {
			return err
		}
	}
	if err := s.startStack(); err != nil {
		return fmt.Errorf("up: %w", err)
	}
	if s.forwards, err = startForwards(s.stack, c); err != nil {
		return fmt.Errorf("up: %w", err)
	}
	if s.services, err = startServices(s.stack, c, newWeb(s)); err != nil {
		return fmt.Errorf("up: %w", err)
	}
	if c.Status != "" {
		if s.status, err = startStatus(s, c.Status); err != nil {
			return fmt.Errorf("up: %w", err)
		}
	}
	return netns.Configure(ctx, s.device, c.HostAddrs, c.Addrs)
}

// checkFree returns an error if an interface of the device's namespace has one of the addresses, as
// while another host with the same ones runs.
func (c *Config) checkFree() error {
	return tun.InNamespace(c.Netns, func() error {
		interfaces, err := net.Interfaces()
		if err != nil {
			return err
		}
		for _, i := range interfaces {
			addrs, err := i.Addrs()
			if err != nil {
				return err
			}
			for _, a := range addrs {
				p, err := netip.ParsePrefix(a.String())
				if err == nil && slices.ContainsFunc(slices.Concat(c.Addrs, c.HostAddrs), func(q netip.Prefix) bool { return q.Addr() == p.Addr() }) {
					return fmt.Errorf("address %v is on %s already: end the program that gave it, or use other addresses", p.Addr(), i.Name)
				}
			}
		}
		return nil
	})
}

// startStack makes the stack and what sees its packets.
func (s *Host) startStack() (err error) {
	c := &s.config
	clock := tcpip.NewStdClock()
	if tick := c.clockTick(); tick != 0 {
		if s.clock, err = netstack.NewClock(netstack.ClockConfig{RealtimeConfig: wheel.RealtimeConfig{Tick: tick}}); err != nil {
			return err
		}
		clock = s.clock
	}
	var taps []linkTap
	if c.Capture != "" {
		if s.capture, err = newCapture(c.Capture, s.device.Name(), c.Stdout, clock, c.CaptureLimits); err != nil {
			return err
		}
		taps = append(taps, s.capture)
	}
	var timers func(netstack.TimerEvent)
	if c.observes() || c.isImpaired() {
		s.observer = newObserver(clock)
		taps = append(taps, s.observer)
	}
	if c.observes() {
		s.losses.to.Store(s.observer)
		timers = s.observer.timer
		if c.Trace != "" {
			if s.observer.trace, err = newTraceFile(c.Trace, s.observer.stream); err != nil {
				return err
			}
		}
	}
	if len(taps) > 0 {
		s.link = newTapped(s.link, taps...)
	}
	s.stack, err = c.newStack(s.link, clock, timers)
	return err
}

// linkTick is the granularity of an emulated link.
const linkTick = 20 * time.Microsecond

func (s *Host) impair() (err error) {
	if s.wheel, err = wheel.Start(wheel.RealtimeConfig{Tick: linkTick}); err != nil {
		return fmt.Errorf("up: %w", err)
	}
	o := tun.LinkOptions{Clock: s.wheel}
	o.There, o.Back, o.Seed = s.config.links()
	if s.config.observes() {
		o.Tap = &s.losses
	}
	s.impaired, err = tun.Impair(s.link, o)
	if err == nil {
		s.link = s.impaired
	}
	return err
}

// Device returns the device.
func (s *Host) Device() *tun.Device { return s.device }

// Stack returns the stack.
func (s *Host) Stack() *stack.Stack { return s.stack }

// Dial connects from the stack to the kernel, or to a host that the kernel routes to.
func (s *Host) Dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	d := sockets.Dialer{Stack: s.stack, KeepAlive: s.config.KeepAlive}
	return d.DialTCP(ctx, to)
}

// Report returns the content of /info.
func (s *Host) Report(selected Selection) Report {
	r := Report{
		Device: s.device.Name(), Uptime: events.Seconds(time.Since(s.began)), MTU: s.device.MTU(), Addrs: s.config.Addrs, HostAddrs: s.config.HostAddrs,
		TCP: s.tcpReport(), Packets: s.device.Stats(), Link: s.linkReport(), Forwards: s.forwards.report(),
	}
	r.KernelDropped, _ = s.device.KernelDrops() // 0 once the device is gone
	if b, ok := netstack.Buffers(s.stack); ok {
		r.Buffers = &b
	}
	if s.capture != nil {
		c := s.capture.report()
		r.Capture = &c
	}
	if c, ok := netstack.Counters(s.stack); ok {
		r.Counters = &c
	}
	if n, ok := netstack.CountTimers(s.stack); ok {
		r.Timers = &n
	}
	if r.Counters != nil && s.config.observes() {
		t := s.observer.timerTotals()
		r.Changes = &t
	}
	r.addEndpoints(s.stack, selected)
	return r
}

func (s *Host) tcpReport() TCPReport {
	c := &s.config
	r := TCPReport{Name: cmp.Or(c.TCP, Ours), Control: "cubic"}
	if k := c.KeepAlive; k.Enable {
		r.KeepAlive = fmt.Sprintf("%v,%v,%d", k.Idle, k.Interval, k.Count)
	}
	if p, err := c.protocol(); err == nil && r.Name == Ours {
		policy := &p.Conn.Policy
		r.Policy, r.Control, r.Pacing = cmp.Or(c.Policy, tcptimers.DefaultPolicy), p.Conn.Control, p.Conn.Pacing
		r.Tick, r.Floor, r.DelAck = events.Seconds(policy.Tick), events.Seconds(max(policy.Bounds.Min, policy.VarMin)), policy.DelAck.String()
	}
	return r
}

func (s *Host) linkReport() *LinkReport {
	if s.impaired == nil {
		return nil
	}
	counts := s.impaired.Counts()
	r := &LinkReport{FromStack: DirectionReport{Counts: counts[tun.There]}, ToStack: DirectionReport{Counts: counts[tun.Back]}}
	r.FromStack.Model, r.ToStack.Model, r.Seed = s.config.links()
	return r
}

// String describes the host in one line.
func (s *Host) String() string {
	list := func(prefixes []netip.Prefix) string {
		var b []string
		for _, p := range prefixes {
			b = append(b, p.String())
		}
		return strings.Join(b, " ")
	}
	parts := []string{fmt.Sprintf("%s: kernel %s, stack %s with %s", s.device.Name(), list(s.config.HostAddrs), list(s.config.Addrs), s.tcpReport())}
	if l := s.linkReport(); l != nil {
		parts = append(parts, l.String())
	}
	parts = append(parts, s.config.served())
	if s.status != nil {
		parts = append(parts, fmt.Sprintf("status at http://%v", s.status.listener.Addr()))
	}
	return strings.Join(parts, "; ")
}

// Close ends the services, resets open connections, and closes the device. The kernel then removes
// it with its addresses and routes.
func (s *Host) Close() error {
	var err error
	if s.status != nil {
		err = s.status.close()
	}
	if s.services != nil {
		s.services.close()
	}
	if s.forwards != nil {
		s.forwards.close()
	}
	if s.stack != nil {
		s.stack.Close() // resets the connections while the link is up
	}
	if s.impaired != nil {
		s.impaired.Attach(nil)
		s.impaired.Wait()
	}
	if s.device != nil {
		err = errors.Join(err, s.device.Close())
	}
	if s.stack != nil {
		s.stack.Destroy()
	}
	if s.observer != nil {
		err = errors.Join(err, s.observer.close())
	}
	if s.clock != nil {
		err = errors.Join(err, s.clock.Close())
	}
	if s.capture != nil {
		err = errors.Join(err, s.capture.close())
	}
	if s.wheel != nil {
		err = errors.Join(err, s.wheel.Close())
	}
	return err
}
