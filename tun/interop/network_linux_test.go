package interop

import (
	"errors"
	"io/fs"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip/link/pipe"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/tun"
	"tcpwheel/tun/netns"
	"tcpwheel/wheel"
)

// The TCPs that a host may have.
const (
	ours   = "ours"
	gvisor = "gvisor"
	kernel = "kernel"
)

// pair names the TCP that opens connections and the one that listens.
type pair struct{ a, b string }

var (
	withKernel = []pair{{kernel, ours}, {ours, kernel}}
	inProcess  = []pair{{ours, gvisor}, {gvisor, ours}, {ours, ours}}
	allPairs   = append(append([]pair{}, withKernel...), inProcess...)
)

// slowPairs are the pairs of a test that waits for timers: without gVisor's TCP unless the run is
// long.
func slowPairs() []pair {
	if isLong() {
		return allPairs
	}
	return []pair{{kernel, ours}, {ours, kernel}, {ours, ours}}
}

// plan configures a network. The zero value changes nothing.
type plan struct {
	link   sim.LinkConfig // of both directions
	mtu    int
	sysctl map[string]string       // of the kernel, below net/ipv4 unless the name starts with net/
	config func(*netstack.Config)  // of our TCP
	fast   bool                    // without CheckInvariants
	tun    tun.Options             // except namespace and MTU
	clock  wheel.RealtimeConfig    // of the link
	setUp  func(*testing.T, *host) // called for each host
}

// network is two hosts and the path between them. a is the host next to the link; it is never a
// kernel.
type network struct {
	t    *testing.T
	a, b *host
	box  *middlebox
	link *tun.Impaired // nil without an emulated link
	dev  *tun.Device   // nil without a kernel
	port uint16        // the last port listened on

	conns *[]conn // both ends of all connections
}

// The addresses of the hosts.
var (
	addrsA = [2]netip.Prefix{netip.MustParsePrefix("10.7.0.1/24"), netip.MustParsePrefix("fd07::1/64")}
	addrsB = [2]netip.Prefix{netip.MustParsePrefix("10.7.0.2/24"), netip.MustParsePrefix("fd07::2/64")}
)

// forPairs runs a test over each of the pairs, in parallel.
func forPairs(t *testing.T, pairs []pair, p plan, f func(t *testing.T, n *network)) {
	t.Helper()
	for _, who := range pairs {
		t.Run(who.a+"-"+who.b, func(t *testing.T) {
			t.Parallel()
			f(t, newNetwork(t, who, p))
		})
	}
}

// forFamilies runs a test on one network over IPv4, then IPv6.
func forFamilies(t *testing.T, n *network, f func(t *testing.T, n *network, v6 bool)) {
	for _, v6 := range []bool{false, true} {
		t.Run(map[bool]string{false: "ipv4", true: "ipv6"}[v6], func(t *testing.T) {
			sub := *n
			sub.t = t
			f(t, &sub, v6)
			n.port = sub.port
		})
	}
}

func newNetwork(t *testing.T, who pair, p plan) *network {
	t.Helper()
	n := &network{t: t, a: &host{tcp: who.a, addrs: addrsA}, b: &host{tcp: who.b, addrs: addrsB}, port: 999, conns: new([]conn)}
	near, far := n.a, n.b // near has the link
	if near.tcp == kernel {
		near, far = far, near
	}
	var below stack.LinkEndpoint
	mtu := p.mtu
	if mtu == 0 {
		mtu = 1500
	}
	if far.tcp == kernel {
		far.ns = netns.Test(t)
		far.setSysctls(t, p.sysctl)
		o := p.tun
		o.Netns, o.MTU = far.ns.Path(), mtu
		dev, err := tun.Open("wheel%d", o)
		must(t, err)
		n.dev, below = dev, dev.Endpoint()
	} else {
		x, y := pipe.New("", "", uint32(mtu))
		below = x
		far.stack = newStack(t, far, y, &p)
	}
	n.box = newMiddlebox(below)
	var link stack.LinkEndpoint = n.box
	if !isNothing(p.link) {
		if p.clock.Tick == 0 {
			p.clock.Tick = 50 * time.Microsecond
		}
		clock, err := wheel.Start(p.clock)
		must(t, err)
		t.Cleanup(func() { clock.Close() })
		n.link, err = tun.Impair(link, tun.LinkOptions{There: p.link, Back: p.link, Seed: 1, Clock: clock})
		must(t, err)
		link = n.link
	}
	near.stack = newStack(t, near, link, &p)
	if n.dev != nil {
		addrs := far.addrs[:]
		if mtu < 1280 {
			addrs = addrs[:1] // no IPv6
		}
		must(t, netns.Configure(t.Context(), n.dev, addrs, nil))
	}
	t.Cleanup(func() { n.close(near, far) })
	if p.setUp != nil {
		p.setUp(t, n.a)
		p.setUp(t, n.b)
	}
	return n
}

// close ends the path and the stacks.
func (n *network) close(near, far *host) {
	for _, h := range []*host{near, far} {
		if h.stack != nil {
			h.stack.Close()
		}
	}
	if n.link != nil {
		n.link.Attach(nil)
		n.link.Wait()
	}
	n.box.wait.Wait()
	if n.dev != nil {
		if err := n.dev.Close(); err != nil {
			n.t.Errorf("close the device: %v", err)
		}
	}
	near.stack.Destroy()
	if far.stack != nil {
		far.stack.Destroy()
	}
}

// setSysctls applies the plan's kernel settings. It skips the test if the kernel lacks one, or if
// it cannot be set.
func (h *host) setSysctls(t *testing.T, all map[string]string) {
	t.Helper()
	for name, value := range all {
		if !strings.HasPrefix(name, "net/") {
			name = "net/ipv4/" + name
		}
		err := h.ns.Do(func() error { return netns.WriteSysctls(map[string]string{name: value}) })
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.EINVAL) {
			t.Skipf("this kernel has no %s of %s", name, value)
		}
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
			t.Skipf("%s cannot be set here: %v", name, err)
		}
		must(t, err)
	}
}

func isNothing(c sim.LinkConfig) bool {
	text, err := c.MarshalJSON()
	return err == nil && string(text) == "{}"
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
