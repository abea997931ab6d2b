package netns

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"tcpwheel/netstack/virtual"
	"tcpwheel/tun"
)

// kernel is this machine's kernel in a network namespace of its own, reached through a TUN device.
// Multiple goroutines may invoke its methods.
type kernel struct {
	Device *tun.Device

	space *tun.Namespace
	addr  netip.Prefix
}

// newKernel makes the namespace and its device, with that address and without offload. Its errors
// are those of package tun, which say what to do.
func newKernel(addr netip.Prefix) (k *kernel, err error) {
	k = &kernel{addr: addr}
	defer func() {
		if err != nil {
			err = errors.Join(err, k.Close())
			k = nil
		}
	}()
	if k.space, err = tun.NewNamespace(); err != nil {
		return k, err
	}
	if k.Device, err = tun.Open(PairDevice, tun.Options{Netns: k.space.Path(), NoOffload: true}); err != nil {
		return k, err
	}
	if err = k.Do(func() error { return WriteSysctls(NoMetricsSave) }); err != nil {
		return k, fmt.Errorf("set up the kernel of %v: %w", addr, err)
	}
	Quieten(k.Device, []netip.Prefix{addr})
	if err = k.Device.AddAddress(addr); err != nil {
		return k, err
	}
	return k, k.Device.Up()
}

// setQdisc replaces the queueing discipline of the device.
func (k *kernel) setQdisc(kind string) error {
	return k.Do(func() error {
		h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
		if err != nil {
			return err
		}
		defer h.Close()
		dev, err := h.LinkByName(k.Device.Name())
		if err != nil {
			return err
		}
		attrs := netlink.QdiscAttrs{LinkIndex: dev.Attrs().Index, Parent: netlink.HANDLE_ROOT,
			Handle: netlink.MakeHandle(1, 0)}
		err = h.QdiscReplace(&netlink.GenericQdisc{QdiscAttrs: attrs, QdiscType: kind})
		if errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("this kernel has no queueing discipline %s: %w", kind, errors.ErrUnsupported)
		}
		return err
	})
}

// Do calls f on a thread in the namespace. Sockets that f opens belong to the kernel there.
func (k *kernel) Do(f func() error) error { return k.space.Do(f) }

// Listen listens on a port of the address. It returns the congestion control of the connections
// that it accepts: CUBIC, or the kernel's default where there is no CUBIC.
func (k *kernel) Listen(port uint16) (l net.Listener, control string, err error) {
	err = k.Do(func() error {
		l, err = net.Listen("tcp", netip.AddrPortFrom(k.addr.Addr(), port).String())
		return err
	})
	if err != nil {
		return nil, "", err
	}
	if control, err = setCUBIC(l.(*net.TCPListener)); err != nil {
		return nil, "", errors.Join(err, l.Close())
	}
	return l, control, nil
}

// setCUBIC asks for CUBIC and returns the congestion control that the kernel then uses.
func setCUBIC(l *net.TCPListener) (name string, err error) {
	err = onSocket(l, func(fd int) (err error) {
		_ = unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, "cubic")
		name, err = unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
		return err
	})
	return strings.TrimRight(name, "\x00"), err
}

// onSocket calls f with the descriptor of a connection or listener of the kernel.
func onSocket(c any, f func(fd int) error) error {
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = f(int(fd)) })
	return errors.Join(err, failed)
}

// SetQuickAck sets TCP_QUICKACK on a connection of a kernel: it then acknowledges at once, or else
// delays its ACKs. The kernel changes the option itself, so set it again after each read.
func SetQuickAck(c net.Conn, on bool) error {
	value := 0
	if on {
		value = 1
	}
	return setOption(c, unix.IPPROTO_TCP, unix.TCP_QUICKACK, value)
}

// SetPacingRate sets SO_MAX_PACING_RATE on a connection of a kernel, in bytes per second. Without
// fq the kernel's TCP then paces by a timer of its own.
func SetPacingRate(c net.Conn, rate int) error {
	return setOption(c, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, rate)
}

// SetControl sets TCP_CONGESTION on a connection of a kernel, such as cubic.
func SetControl(c net.Conn, name string) error {
	return onSocket(c, func(fd int) error { return unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name) })
}

func setOption(c net.Conn, level, name, value int) error {
	return onSocket(c, func(fd int) error { return unix.SetsockoptInt(fd, level, name, value) })
}

// Counts returns the retransmissions that the kernel has counted in the namespace.
func (k *kernel) Counts() (virtual.Counts, error) {
	var c map[string]uint64
	err := k.Do(func() (err error) {
		c, err = ReadCounters()
		return err
	})
	return virtual.Counts{Timeouts: c["TCPTimeouts"], Probes: c["TCPLossProbes"], FastRetransmits: c["TCPFastRetrans"]}, err
}

// Close removes the device and the namespace. Close connections and listeners first.
func (k *kernel) Close() (err error) {
	if k.Device != nil {
		err = k.Device.Close()
	}
	if k.space != nil {
		err = errors.Join(err, k.space.Close())
	}
	return err
}
