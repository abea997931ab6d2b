package netns

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"tcpwheel/tun"
)

// readyTimeout bounds the wait for IPv6 addresses in Configure.
const readyTimeout = 10 * time.Second

// Configure brings a device up, gives the kernel its own addresses, and routes to those addresses
// of peer that are in none of own's subnets. It returns when the kernel accepts packets for all of
// own.
func Configure(ctx context.Context, d *tun.Device, own, peer []netip.Prefix) error {
	if err := d.Up(); err != nil {
		return err
	}
	for _, p := range own {
		if err := d.AddAddress(p); err != nil {
			return err
		}
	}
	for _, p := range peer {
		a := p.Addr()
		if slices.ContainsFunc(own, func(o netip.Prefix) bool { return o.Contains(a) }) {
			continue
		}
		if err := d.AddRoute(netip.PrefixFrom(a, a.BitLen())); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return d.Ready(ctx)
}

// Quieten stops IPv6 on a device from sending packets of its own, such as router solicitations, so
// that packet numbers do not depend on chance. Without an IPv6 address in own it disables IPv6
// there. Settings that the kernel lacks or refuses are skipped. Call it before Configure.
func Quieten(d *tun.Device, own []netip.Prefix) {
	values := map[string]string{"disable_ipv6": "1"}
	if slices.ContainsFunc(own, func(p netip.Prefix) bool { return p.Addr().Is6() }) {
		values = map[string]string{"addr_gen_mode": "1", "router_solicitations": "0", "accept_ra": "0"}
	}
	_ = d.InNamespace(func() error {
		for name, value := range values {
			_ = WriteSysctls(map[string]string{"net/ipv6/conf/" + d.Name() + "/" + name: value})
		}
		return nil
	})
}

// LoopbackUp brings up the loopback device of a namespace, named as for tun.InNamespace.
func LoopbackUp(name string) error {
	return tun.InNamespace(name, func() error {
		kernel, err := netlink.NewHandle(unix.NETLINK_ROUTE)
		if err != nil {
			return err
		}
		defer kernel.Close()
		lo, err := kernel.LinkByName("lo")
		if err == nil {
			err = kernel.LinkSetUp(lo)
		}
		return err
	})
}

const featureUsecTS = 1 << 4 // RTAX_FEATURE_TCP_USEC_TS of linux/rtnetlink.h

// SetFineTimestamps gives the routes of PairDevice, in the namespace of the calling thread, the
// feature tcp_usec_ts: TCP timestamps then count microseconds, since Linux 6.7. It is for iproute2
// before 6.7, which cannot.
func SetFineTimestamps() error {
	device, err := netlink.LinkByName(PairDevice)
	if err != nil {
		return err
	}
	routes, err := netlink.RouteList(device, netlink.FAMILY_V4)
	for i := range routes {
		r := &routes[i]
		r.Features |= featureUsecTS
		err = errors.Join(err, netlink.RouteReplace(r))
	}
	return err
}

// WriteSysctls writes kernel settings, named as below /proc/sys ("net/ipv4/tcp_sack"), in the
// namespace of the calling thread.
func WriteSysctls(values map[string]string) error {
	for name, value := range values {
		if err := os.WriteFile(filepath.Join("/proc/sys", name), []byte(value), 0); err != nil {
			return err
		}
	}
	return nil
}

// NoMetricsSave is the setting that keeps the kernel from starting a connection with the RTT and
// ssthresh that an earlier one to the same peer learned.
var NoMetricsSave = map[string]string{"net/ipv4/tcp_no_metrics_save": "1"}

// ReadCounters returns the counters of /proc/net/netstat and /proc/net/snmp in the namespace of the
// calling thread, by the kernel's names. Counters that are not above 0 are left out.
func ReadCounters() (map[string]uint64, error) {
	counters := map[string]uint64{}
	for _, name := range []string{"netstat", "snmp"} {
		text, err := os.ReadFile(filepath.Join("/proc/thread-self/net", name))
		if err != nil {
			return nil, fmt.Errorf("read the kernel's counters: %w", err)
		}
		addCounters(counters, string(text))
	}
	return counters, nil
}

// addCounters parses pairs of lines, "Tcp: Name Name" and "Tcp: 1 2".
func addCounters(counters map[string]uint64, text string) {
	lines := strings.Split(text, "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		names, values := strings.Fields(lines[i]), strings.Fields(lines[i+1])
		for j := 1; j < min(len(names), len(values)); j++ {
			if n, err := strconv.ParseUint(values[j], 10, 64); err == nil && n > 0 {
				counters[names[j]] = n
			}
		}
	}
}

// unavailable reports whether err means that this user or machine cannot make namespaces or TUN
// devices, rather than that something is broken.
func unavailable(err error) bool {
	return slices.ContainsFunc([]error{os.ErrPermission, os.ErrNotExist, unix.ENODEV, unix.ENXIO, unix.EROFS},
		func(missing error) bool { return errors.Is(err, missing) })
}
