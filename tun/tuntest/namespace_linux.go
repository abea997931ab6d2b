package tuntest

import (
	"errors"
	"io/fs"
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"tcpwheel/tun"
)

// Namespace makes a namespace that ends with the test. Where that, or a TUN device, is not to be had, as without root, the test is
// skipped; another error fails it.
func Namespace(t testing.TB) *tun.Namespace {
	t.Helper()
	// Package net finds out once whether there is IPv6. In a namespace whose loopback device is down it would find none.
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
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENXIO) {
		t.Skipf("no TUN device to be had here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ns
}

// Devices returns the names of the network devices in ns, but for the loopback.
func Devices(t testing.TB, ns *tun.Namespace) (names []string) {
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
