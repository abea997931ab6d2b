package netns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/virtual"
	"tcpwheel/tun"
	"tcpwheel/wheel"
)

// Pair is two hosts joined by an emulated link. Multiple goroutines may invoke its methods.
type Pair struct {
	client  *kernel
	server  *kernel // nil if it is a gVisor stack
	clock   *wheel.Realtime
	began   wheel.Time
	listen  func(port uint16) (l net.Listener, control string, err error)
	counts  func() (virtual.Counts, error)
	closers []func() error // called in reverse
}

// Granularity of the link, and of the clock of a stack of this module.
const (
	linkTick  = time.Microsecond
	stackTick = 20 * time.Microsecond
)

// NewPair makes both hosts and the link. Its errors are those of package tun, which say what to do.
func NewPair(cfg PairConfig) (p *Pair, err error) {
	p = &Pair{}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("netns: %w", err), p.Close())
			p = nil
		}
	}()
	if p.clock, err = wheel.Start(wheel.RealtimeConfig{Tick: linkTick}); err != nil {
		return p, err
	}
	p.closers = append(p.closers, p.clock.Close)
	p.began = p.clock.Now()
	if p.client, err = newKernel(netip.MustParsePrefix(clientAddr)); err != nil {
		return p, err
	}
	p.closers = append(p.closers, p.client.Close)
	o := tun.LinkOptions{There: cfg.There, Back: cfg.Back, Seed: cfg.Seed, Clock: p.clock}
	if cfg.Sent != nil || cfg.Arrived != nil {
		o.Tap = tap{p, cfg.Sent, cfg.Arrived, cfg.Bytes}
	}
	if cfg.Server != nil {
		return p, p.serveStack(cfg.Server, o)
	}
	return p, p.serveKernel(o, cfg.Qdisc)
}

// serveKernel makes a second kernel the server.
func (p *Pair) serveKernel(o tun.LinkOptions, qdisc string) error {
	server, err := newKernel(netip.MustParsePrefix(serverAddr))
	if err != nil {
		return err
	}
	p.server, p.closers = server, append(p.closers, server.Close)
	if qdisc != "" {
		if err := server.setQdisc(qdisc); err != nil {
			return err
		}
	}
	joined, err := tun.Join(server.Device.Endpoint(), p.client.Device.Endpoint(), o)
	if err != nil {
		return err
	}
	p.closers = append(p.closers, func() error {
		joined.Close()
		return nil
	})
	p.listen, p.counts = server.Listen, server.Counts
	return nil
}

// serveStack makes a gVisor stack the server.
func (p *Pair) serveStack(t *virtual.TCP, o tun.LinkOptions) error {
	var clock tcpip.Clock = tcpip.NewStdClock()
	if !t.GVisor {
		c, err := netstack.NewClock(netstack.ClockConfig{RealtimeConfig: wheel.RealtimeConfig{Tick: stackTick}})
		if err != nil {
			return err
		}
		p.closers = append(p.closers, c.Close)
		clock = c
	}
	link, err := tun.Impair(p.client.Device.Endpoint(), o)
	if err != nil {
		return err
	}
	addr := netip.MustParsePrefix(serverAddr)
	st, err := virtual.NewStack(stack.Options{Clock: clock}, t, link, addr.Addr())
	if err != nil {
		return err
	}
	p.closers = append(p.closers, func() error {
		st.Close()
		link.Attach(nil)
		link.Wait()
		err := p.client.Device.Close() // before the stack's end: see tun.Endpoint.Wait
		st.Destroy()
		return err
	})
	p.listen = func(port uint16) (net.Listener, string, error) {
		l, err := sockets.Listen(st, netip.AddrPortFrom(addr.Addr(), port))
		return l, t.Control, err
	}
	p.counts = func() (virtual.Counts, error) { return virtual.CountsOf(st), nil }
	return nil
}

// Now returns the time since the Pair was made, by the link's clock.
func (p *Pair) Now() wheel.Time { return wheel.Time(p.clock.Now().Sub(p.began)) }

// Listen listens on a port of the server. It returns the name of its congestion control.
func (p *Pair) Listen(port uint16) (l net.Listener, control string, err error) { return p.listen(port) }

// Dial connects from a port of the client's kernel, 0 for any, to a port of the server.
func (p *Pair) Dial(ctx context.Context, local, remote uint16) (c net.Conn, err error) {
	from := netip.AddrPortFrom(netip.MustParsePrefix(clientAddr).Addr(), local)
	to := netip.AddrPortFrom(netip.MustParsePrefix(serverAddr).Addr(), remote)
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(from), KeepAlive: -1}
	err = p.client.Do(func() error {
		c, err = d.DialContext(ctx, "tcp", to.String())
		return err
	})
	return c, err
}

// In calls f on a thread in the namespace of the server's kernel, or of the client's: programs that
// f starts run there.
func (p *Pair) In(server bool, f func() error) error {
	if !server {
		return p.client.Do(f)
	}
	if p.server == nil {
		return errors.New("netns: the server is no kernel")
	}
	return p.server.Do(f)
}

// Counts returns the server's retransmissions, over all connections.
func (p *Pair) Counts() (virtual.Counts, error) { return p.counts() }

// Close removes the link and both hosts. Close connections and listeners first.
func (p *Pair) Close() (err error) {
	for i := len(p.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, p.closers[i]())
	}
	return err
}

// tap passes packets on to the observers of a Pair.
type tap struct {
	pair          *Pair
	sent, arrived func(Packet)
	bytes         bool
}

// Sent implements tun.Tap.
func (t tap) Sent(now wheel.Time, p *tun.LinkPacket, pkt *stack.PacketBuffer) {
	t.observe(t.sent, now, p, pkt, t.bytes)
}

// Arrived implements tun.Tap.
func (t tap) Arrived(now wheel.Time, p *tun.LinkPacket, pkt *stack.PacketBuffer) {
	t.observe(t.arrived, now, p, pkt, false)
}

func (t tap) observe(f func(Packet), now wheel.Time, p *tun.LinkPacket, pkt *stack.PacketBuffer, whole bool) {
	if f == nil {
		return
	}
	seen := Packet{At: wheel.Time(now.Sub(t.pair.began)), FromServer: p.Direction == tun.There, Model: p.Model, Fate: p.Fate}
	if pkt.TransportProtocolNumber == 6 {
		if h, _, err := tcp.ParseHeader(pkt.TransportHeader().Slice()); err == nil {
			seen.Header = h
		}
	}
	if whole {
		view := pkt.ToView()
		seen.Bytes, seen.Causes = slices.Clone(view.AsSlice()), netstack.Causes(pkt)
		view.Release()
	}
	f(seen)
}
