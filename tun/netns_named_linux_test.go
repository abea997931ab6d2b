package tun

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestNamedNamespace(t *testing.T) {
	newTunNamespace(t) // skips without root
	name := fmt.Sprintf("tcpwheel-test-%d", os.Getpid())
	n, err := AddNamespace(name)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		t.Skipf("no named namespace here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := AddNamespace(name); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "another name") {
		t.Errorf("the same name again: %v", err)
	}
	d, err := Open("named0", Options{Netns: name})
	if err != nil {
		t.Error(err)
	} else {
		if _, err := os.Stat("/sys/class/net/named0"); err == nil {
			t.Error("the device is in the namespace of the process")
		}
		if err := d.SetQueueLen(0); err == nil {
			t.Error("SetQueueLen(0) gave no error")
		}
		if err := d.SetQueueLen(5000); err != nil {
			t.Error(err)
		}
		if n, err := d.KernelDrops(); n != 0 || err != nil {
			t.Errorf("%d packets dropped, %v", n, err)
		}
		d.Close()
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(n.path); err == nil {
		t.Errorf("%s is still there", n.path)
	}
	for _, bad := range []string{"", "..", "a/b"} {
		if _, err := AddNamespace(bad); err == nil {
			t.Errorf("AddNamespace(%q) gave no error", bad)
		}
	}
}

// TestKernelDropsAreCounted overfills the queue of a device without a reader.
func TestKernelDropsAreCounted(t *testing.T) {
	p := newTunPair(t, Options{}, nil)
	if err := p.dev.SetQueueLen(10); err != nil {
		t.Fatal(err)
	}
	p.dev.Endpoint().Attach(nil)
	p.dev.Endpoint().Wait()
	// Otherwise the kernel sends packets of its own now and then.
	if err := p.ns.Do(func() error {
		return os.WriteFile(filepath.Join("/proc/sys/net/ipv6/conf", p.dev.Name(), "disable_ipv6"), []byte("1"), 0)
	}); err != nil {
		t.Logf("IPv6 is on: %v", err)
	}
	send := func(n int) (dropped uint64) {
		t.Helper()
		p.must("send", p.ns.Do(func() error {
			conn, err := net.Dial("udp", netip.AddrPortFrom(tunStack4.Addr(), 9).String())
			if err != nil {
				return err
			}
			defer conn.Close()
			for range n {
				conn.Write([]byte("x"))
			}
			return nil
		}))
		dropped, err := p.dev.KernelDrops()
		p.must("count", err)
		return dropped
	}
	full := send(50)
	if full < 40 {
		t.Errorf("%d packets dropped of 50, with room for 10", full)
	}
	if got := send(50) - full; got < 50 || got > 55 {
		t.Errorf("%d packets dropped of 50 when there was no room, want all of them", got)
	}
}
