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

// AddAddress gives the kernel's side of the device an address, and a route to the rest of its
// prefix, which holds the stack's address.
func (d *Device) AddAddress(p netip.Prefix) error {
	if !p.IsValid() {
		return fmt.Errorf("tun: address %v, want one with a prefix length", p)
	}
	addr := &netlink.Addr{IPNet: ipNet(p)}
	if p.Addr().Is6() {
		addr.Flags = unix.IFA_F_NODAD // the link has no other hosts: skip duplicate address detection
	}
	if err := d.kernel.AddrAdd(d.ref(), addr); err != nil {
		return &Error{fmt.Sprintf("add address %v to %s", p, d.name), err, hintNetlink(err, p)}
	}
	return nil
}

// AddRoute makes the kernel send packets for p through the device, which must be up.
func (d *Device) AddRoute(p netip.Prefix) error {
	if !p.IsValid() {
		return fmt.Errorf("tun: route to %v, want a prefix", p)
	}
	if err := d.kernel.RouteAdd(&netlink.Route{LinkIndex: d.index, Dst: ipNet(p.Masked())}); err != nil {
		return &Error{fmt.Sprintf("add route to %v by %s", p, d.name), err, hintNetlink(err, p)}
	}
	return nil
}

// Up makes the device carry packets. Add IPv6 addresses after it: see Ready.
func (d *Device) Up() error {
	if err := d.kernel.LinkSetUp(d.ref()); err != nil {
		return &Error{"set up " + d.name, err, hintNetlink(err, netip.Prefix{})}
	}
	return nil
}

// Ready waits until the kernel accepts packets for the addresses that were added after Up. For an
// IPv6 address the kernel works in the background first; a SYN|ACK before that is dropped, which
// costs a second. For an address added before Up, the kernel does not show when. The error is that
// of the context or of netlink.
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

// isLocal reports whether the kernel accepts packets for an address.
func (d *Device) isLocal(ip net.IP) bool {
	routes, err := d.kernel.RouteGet(ip)
	return err == nil && len(routes) > 0 && routes[0].Type == unix.RTN_LOCAL
}

// Down makes the device carry no packets. The kernel forgets its routes and IPv6 addresses.
func (d *Device) Down() error {
	if err := d.kernel.LinkSetDown(d.ref()); err != nil {
		return &Error{"set down " + d.name, err, hintNetlink(err, netip.Prefix{})}
	}
	return nil
}

// MTU returns the MTU of the endpoint.
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

// ref identifies the device to netlink, by number.
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
		return "it exists already"
	case errors.Is(err, unix.ENODEV):
		return "the device is gone"
	case errors.Is(err, unix.ENETDOWN):
		return "the device is down: set it up first"
	case p.IsValid() && p.Addr().Is6() && (errors.Is(err, unix.EACCES) || errors.Is(err, unix.EOPNOTSUPP)):
		return "IPv6 is off: sysctl net.ipv6.conf.all.disable_ipv6=0"
	}
	return ""
}
