package tail

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/tun"
	"tcpwheel/wheel"
)

// host is a kernel in a network namespace, with a device. A server that is a stack has none.
type host struct {
	space *tun.Namespace
	dev   *tun.Device
}

// newHost makes a namespace with a device that has an address.
func newHost(addr netip.Prefix) (h *host, err error) {
	h = &host{}
	if h.space, err = tun.NewNamespace(); err != nil {
		return nil, err
	}
	if h.dev, err = tun.Open("tail0", tun.Options{Netns: h.space.Path(), NoOffload: true}); err != nil {
		return nil, errors.Join(err, h.close())
	}
	// What a connection has learnt is not to help the next one. Without IPv6 the kernel sends nothing of its own accord.
	err = h.space.Do(func() error {
		return errors.Join(os.WriteFile("/proc/sys/net/ipv4/tcp_no_metrics_save", []byte("1"), 0),
			os.WriteFile("/proc/sys/net/ipv6/conf/tail0/disable_ipv6", []byte("1"), 0))
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) { // a kernel without IPv6
		return nil, errors.Join(fmt.Errorf("set up the kernel of %v: %w", addr, err), h.close())
	}
	if err = h.dev.AddAddress(addr); err == nil {
		err = h.dev.Up()
	}
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

func (h *host) close() (err error) {
	if h.dev != nil {
		err = h.dev.Close()
	}
	return errors.Join(err, h.space.Close())
}

// pathTap hands what passes to a watch. server is the direction from the server.
type pathTap struct {
	*watch
	server tun.Direction
}

// Sent implements tun.Tap.
func (t pathTap) Sent(now wheel.Time, p *tun.Passing, pkt *stack.PacketBuffer) {
	view := pkt.ToView()
	defer view.Release()
	t.sent(now, p.Direction == t.server, view.AsSlice(), p.Fate.Verdict == sim.Lost)
}

// Arrived implements tun.Tap.
func (t pathTap) Arrived(now wheel.Time, p *tun.Passing, pkt *stack.PacketBuffer) {
	view := pkt.ToView()
	defer view.Release()
	t.arrived(now, p.Direction == t.server, view.AsSlice())
}

// site is a server and a client, with the path between them.
type site struct {
	client  *host
	control string // congestion control of the server
	listen  func() (net.Listener, error)
	causes  func() (Causes, error)
	closers []func() error // to be called from the last on
}

func (s *site) close() (err error) {
	for i := len(s.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, s.closers[i]())
	}
	return err
}

// pathTick is the granularity of the path.
const pathTick = time.Microsecond

// newSite makes them. There is from the server to the client.
func (c *Config) newSite(sender string, control bool, w *watch) (s *site, err error) {
	s = &site{control: "cubic"}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	clock, err := wheel.Start(wheel.RealtimeConfig{Tick: pathTick})
	if err != nil {
		return s, err
	}
	s.closers = append(s.closers, clock.Close)
	if s.client, err = newHost(clientAddr); err != nil {
		return s, err
	}
	s.closers = append(s.closers, s.client.close)
	path := sim.LinkConfig{Delay: c.RTT / 2}
	o := tun.LinkOptions{There: path, Back: path, Clock: clock, Tap: pathTap{w, tun.There}}
	if !control {
		o.There.Loss = sim.Losses{sim.Ranges{{From: w.last(), To: w.last() + 1, Attempt: 1}}}
	}
	if sender == Linux {
		return s, s.serveKernel(o)
	}
	return s, s.serveStack(sender, o)
}

// serveStack has a stack as the server.
func (s *site) serveStack(sender string, o tun.LinkOptions) error {
	p, err := factory(sender)
	if err != nil {
		return err
	}
	var clock tcpip.Clock = tcpip.NewStdClock()
	if sender != GVisor {
		c, err := netstack.NewClock(netstack.ClockConfig{RealtimeConfig: wheel.RealtimeConfig{Tick: 20 * time.Microsecond}})
		if err != nil {
			return err
		}
		s.closers = append(s.closers, c.Close)
		clock = c
	}
	link, err := tun.Impair(s.client.dev.Endpoint(), o)
	if err != nil {
		return err
	}
	st, err := newStack(stack.Options{Clock: clock, TransportProtocols: []stack.TransportProtocolFactory{p}}, link, serverAddr)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func() error {
		st.Close()
		link.Attach(nil)
		link.Wait()
		err := s.client.dev.Close() // before the stack: see tun.Endpoint.Wait
		st.Destroy()
		return err
	})
	s.listen = func() (net.Listener, error) { return sockets.Listen(st, netip.AddrPortFrom(serverAddr.Addr(), port)) }
	s.causes = func() (Causes, error) { return causes(st), nil }
	return nil
}

