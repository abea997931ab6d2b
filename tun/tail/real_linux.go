package tail

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/tun"
	"tcpwheel/tun/site"
	"tcpwheel/wheel"
)

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

// setup is a server and a client, with the path between them.
type setup struct {
	client  *site.Host
	control string // congestion control of the server
	listen  func() (net.Listener, error)
	causes  func() (Causes, error)
	closers []func() error // to be called from the last on
}

func (s *setup) close() (err error) {
	for i := len(s.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, s.closers[i]())
	}
	return err
}

// pathTick is the granularity of the path.
const pathTick = time.Microsecond

// newSetup makes them. There is from the server to the client.
func (c *Config) newSetup(sender string, control bool, w *watch) (s *setup, err error) {
	s = &setup{control: "cubic"}
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
	if s.client, err = site.NewHost(clientAddr); err != nil {
		return s, err
	}
	s.closers = append(s.closers, s.client.Close)
	link := sim.LinkConfig{Delay: c.RTT / 2}
	o := tun.LinkOptions{There: link, Back: link, Clock: clock, Tap: pathTap{w, tun.There}}
	if !control {
		o.There.Loss = sim.Losses{sim.Ranges{{From: w.last(), To: w.last() + 1, Attempt: 1}}}
	}
	if sender == Linux {
		return s, s.serveKernel(o)
	}
	return s, s.serveStack(sender, o)
}

// serveStack has a stack as the server.
func (s *setup) serveStack(sender string, o tun.LinkOptions) error {
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
	link, err := tun.Impair(s.client.Device.Endpoint(), o)
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
		err := s.client.Device.Close() // before the stack: see tun.Endpoint.Wait
		st.Destroy()
		return err
	})
	s.listen = func() (net.Listener, error) { return sockets.Listen(st, netip.AddrPortFrom(serverAddr.Addr(), port)) }
	s.causes = func() (Causes, error) { return causes(st), nil }
	return nil
}

// serveKernel has the kernel as the server, in a namespace of its own.
func (s *setup) serveKernel(o tun.LinkOptions) error {
	server, err := site.NewHost(serverAddr)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, server.Close)
	joined, err := tun.Join(server.Device.Endpoint(), s.client.Device.Endpoint(), o)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func() error {
		joined.Close()
		return nil
	})
	s.listen = func() (l net.Listener, err error) {
		l, s.control, err = server.Listen(port)
		return l, err
	}
	s.causes = func() (Causes, error) {
		c, err := server.Counts()
		return Causes(c), err
	}
	return nil
}

// runReal does one run in real time.
func (c *Config) runReal(ctx context.Context, sender string, segments int, control bool) (o outcome, err error) {
	o.watch = newWatch(segments)
	s, err := c.newSetup(sender, control, o.watch)
	if err != nil {
		return o, err
	}
	l, err := s.listen()
	if err != nil {
		return o, errors.Join(err, s.close())
	}
	var wrote func(net.Conn) error
	if sender == Linux && !control {
		var mu sync.Mutex
		o.kernels = map[uint16]Kernel{}
		wrote = func(conn net.Conn) error {
			k, ok, err := knows(ctx, conn)
			mu.Lock()
			defer mu.Unlock()
			if ok {
				o.kernels[conn.RemoteAddr().(*net.TCPAddr).AddrPort().Port()] = k
			}
			return err
		}
	}
	err = c.converse(ctx, s, l, int(o.watch.size), control, wrote)
	causes, e := s.causes()
	o.causes, o.control = causes, s.control
	return o, errors.Join(err, e, s.close())
}

// knows asks the kernel what it knows of a connection, until it waits for the ACK of one segment only. It is not ok if it was asked too late
// for that, on a busy machine.
func knows(ctx context.Context, c net.Conn) (k Kernel, ok bool, err error) {
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return k, false, err
	}
	// Its coarse clocks go by jiffies.
	var jiffy unix.Timespec
	if err := unix.ClockGetres(unix.CLOCK_MONOTONIC_COARSE, &jiffy); err != nil {
		return k, false, err
	}
	for ctx.Err() == nil {
		var info *unix.TCPInfo
		e := raw.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) })
		if err = errors.Join(err, e); err != nil {
			return k, false, err
		}
		if info.Retrans > 0 || info.Unacked == 0 {
			return k, false, nil
		}
		if info.Unacked == 1 {
			const us = time.Microsecond
			return Kernel{SRTT: time.Duration(info.Rtt) * us, RTO: time.Duration(info.Rto) * us, Jiffy: time.Duration(jiffy.Nano())}, true, nil
		}
		time.Sleep(200 * time.Microsecond)
	}
	return k, false, nil
}

// converse has all clients and the server talk, until they have ended or the context has.
func (c *Config) converse(ctx context.Context, s *setup, l net.Listener, size int, control bool, wrote func(net.Conn) error) error {
	var (
		all sync.WaitGroup
		mu  sync.Mutex
		cut []net.Conn // to be closed if the context ends
	)
	p := &program{
		spawn: func(f func()) { all.Go(f) }, rtt: c.RTT, size: size, count: c.Count, control: control, delay: c.DelayAcks, acks: site.SetAckAtOnce, wrote: wrote,
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
		err = s.client.Do(func() error {
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
