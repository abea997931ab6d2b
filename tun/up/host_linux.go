package up

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack"
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
	s := &Host{config: c}
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
	if s.device, err = tun.Open(c.Device, tun.Options{Netns: c.Netns, MTU: c.MTU, Queues: c.Queues}); err != nil {
		return err
	}
	s.link = s.device.Endpoint()
	if c.isImpaired() {
		if err := s.impair(); err != nil {
			return err
		}
	}
	clock := tcpip.NewStdClock()
	if tick := c.clockTick(); tick != 0 {
		if s.clock, err = netstack.NewClock(netstack.ClockConfig{RealtimeConfig: wheel.RealtimeConfig{Tick: tick}}); err != nil {
			return fmt.Errorf("up: %w", err)
		}
		clock = s.clock
	}
	if c.Capture != "" {
		if s.capture, err = newCapture(c.Capture, s.device.Name(), c.Stdout, clock); err != nil {
			return fmt.Errorf("up: %w", err)
		}
		s.link = newTapped(s.link, s.capture)
	}
	if s.stack, err = c.newStack(s.link, clock); err != nil {
		return fmt.Errorf("up: %w", err)
	}
	if s.forwards, err = startForwards(s.stack, c); err != nil {
		return fmt.Errorf("up: %w", err)
	}
	if !c.Bare {
		s.services, err = startServices(s.stack, c.Addrs, c.exposed(), newWeb(s.Report))
		if err != nil {
			return fmt.Errorf("up: %w", err)
		}
	}
	return netns.Configure(ctx, s.device, c.HostAddrs, c.Addrs)
}

// linkTick is the granularity of an emulated link.
const linkTick = 20 * time.Microsecond

func (s *Host) impair() (err error) {
	if s.wheel, err = wheel.Start(wheel.RealtimeConfig{Tick: linkTick}); err != nil {
		return fmt.Errorf("up: %w", err)
	}
	o := tun.LinkOptions{Clock: s.wheel}
	o.There, o.Back, o.Seed = s.config.links()
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
	at, proto := full(to)
	return gonet.DialContextTCP(ctx, s.stack, at, proto)
}

// Report returns the content of /info.
func (s *Host) Report() Report {
	r := Report{
		Device: s.device.Name(), MTU: s.device.MTU(), Addrs: s.config.Addrs, HostAddrs: s.config.HostAddrs,
		TCP: s.config.tcpName(), Packets: s.device.Stats(),
	}
	if s.impaired != nil {
		counts := s.impaired.Counts()
		r.Link = &counts
	}
	if s.capture != nil {
		c := s.capture.report()
		r.Capture = &c
	}
	r.Forwards = s.forwards.report()
	if c, ok := netstack.Counters(s.stack); ok {
		r.Counters = &c
	}
	r.addEndpoints(s.stack)
	return r
}

func (c *Config) tcpName() string {
	if c.TCP == "" {
		return Ours
	}
	return c.TCP
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
	what := fmt.Sprintf("%s: kernel %s, stack %s with TCP %s", s.device.Name(), list(s.config.HostAddrs), list(s.config.Addrs), s.config.tcpName())
	if s.config.Bare {
		return what
	}
	return fmt.Sprintf("%s: echo %d, discard %d, chargen %d, http %d", what, EchoPort, DiscardPort, ChargenPort, HTTPPort)
}

// Close ends the services, resets open connections, and closes the device. The kernel then removes
// it with its addresses and routes.
func (s *Host) Close() error {
	var err error
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
		err = s.device.Close()
	}
	if s.stack != nil {
		s.stack.Destroy()
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