// serveKernel has the kernel as the server, in a namespace of its own.
func (s *site) serveKernel(o tun.LinkOptions) error {
	server, err := newHost(serverAddr)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, server.close)
	joined, err := tun.Join(server.dev.Endpoint(), s.client.dev.Endpoint(), o)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func() error {
		joined.Close()
		return nil
	})
	s.listen = func() (l net.Listener, err error) {
		err = server.space.Do(func() error {
			l, err = net.Listen("tcp", netip.AddrPortFrom(serverAddr.Addr(), port).String())
			return err
		})
		if err == nil {
			s.control, err = setControl(l.(*net.TCPListener))
		}
		return l, err
	}
	s.causes = func() (c Causes, err error) {
		err = server.space.Do(func() error {
			c, err = kernelCauses()
			return err
		})
		return c, err
	}
	return nil
}

// setControl gives a listener, and the connections of it, CUBIC, and returns what it has then: the kernel may not have it.
func setControl(l *net.TCPListener) (name string, err error) {
	raw, err := l.SyscallConn()
	if err != nil {
		return "", err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "cubic")
		name, failed = unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	})
	return strings.TrimRight(name, "\x00"), errors.Join(err, failed)
}

// kernelCauses reads what the kernel has counted in the namespace of the caller's thread.
func kernelCauses() (c Causes, err error) {
	text, err := os.ReadFile(filepath.Join("/proc/thread-self", "net", "netstat"))
	if err != nil {
		return c, err
	}
	lines := strings.Split(string(text), "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		names, values := strings.Fields(lines[i]), strings.Fields(lines[i+1])
		for j := 1; j < min(len(names), len(values)); j++ {
			var to *uint64
			switch names[j] {
			case "TCPTimeouts":
				to = &c.Timeouts
			case "TCPLossProbes":
				to = &c.Probes
			case "TCPFastRetrans":
				to = &c.Fast
			default:
				continue
			}
			if *to, err = strconv.ParseUint(values[j], 10, 64); err != nil {
				return c, err
			}
		}
	}
	return c, nil
}

// runReal does one run in real time.
func (c *Config) runReal(ctx context.Context, sender string, segments int, control bool) (o outcome, err error) {
	o.watch = newWatch(segments)
	s, err := c.newSite(sender, control, o.watch)
	if err != nil {
		return o, err
	}
	l, err := s.listen()
	if err != nil {
		return o, errors.Join(err, s.close())
	}
	err = c.converse(ctx, s, l, int(o.watch.size), control)
	causes, e := s.causes()
	o.causes, o.control = causes, s.control
	return o, errors.Join(err, e, s.close())
}

// converse has all clients and the server talk, until they have ended or the context has.
func (c *Config) converse(ctx context.Context, s *site, l net.Listener, size int, control bool) error {
	var (
		all sync.WaitGroup
		mu  sync.Mutex
		cut []net.Conn // to be closed if the context ends
	)
	p := &program{
		spawn: func(f func()) { all.Go(f) }, rtt: c.RTT, size: size, count: c.Count, control: control, delay: c.DelayAcks, acks: setAcks,
		sleep: func(d time.Duration) {
			select {
			case <-ctx.Done():
			case <-time.After(d):
			}
		},
	}
	p.dial = func() (conn net.Conn, err error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		err = s.client.space.Do(func() error {
			conn, err = net.DialTimeout("tcp", netip.AddrPortFrom(serverAddr.Addr(), port).String(), 30*time.Second)
			return err
		})
		if err != nil {
			return nil, err
		}
		conn.SetDeadline(time.Now().Add(5 * time.Minute)) // no policy takes that long
		mu.Lock()
		defer mu.Unlock()
		cut = append(cut, conn)
		return conn, nil
	}
	stop := context.AfterFunc(ctx, func() {
		l.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range cut {
			conn.Close()
		}
	})
	defer stop()
	all.Go(func() { p.accept(l) })
	p.clients()
	all.Wait()
	l.Close()
	if err := ctx.Err(); err != nil {
		return err
	}
	return p.err()
}

// setAcks has the kernel acknowledge at once, or take the connection for an interactive one, whose ACKs it puts off.
func setAcks(c net.Conn, atOnce bool) error {
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return err
	}
	value := 0
	if atOnce {
		value = 1
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_QUICKACK, value) })
	return errors.Join(err, failed)
}
