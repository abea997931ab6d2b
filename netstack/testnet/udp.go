package testnet

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync/atomic"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// udpConn is a UDP socket of a host, gVisor's. Its errors are package net's.
type udpConn struct {
	*gonet.UDPConn
	closed atomic.Bool
}

// ListenPacket opens a UDP socket at an address with a port: ":443". The host chooses a port for 0.
// Datagrams meet the host's path as segments do. It fails the test if that is impossible.
//
//	server := net.Host("server").ListenPacket(":53")
//	client, err := net.Dial("udp", "server:53")
func (h *Host) ListenPacket(address string) net.PacketConn {
	h.net.t.Helper()
	at, err := h.udpAddress(context.Background(), "udp", address)
	if err == nil {
		var c *udpConn
		if c, err = h.openUDP(&at, nil); err == nil {
			return c
		}
	}
	h.net.t.Fatalf("testnet: %s: listen udp %s: %v", h.name, address, err)
	return nil
}

// udpAddress looks up an address with a port.
func (h *Host) udpAddress(ctx context.Context, network, address string) (at netip.AddrPort, err error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return at, err
	}
	port, err := net.LookupPort(network, service)
	if err != nil {
		return at, err
	}
	addr, err := netip.ParseAddr(host)
	if err != nil && host != "" {
		addrs, err := names{h.net}.LookupNetIP(ctx, "ip"+network[len("udp"):], host)
		if err != nil {
			return at, err
		}
		addr = addrs[0]
	}
	return netip.AddrPortFrom(addr.Unmap(), uint16(port)), nil
}

// dialUDP opens a UDP socket that is connected to an address.
func (h *Host) dialUDP(ctx context.Context, network, address string) (net.Conn, error) {
	to, err := h.udpAddress(ctx, network, address)
	for _, life := range []context.Context{ctx, h.net.life} {
		if err == nil {
			err = life.Err()
		}
	}
	var c *udpConn
	if err == nil {
		c, err = h.openUDP(nil, &to)
	}
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	return c, nil
}

// openUDP opens a socket. One without addresses of IPv4 takes both IP versions.
func (h *Host) openUDP(local, remote *netip.AddrPort) (*udpConn, error) {
	number := header.IPv6ProtocolNumber
	full := func(at *netip.AddrPort) *tcpip.FullAddress {
		if at == nil {
			return nil
		}
		if at.Addr().Is4() {
			number = header.IPv4ProtocolNumber
		}
		f := &tcpip.FullAddress{Port: at.Port()}
		if at.Addr().IsValid() && !at.Addr().IsUnspecified() {
			f.Addr = tcpip.AddrFromSlice(at.Addr().AsSlice())
		}
		return f
	}
	l, r := full(local), full(remote)
	c, err := gonet.DialUDP(h.stack, l, r, number)
	if err != nil {
		return nil, err
	}
	return &udpConn{UDPConn: c}, nil
}

// fail returns an error of gVisor's socket as package net does.
func (c *udpConn) fail(op string, err error) error {
	why := err
	timeout, is := errors.AsType[net.Error](err)
	switch {
	case err == nil:
		return nil
	case c.closed.Load(), err == io.EOF:
		why = net.ErrClosed
	case is && timeout.Timeout():
		why = os.ErrDeadlineExceeded
	default:
		return err
	}
	return &net.OpError{Op: op, Net: "udp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: why}
}

// Read implements net.Conn.
func (c *udpConn) Read(b []byte) (int, error) {
	n, err := c.UDPConn.Read(b)
	return n, c.fail("read", err)
}

// ReadFrom implements net.PacketConn.
func (c *udpConn) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, err := c.UDPConn.ReadFrom(b)
	return n, from, c.fail("read", err)
}

// Write implements net.Conn.
func (c *udpConn) Write(b []byte) (int, error) {
	n, err := c.UDPConn.Write(b)
	return n, c.fail("write", err)
}

// WriteTo implements net.PacketConn.
func (c *udpConn) WriteTo(b []byte, to net.Addr) (int, error) {
	at, err := netip.ParseAddrPort(to.String())
	if err != nil {
		return 0, c.fail("write", err)
	}
	n, err := c.UDPConn.WriteTo(b, net.UDPAddrFromAddrPort(netip.AddrPortFrom(at.Addr().Unmap(), at.Port())))
	return n, c.fail("write", err)
}

// Close implements net.Conn.
func (c *udpConn) Close() error {
	if c.closed.Swap(true) {
		return c.fail("close", net.ErrClosed)
	}
	return c.UDPConn.Close()
}

// RemoteAddr implements net.Conn.
func (c *udpConn) RemoteAddr() net.Addr {
	if a, ok := c.UDPConn.RemoteAddr().(*net.UDPAddr); ok && a != nil {
		return a
	}
	return nil
}
