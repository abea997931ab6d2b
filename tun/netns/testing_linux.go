package netns

import (
	"net"

	"github.com/vishvananda/netlink"

	"tcpwheel/tun"
)

// TB is the part of testing.TB that Test and Lateness need.
type TB interface {
	Helper()
	Cleanup(func())
	Skipf(format string, args ...any)
	Fatal(args ...any)
}

// Test makes a namespace that ends with the test. It skips the test where namespaces or TUN devices
// are not available, as without root.
func Test(t TB) *tun.Namespace {
	t.Helper()
	// Package net probes for IPv6 once per process. In a namespace whose loopback device is down it
	// would find none.
	if l, err := net.Listen("tcp", ":0"); err == nil {
		l.Close()
	}
	ns, err := tun.NewNamespace()
	if err == nil {
		t.Cleanup(func() { ns.Close() })
		var d *tun.Device
		if d, err = tun.Open("", tun.Options{Netns: ns.Path()}); err == nil {
			d.Close()
		}
	}
	Must(t, err)
	return ns
}

// Must skips the test if err says that namespaces, TUN devices or kernel settings are not available
// here, and fails it on any other error.
func Must(t TB, err error) {
	t.Helper()
	if unavailable(err) {
		t.Skipf("needs root and TUN devices: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Devices returns the names of the network devices in ns, without the loopback.
func Devices(t TB, ns *tun.Namespace) (names []string) {
	t.Helper()
	if err := ns.Do(func() error {
		links, err := net.Interfaces()
		for _, l := range links {
			if l.Flags&net.FlagLoopback == 0 {
				names = append(names, l.Name)
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return names
}

// DeleteDevice deletes a network device of ns, as another program may.
func DeleteDevice(t TB, ns *tun.Namespace, name string) {
	t.Helper()
	if err := ns.Do(func() error {
		device, err := netlink.LinkByName(name)
		if err == nil {
			err = netlink.LinkDel(device)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
