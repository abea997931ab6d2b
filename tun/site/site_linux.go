package site

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/tun"
	"tcpwheel/wheel"
)

// Site is two kernels and the link between them.
type Site struct {
	server, client *Host
	clock          *wheel.Realtime
	began          wheel.Time
	link           *tun.Joined
}

// tick is the granularity of the link.
const tick = time.Microsecond

// New makes both kernels and the link. Its error is one of package tun, which says what to do about it.
func New(cfg Config) (s *Site, err error) {
	s = &Site{}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("site: %w", err), s.Close())
			s = nil
		}
	}()
	if s.clock, err = wheel.Start(wheel.RealtimeConfig{Tick: tick}); err != nil {
		return s, err
	}
	s.began = s.clock.Now()
	if s.server, err = NewHost(netip.MustParsePrefix("10.11.0.1/24")); err != nil {
		return s, err
	}
	if s.client, err = NewHost(netip.MustParsePrefix("10.11.0.2/24")); err != nil {
		return s, err
	}
	o := tun.LinkOptions{There: cfg.There, Back: cfg.Back, Seed: cfg.Seed, Clock: s.clock}
	if cfg.Seen != nil {
		o.Tap = tap{s, cfg.Seen}
	}
	s.link, err = tun.Join(s.server.Device.Endpoint(), s.client.Device.Endpoint(), o)
	return s, err
}

// Now is that of the link's clock, since the Site was made.
func (s *Site) Now() wheel.Time { return wheel.Time(s.clock.Now().Sub(s.began)) }

// Listen listens in the server's kernel.
func (s *Site) Listen(port uint16) (net.Listener, error) {
	l, _, err := s.server.Listen(port)
	return l, err
}

// Dial connects from a port of the client's kernel to one of the server's.
func (s *Site) Dial(ctx context.Context, local, remote uint16) (c net.Conn, err error) {
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(s.client.addr.Addr(), local)), KeepAlive: -1}
	err = s.client.Do(func() error {
		c, err = d.DialContext(ctx, "tcp", netip.AddrPortFrom(s.server.addr.Addr(), remote).String())
		return err
	})
	return c, err
}

// AckAtOnce has the kernel of a connection acknowledge at once. It goes back by itself, so that this is to be called
// after each read.
func (*Site) AckAtOnce(c net.Conn) error { return SetAckAtOnce(c, true) }

// Counts returns what the server's kernel has counted.
func (s *Site) Counts() (Counts, error) { return s.server.Counts() }

// Close ends the link and both kernels. Connections and listeners are to be closed before.
func (s *Site) Close() (err error) {
	if s.link != nil {
		s.link.Close()
	}
	for _, h := range []*Host{s.server, s.client} {
		if h != nil {
			err = errors.Join(err, h.Close())
		}
	}
	if s.clock != nil {
		err = errors.Join(err, s.clock.Close())
	}
	return err
}

// tap tells of what passes.
type tap struct {
	site *Site
	seen func(Passed)
}

// Sent implements tun.Tap.
func (t tap) Sent(now wheel.Time, p *tun.Passing, pkt *stack.PacketBuffer) {
	passed := Passed{At: wheel.Time(now.Sub(t.site.began)), FromServer: p.Direction == tun.There, Packet: p.Model, Fate: p.Fate}
	if b := pkt.TransportHeader().Slice(); pkt.TransportProtocolNumber == 6 && len(b) >= 4 {
		passed.Src, passed.Dst = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	}
	t.seen(passed)
}

// Arrived implements tun.Tap.
func (tap) Arrived(wheel.Time, *tun.Passing, *stack.PacketBuffer) {}
