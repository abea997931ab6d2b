package site

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/tun"
	"tcpwheel/wheel"
)

// Site is two kernels and the link between them.
type Site struct {
	server, client host
	clock          *wheel.Realtime
	began          wheel.Time
	link           *tun.Joined
}

// host is a kernel in a namespace, with a device.
type host struct {
	space *tun.Namespace
	dev   *tun.Device
	addr  netip.Prefix
}

// tick is the granularity of the link.
const tick = time.Microsecond

// New makes both kernels and the link. Its error is one of package tun, which says what to do about it.
func New(cfg Config) (s *Site, err error) {
	s = &Site{
		server: host{addr: netip.MustParsePrefix("10.11.0.1/24")}, client: host{addr: netip.MustParsePrefix("10.11.0.2/24")},
	}
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
	for _, h := range []*host{&s.server, &s.client} {
		if err = h.open(); err != nil {
			return s, err
		}
	}
	o := tun.LinkOptions{There: cfg.There, Back: cfg.Back, Seed: cfg.Seed, Clock: s.clock}
	if cfg.Seen != nil {
		o.Tap = tap{s, cfg.Seen}
	}
	s.link, err = tun.Join(s.server.dev.Endpoint(), s.client.dev.Endpoint(), o)
	return s, err
}

// open makes the namespace and the device.
func (h *host) open() (err error) {
	if h.space, err = tun.NewNamespace(); err != nil {
		return err
	}
	if h.dev, err = tun.Open("site0", tun.Options{Netns: h.space.Path(), NoOffload: true}); err != nil {
		return err
	}
	// What a connection has learnt is not to help the next one. Without IPv6 the kernel sends nothing of its own
	// accord.
	err = h.space.Do(func() error {
		return errors.Join(os.WriteFile("/proc/sys/net/ipv4/tcp_no_metrics_save", []byte("1"), 0),
			os.WriteFile("/proc/sys/net/ipv6/conf/site0/disable_ipv6", []byte("1"), 0))
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) { // a kernel without IPv6
		return fmt.Errorf("set up the kernel of %v: %w", h.addr, err)
	}
	if err = h.dev.AddAddress(h.addr); err == nil {
		err = h.dev.Up()
	}
	return err
}

func (h *host) close() (err error) {
	if h.dev != nil {
		err = h.dev.Close()
	}
	if h.space != nil {
		err = errors.Join(err, h.space.Close())
	}
	return err
}

// Now is that of the link's clock, since the Site was made.
func (s *Site) Now() wheel.Time { return wheel.Time(s.clock.Now().Sub(s.began)) }

// Listen listens in the server's kernel.
func (s *Site) Listen(port uint16) (l net.Listener, err error) {
	err = s.server.space.Do(func() error {
		l, err = net.Listen("tcp", netip.AddrPortFrom(s.server.addr.Addr(), port).String())
		return err
	})
	if err != nil {
		return nil, err
	}
	raw, err := l.(*net.TCPListener).SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			_ = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "cubic") // else it keeps its own
		})
	}
	return l, err
}

// Dial connects from a port of the client's kernel to one of the server's.
func (s *Site) Dial(ctx context.Context, local, remote uint16) (c net.Conn, err error) {
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(s.client.addr.Addr(), local)), KeepAlive: -1}
	err = s.client.space.Do(func() error {
		c, err = d.DialContext(ctx, "tcp", netip.AddrPortFrom(s.server.addr.Addr(), remote).String())
		return err
	})
	return c, err
}

// AckAtOnce has the kernel of a connection acknowledge at once. It goes back by itself, so that this is to be called
// after each read.
func (*Site) AckAtOnce(c net.Conn) error {
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_QUICKACK, 1) })
	return errors.Join(err, failed)
}

// Counts returns what the server's kernel has counted.
func (s *Site) Counts() (c Counts, err error) {
	var text []byte
	err = s.server.space.Do(func() error {
		text, err = os.ReadFile(filepath.Join("/proc/thread-self", "net", "netstat"))
		return err
	})
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

// Close ends the link and both kernels. Connections and listeners are to be closed before.
func (s *Site) Close() (err error) {
	if s.link != nil {
		s.link.Close()
	}
	err = errors.Join(s.server.close(), s.client.close())
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
