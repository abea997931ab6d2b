package tun

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// AddAddress gives the kernel's side of the device an address, and the kernel a route to the rest of its prefix, where
// the stack's own address is.
func (d *Device) AddAddress(p netip.Prefix) error {
	if !p.IsValid() {
		return fmt.Errorf("tun: address %v, want one with a prefix length", p)
	}
	addr := &netlink.Addr{IPNet: ipNet(p)}
	if p.Addr().Is6() {
		addr.Flags = unix.IFA_F_NODAD // nobody else is on the link: the address is to be usable at once
	}
	if err := d.kernel.AddrAdd(d.ref(), addr); err != nil {
		return &Error{fmt.Sprintf("add address %v to %s", p, d.name), err, hintNetlink(err, p)}
	}
	return nil
}

// RemoveAddress takes back what AddAddress gave.
func (d *Device) RemoveAddress(p netip.Prefix) error {
	if err := d.kernel.AddrDel(d.ref(), &netlink.Addr{IPNet: ipNet(p)}); err != nil {
		return &Error{fmt.Sprintf("remove address %v from %s", p, d.name), err, hintNetlink(err, p)}
	}
	return nil
}

// AddRoute makes the kernel send what is for p through the device, which must be up.
func (d *Device) AddRoute(p netip.Prefix) error {
	if !p.IsValid() {
		return fmt.Errorf("tun: route to %v, want a prefix", p)
	}
	if err := d.kernel.RouteAdd(&netlink.Route{LinkIndex: d.index, Dst: ipNet(p.Masked())}); err != nil {
		return &Error{fmt.Sprintf("add route to %v by %s", p, d.name), err, hintNetlink(err, p)}
	}
	return nil
}

// Up makes the device carry packets. IPv6 addresses are better given after it: see Ready.
func (d *Device) Up() error {
	if err := d.kernel.LinkSetUp(d.ref()); err != nil {
		return &Error{"set up " + d.name, err, hintNetlink(err, netip.Prefix{})}
	}
	return nil
}

// Ready waits until the kernel takes what comes for the addresses that the device was given after Up. For an IPv6 address
// that is when some work in the background is done: before, it drops the answer to a SYN, which costs a second. For one that
// was given before Up the kernel does not tell when. The error is that of the context, or of netlink.
func (d *Device) Ready(ctx context.Context) error {
	addrs, err := d.kernel.AddrList(d.ref(), netlink.FAMILY_V6)
	if err != nil {
		return &Error{"list addresses of " + d.name, err, hintNetlink(err, netip.Prefix{})}
	}
	for _, a := range addrs {
		for !a.IP.IsLinkLocalUnicast() && !d.isLocal(a.IP) {
			select {
			case <-ctx.Done():
				return &Error{fmt.Sprintf("wait until %s has address %v", d.name, a.IP), ctx.Err(), ""}
			case <-time.After(time.Millisecond):
			}
		}
	}
	return nil
}

// isLocal reports whether the kernel takes packets to an address for its own.
func (d *Device) isLocal(ip net.IP) bool {
	routes, err := d.kernel.RouteGet(ip)
	return err == nil && len(routes) > 0 && routes[0].Type == unix.RTN_LOCAL
}

// Down makes the device carry no packets. The kernel forgets its routes, and IPv6 addresses.
func (d *Device) Down() error {
	if err := d.kernel.LinkSetDown(d.ref()); err != nil {
		return &Error{"set down " + d.name, err, hintNetlink(err, netip.Prefix{})}
	}
	return nil
}

// MTU returns that of the endpoint.
func (d *Device) MTU() int { return int(d.endpoint.MTU()) }

// SetMTU sets the MTU on both sides of the device.
func (d *Device) SetMTU(mtu int) error {
	if mtu < minMTU || mtu > maxMTU {
		return fmt.Errorf("tun: MTU %d, want %d to %d", mtu, minMTU, maxMTU)
	}
	if err := d.setKernelMTU(mtu); err != nil {
		return err
	}
	d.endpoint.SetMTU(uint32(mtu))
	return nil
}

func (d *Device) setKernelMTU(mtu int) error {
	if err := d.kernel.LinkSetMTU(d.ref(), mtu); err != nil {
		return &Error{fmt.Sprintf("set MTU of %s to %d", d.name, mtu), err, hintNetlink(err, netip.Prefix{})}
	}
	return nil
}

func (d *Device) kernelMTU() (int, error) {
	link, err := d.kernel.LinkByIndex(d.index)
	if err != nil {
		return 0, &Error{"find device " + d.name, err, ""}
	}
	return link.Attrs().MTU, nil
}

// Remove deletes the device of that name from a network namespace, as for InNamespace: a persistent one, or one that
// another program has open.
func Remove(name, netns string) error {
	return InNamespace(netns, func() error {
		kernel, err := netlink.NewHandle(unix.NETLINK_ROUTE)
		if err != nil {
			return &Error{"open netlink socket", err, ""}
		}
		defer kernel.Close()
		link, err := kernel.LinkByName(name)
		if err == nil {
			err = kernel.LinkDel(link)
		}
		if err != nil {
			return &Error{"remove device " + name, err, hintNetlink(err, netip.Prefix{})}
		}
		return nil
	})
}

// ref names the device to netlink, by number.
func (d *Device) ref() netlink.Link {
	return &netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Name: d.name, Index: d.index}}
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

func hintNetlink(err error, p netip.Prefix) string {
	switch {
	case errors.Is(err, unix.EPERM):
		return "run as root or with CAP_NET_ADMIN"
	case errors.Is(err, unix.EEXIST):
		return "it is there already"
	case errors.Is(err, unix.ENODEV):
		return "the device is gone"
	case errors.Is(err, unix.ENETDOWN):
		return "the device is down: set it up first"
	case p.IsValid() && p.Addr().Is6() && (errors.Is(err, unix.EACCES) || errors.Is(err, unix.EOPNOTSUPP)):
		return "IPv6 is off: sysctl net.ipv6.conf.all.disable_ipv6=0"
	}
	return ""
}
