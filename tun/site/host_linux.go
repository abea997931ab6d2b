package site

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tcpwheel/tun"
)

// Host is a kernel in a network namespace, with a TUN device. Multiple goroutines may invoke its methods.
type Host struct {
	Device *tun.Device // the only way to the kernel

	space *tun.Namespace
	addr  netip.Prefix
}

// NewHost makes the namespace, and the device with its address. Nothing is offloaded. Its error is one of package tun.
func NewHost(addr netip.Prefix) (h *Host, err error) {
	h = &Host{addr: addr}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
			h = nil
		}
	}()
	if h.space, err = tun.NewNamespace(); err != nil {
		return h, err
	}
	if h.Device, err = tun.Open("site0", tun.Options{Netns: h.space.Path(), NoOffload: true}); err != nil {
		return h, err
	}
	// What a connection has learnt is not to help the next one. Without IPv6 the kernel sends nothing of its own
	// accord.
	err = h.Do(func() error {
		return errors.Join(os.WriteFile("/proc/sys/net/ipv4/tcp_no_metrics_save", []byte("1"), 0),
			os.WriteFile("/proc/sys/net/ipv6/conf/site0/disable_ipv6", []byte("1"), 0))
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) { // a kernel without IPv6
		return h, fmt.Errorf("set up the kernel of %v: %w", addr, err)
	}
	if err = h.Device.AddAddress(addr); err != nil {
		return h, err
	}
	return h, h.Device.Up()
}

// Do calls f on a thread in the namespace: the sockets that it makes are the kernel's there.
func (h *Host) Do(f func() error) error { return h.space.Do(f) }

// Listen listens at a port of the address, and returns the congestion control of the connections that come: CUBIC, or
// the kernel's own if it has no CUBIC.
func (h *Host) Listen(port uint16) (l net.Listener, control string, err error) {
	err = h.Do(func() error {
		l, err = net.Listen("tcp", netip.AddrPortFrom(h.addr.Addr(), port).String())
		return err
	})
	if err != nil {
		return nil, "", err
	}
	if control, err = setControl(l.(*net.TCPListener)); err != nil {
		return nil, "", errors.Join(err, l.Close())
	}
	return l, control, nil
}

// setControl gives a listener, and the connections of it, CUBIC, and returns what it has then: the kernel may not have
// CUBIC.
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

// SetAckAtOnce has the kernel of a connection acknowledge at once, or take the connection for an interactive one, whose
// ACKs it puts off. It changes its mind by itself, so that this is to be called after each read.
func SetAckAtOnce(c net.Conn, atOnce bool) error {
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

// Counts returns what the kernel has counted.
func (h *Host) Counts() (c Counts, err error) {
	var text []byte
	err = h.Do(func() error {
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

// Close ends the device and the namespace. Connections and listeners are to be closed before.
func (h *Host) Close() (err error) {
	if h.Device != nil {
		err = h.Device.Close()
	}
	if h.space != nil {
		err = errors.Join(err, h.space.Close())
	}
	return err
}
