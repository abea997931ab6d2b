package tun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"tcpwheel/netstack"
)

// tunPair is a kernel in a namespace of its own and a gVisor stack, with a device between them.
type tunPair struct {
	t     testing.TB
	ns    *Namespace
	dev   *Device
	stack *stack.Stack
	link  stack.LinkEndpoint // the stack's link
	tcp   stack.TransportProtocolFactory
	port  uint16 // the last port that the stack listened on
}

// The addresses of both sides.
var (
	tunKernel4 = netip.MustParsePrefix("10.7.0.1/24")
	tunKernel6 = netip.MustParsePrefix("fd07::1/64")
	tunStack4  = netip.MustParsePrefix("10.7.0.2/24")
	tunStack6  = netip.MustParsePrefix("fd07::2/64")
)

// newTunNamespace makes a namespace that ends with the test. It skips the test without the rights.
func newTunNamespace(t testing.TB) *Namespace {
	t.Helper()
	ns, err := NewNamespace()
	if err == nil {
		t.Cleanup(func() { ns.Close() })
		var d *Device
		if d, err = Open("", Options{Netns: ns.Path()}); err == nil {
			d.Close()
		}
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENXIO) {
		t.Skipf("no TUN device here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ns
}

// newTunPair runs gVisor's TCP on the stack's side.
func newTunPair(t testing.TB, o Options, wrap func(stack.LinkEndpoint) stack.LinkEndpoint) *tunPair {
	t.Helper()
	return newTunPairOf(t, tcp.NewProtocol, o, wrap)
}

func newTunPairOf(t testing.TB, tcp stack.TransportProtocolFactory, o Options, wrap func(stack.LinkEndpoint) stack.LinkEndpoint) *tunPair {
	t.Helper()
	p := &tunPair{t: t, ns: newTunNamespace(t), tcp: tcp}
	o.Netns = p.ns.Path()
	dev, err := Open("wheel%d", o)
	p.must("open", err)
	p.dev = dev
	p.link = dev.Endpoint()
	if wrap != nil {
		p.link = wrap(p.link)
	}
	p.must("add address", dev.AddAddress(tunKernel4))
	p.must("add address", dev.AddAddress(tunKernel6))
	p.must("up", dev.Up())
	p.stack = newTunStack(t, p.link, p.tcp)
	t.Cleanup(p.close)
	return p
}

// newTunStack makes a stack on a link.
func newTunStack(t testing.TB, link stack.LinkEndpoint, protocol stack.TransportProtocolFactory) *stack.Stack {
	t.Helper()
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{protocol},
	})
	sack := tcpip.TCPSACKEnabled(true)
	s.SetTransportProtocolOption(tcp.ProtocolNumber, &sack)
	if err := s.CreateNIC(1, link); err != nil {
		t.Fatalf("CreateNIC: %v", err)
	}
	for _, prefix := range []netip.Prefix{tunStack4, tunStack6} {
		proto := header.IPv4ProtocolNumber
		if prefix.Addr().Is6() {
			proto = header.IPv6ProtocolNumber
		}
		addr := tcpip.ProtocolAddress{Protocol: proto, AddressWithPrefix: tcpip.AddressWithPrefix{
			Address: tcpip.AddrFromSlice(prefix.Addr().AsSlice()), PrefixLen: prefix.Bits()}}
		if err := s.AddProtocolAddress(1, addr, stack.AddressProperties{}); err != nil {
			t.Fatalf("AddProtocolAddress: %v", err)
		}
	}
	s.SetRouteTable([]tcpip.Route{
		{Destination: header.IPv4EmptySubnet, NIC: 1}, {Destination: header.IPv6EmptySubnet, NIC: 1}})
	return s
}

func (p *tunPair) must(what string, err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
}

func (p *tunPair) close() {
	if p.link != stack.LinkEndpoint(p.dev.Endpoint()) {
		p.link.Attach(nil)
		p.link.Wait()
		p.link.Close()
	}
	if err := p.dev.Close(); err != nil {
		p.t.Errorf("close the device: %v", err)
	}
	p.stack.Destroy()
}

func tunFull(a netip.AddrPort) (tcpip.FullAddress, tcpip.NetworkProtocolNumber) {
	proto := header.IPv4ProtocolNumber
	if a.Addr().Is6() {
		proto = header.IPv6ProtocolNumber
	}
	return tcpip.FullAddress{NIC: 1, Addr: tcpip.AddrFromSlice(a.Addr().AsSlice()), Port: a.Port()}, proto
}

// dialStack connects from the kernel to the stack, and returns both ends.
func (p *tunPair) dialStack(to netip.Addr) (kernel, stack net.Conn) {
	p.t.Helper()
	p.port++
	at := netip.AddrPortFrom(to, p.port)
	full, proto := tunFull(at)
	l, err := gonet.ListenTCP(p.stack, full, proto)
	p.must("listen", err)
	defer l.Close()
	p.must("dial", p.ns.Do(func() (err error) {
		kernel, err = net.DialTimeout("tcp", at.String(), time.Minute)
		return err
	}))
	stack, err = l.Accept()
	p.must("accept", err)
	return kernel, stack
}

// dialKernel connects from the stack to the kernel, and returns both ends.
func (p *tunPair) dialKernel(to netip.Addr) (kernel, stack net.Conn) {
	p.t.Helper()
	var l net.Listener
	p.must("listen", p.ns.Do(func() (err error) {
		l, err = net.Listen("tcp", netip.AddrPortFrom(to, 0).String())
		return err
	}))
	defer l.Close()
	full, proto := tunFull(l.Addr().(*net.TCPAddr).AddrPort())
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	stack, err := gonet.DialContextTCP(ctx, p.stack, full, proto)
	p.must("dial", err)
	kernel, err = l.Accept()
	p.must("accept", err)
	return kernel, stack
}

// transfer sends n bytes from one end to the other, then an EOF, and compares checksums.
func tunTransfer(t *testing.T, from, to net.Conn, n int) {
	t.Helper()
	table := crc64.MakeTable(crc64.ECMA)
	chunk := tunPayload(64 << 10)
	want := crc64.New(table)
	sent := make(chan error, 1)
	deadline := time.Now().Add(3 * time.Minute)
	from.SetDeadline(deadline)
	to.SetDeadline(deadline)
	go func() {
		left := n
		for left > 0 {
			chunk[0]++
			b := chunk[:min(left, len(chunk))]
			want.Write(b)
			if _, err := from.Write(b); err != nil {
				sent <- fmt.Errorf("write, %d bytes to go: %w", left, err)
				return
			}
			left -= len(b)
		}
		sent <- from.(interface{ CloseWrite() error }).CloseWrite()
	}()
	got := crc64.New(table)
	m, err := io.CopyBuffer(got, struct{ io.Reader }{to}, make([]byte, 256<<10))
	if err != nil {
		t.Errorf("read after %d of %d bytes: %v", m, n, err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if m != int64(n) || got.Sum64() != want.Sum64() {
		t.Errorf("%d bytes with checksum %x arrived, want %d with %x", m, got.Sum64(), n, want.Sum64())
	}
}

// tunTCPs are the TCPs of a stack under test.
var tunTCPs = []struct {
	name    string
	factory stack.TransportProtocolFactory
}{{"gvisor", tcp.NewProtocol}, {"ours", netstack.NewProtocol}}

// TestTransfers runs gVisor's TCP and ours on the endpoint against the kernel's TCP.
func TestTransfers(t *testing.T) {
	n := 1<<20 + 13
	if os.Getenv("TCPWHEEL_LONG") != "" {
		n *= 8
	}
	for _, test := range []struct {
		name string
		o    Options
	}{
		{"offload", Options{}},
		{"no offload", Options{NoOffload: true}},
		{"large MTU", Options{MTU: 65535}},
	} {
		for _, tcp := range tunTCPs {
			t.Run(test.name+"/"+tcp.name, func(t *testing.T) {
				tunTransfers(t, newTunPairOf(t, tcp.factory, test.o, nil), test.o, n)
			})
		}
	}
}

// tunTransfers sends n bytes in both directions over both IP versions, on connections opened from
// either side.
func tunTransfers(t *testing.T, p *tunPair, o Options, n int) {
	for _, to := range []struct {
		name          string
		kernel, stack netip.Prefix
	}{{"IPv4", tunKernel4, tunStack4}, {"IPv6", tunKernel6, tunStack6}} {
		run := func(name string, dial func(netip.Addr) (k, s net.Conn), at netip.Prefix, fromKernel bool) {
			k, s := dial(at.Addr())
			defer k.Close()
			defer s.Close()
			before, start := p.dev.Stats(), time.Now()
			if fromKernel {
				tunTransfer(t, k, s, n)
			} else {
				tunTransfer(t, s, k, n)
			}
			after := p.dev.Stats()
			t.Logf("%s, %s: %.1f Gbit/s, %d packets in with %d super-segments, %d out with %d", to.name, name,
				8*float64(n)/float64(time.Since(start).Nanoseconds()),
				after.RxPackets-before.RxPackets, after.RxSuperSegments-before.RxSuperSegments,
				after.TxPackets-before.TxPackets, after.TxSuperSegments-before.TxSuperSegments)
			if o.MTU != 0 {
				return
			}
			super := after.TxSuperSegments - before.TxSuperSegments
			if fromKernel {
				super = after.RxSuperSegments - before.RxSuperSegments
			}
			if (super > 0) == o.NoOffload {
				t.Errorf("%s, %s: %d super-segments", to.name, name, super)
			}
		}
		run("kernel dials and sends", p.dialStack, to.stack, true)
		run("kernel dials, stack sends", p.dialStack, to.stack, false)
		run("stack dials and sends", p.dialKernel, to.kernel, false)
		run("stack dials, kernel sends", p.dialKernel, to.kernel, true)
	}
	if s := p.dev.Stats(); s.RxMalformed+s.RxBadChecksums+s.TxErrors != 0 {
		t.Errorf("something was dropped: %+v", s)
	}
}

// tunGoroutines fails the test if a goroutine of this package is left. It waits for
// goroutines that are ending.
func tunGoroutines(t *testing.T) {
	t.Helper()
	b := make([]byte, 1<<20)
	for range 6000 {
		left := b[:runtime.Stack(b, true)]
		if !bytes.Contains(left, []byte("tcpwheel/tun.(*queue)")) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("a goroutine is left:\n%s", b[:runtime.Stack(b, true)])
}

func tunLinks(t *testing.T, ns *Namespace) (names []string) {
	t.Helper()
	if err := ns.Do(func() error {
		links, err := net.Interfaces()
		for _, l := range links {
			names = append(names, l.Name)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return names
}

// TestCloseLeavesNothing closes a device under load. No goroutine and no device is left, and
// writers get an error.
func TestCloseLeavesNothing(t *testing.T) {
	p := newTunPair(t, Options{}, nil)
	t.Logf("devices: %v", tunLinks(t, p.ns))
	k, s := p.dialStack(tunStack4.Addr())
	defer k.Close()
	go io.Copy(io.Discard, s)
	buf := make([]byte, 1<<16)
	go func() {
		for {
			if _, err := k.Write(buf); err != nil {
				return
			}
		}
	}()
	for p.dev.Stats().RxPackets < 100 {
		runtime.Gosched()
	}
	if err := p.dev.Close(); err != nil {
		t.Fatal(err)
	}
	p.dev.Endpoint().Wait()
	tunGoroutines(t)
	if names := tunLinks(t, p.ns); len(names) != 1 || names[0] != "lo" {
		t.Errorf("devices after Close: %v, want lo", names)
	}
	if err := p.dev.Err(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Err() = %v, want %v", err, os.ErrClosed)
	}
	if err := p.dev.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	pkt := tunPacket(tunTCP(t, false, 0x10, nil), stack.GSO{})
	defer pkt.DecRef()
	var list stack.PacketBufferList
	list.PushBack(pkt)
	if n, err := p.dev.Endpoint().WritePackets(list); n != 0 || err == nil {
		t.Errorf("WritePackets on a closed device = %d, %v", n, err)
	}
	p.dev.Endpoint().Attach(p)
	if p.dev.Endpoint().IsAttached() {
		t.Error("a closed device was attached to")
	}
}

// DeliverNetworkPacket and DeliverLinkPacket make a tunPair a dispatcher.
func (*tunPair) DeliverNetworkPacket(tcpip.NetworkProtocolNumber, *stack.PacketBuffer) {}
func (*tunPair) DeliverLinkPacket(tcpip.NetworkProtocolNumber, *stack.PacketBuffer)    {}

// TestAttachAgain moves a device from one stack to the next.
func TestAttachAgain(t *testing.T) {
	p := newTunPair(t, Options{}, nil)
	for i := range 5 {
		k, s := p.dialStack(tunStack4.Addr())
		tunTransfer(t, k, s, 1000)
		k.Close()
		s.Close()
		if err := p.stack.RemoveNIC(1); err != nil {
			t.Fatalf("RemoveNIC: %v", err)
		}
		if p.link.IsAttached() {
			t.Fatal("still attached after RemoveNIC")
		}
		if i == 0 {
			p.link.Wait()
			tunGoroutines(t)
		}
		p.stack.Destroy()
		p.stack = newTunStack(t, p.link, p.tcp)
	}
}

// TestDeviceDeletedByOthers deletes the device while a stack uses it.
func TestDeviceDeletedByOthers(t *testing.T) {
	p := newTunPair(t, Options{}, nil)
	p.must("remove", p.dev.kernel.LinkDel(p.dev.ref()))
	<-p.dev.Done()
	if err := p.dev.Err(); !errors.Is(err, unix.EBADFD) {
		t.Errorf("Err() = %v, want %v", err, unix.EBADFD)
	} else {
		t.Log(err)
	}
}

// TestDeviceHelpers changes the device's settings and reads them back from the kernel.
func TestDeviceHelpers(t *testing.T) {
	p := newTunPair(t, Options{MTU: 1400}, nil)
	check := func(mtu int, up bool) {
		t.Helper()
		p.must("read back", p.ns.Do(func() error {
			i, err := net.InterfaceByName(p.dev.Name())
			if err == nil && (i.MTU != mtu || (i.Flags&net.FlagUp != 0) != up || i.Index != p.dev.Index()) {
				t.Errorf("device %+v, want MTU %d, up %v, index %d", i, mtu, up, p.dev.Index())
			}
			return err
		}))
		if p.dev.MTU() != mtu || p.link.MTU() != uint32(mtu) {
			t.Errorf("MTU() = %d and %d, want %d", p.dev.MTU(), p.link.MTU(), mtu)
		}
	}
	check(1400, true)
	p.must("set MTU", p.dev.SetMTU(9000))
	p.must("add route", p.dev.AddRoute(netip.MustParsePrefix("10.8.0.0/16")))
	p.must("down", p.dev.Down())
	check(9000, false)
	for what, err := range map[string]error{
		"MTU":            p.dev.SetMTU(67),
		"address":        p.dev.AddAddress(netip.Prefix{}),
		"route when off": p.dev.AddRoute(netip.MustParsePrefix("10.9.0.0/16")),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		} else {
			t.Logf("%s: %v", what, err)
		}
	}
}

func TestOpenSaysWhatToDo(t *testing.T) {
	for _, test := range []struct {
		err  error
		hint func(error) string
		want string
	}{
		{syscall.ENOENT, hintOpen, "modprobe tun"},
		{syscall.ENODEV, hintOpen, "CONFIG_TUN"},
		{syscall.EACCES, hintOpen, "root"},
		{syscall.EPERM, func(err error) string { return hintSetIff(err, "x") }, "CAP_NET_ADMIN"},
		{syscall.EBUSY, func(err error) string { return hintSetIff(err, "x") }, "another name"},
		{syscall.EINVAL, func(err error) string { return hintSetIff(err, "x") }, "ip link del x"},
	} {
		err := error(&Error{"step", test.err, test.hint(test.err)})
		if !strings.Contains(err.Error(), test.want) || !errors.Is(err, test.err) {
			t.Errorf("%q does not say %q", err, test.want)
		}
		t.Log(err)
	}
	for _, name := range []string{"a/b", "0123456789abcdef", "..", "a b"} {
		if _, err := Open(name, Options{}); err == nil {
			t.Errorf("Open(%q) gave no error", name)
		} else {
			t.Log(err)
		}
	}
	for _, o := range []Options{{MTU: 67}, {MTU: 65536}} {
		if _, err := Open("", o); err == nil {
			t.Errorf("Open(%+v) gave no error", o)
		} else {
			t.Log(err)
		}
	}
	_, err := Open("", Options{Netns: "no-such-namespace"})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "ip netns add no-such-namespace") {
		t.Errorf("Open in a namespace that is not there: %v", err)
	}
}

// TestOpenTwice opens a device that is in use.
func TestOpenTwice(t *testing.T) {
	p := newTunPair(t, Options{}, nil)
	d, err := Open(p.dev.Name(), Options{Netns: p.ns.Path()})
	if err == nil {
		d.Close()
		t.Fatal("a device was opened twice")
	}
	if !errors.Is(err, unix.EBUSY) || !strings.Contains(err.Error(), "in use") {
		t.Errorf("Open = %v", err)
	}
}

// TestInNamespaceEndsItsThread checks that the caller's thread stays in its namespace.
func TestInNamespaceEndsItsThread(t *testing.T) {
	ns := newTunNamespace(t)
	where := func() string {
		link, err := os.Readlink("/proc/thread-self/ns/net")
		if err != nil {
			t.Error(err)
		}
		return link
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := where()
	inside := ""
	if err := ns.Do(func() error { inside = where(); return nil }); err != nil {
		t.Fatal(err)
	}
	if after := where(); after != before || inside == before {
		t.Errorf("in %s before, %s inside, %s after", before, inside, after)
	}
	if err := ns.Do(func() error { runtime.Goexit(); return nil }); err == nil {
		t.Error("a function that ended its goroutine gave no error")
	}
	want := errors.New("mine")
	if err := ns.Do(func() error { return want }); err != want {
		t.Errorf("Do = %v, want %v", err, want)
	}
}

// TestReady adds addresses to a device that is up. After Ready, the kernel accepts packets for
// them.
func TestReady(t *testing.T) {
	p := newTunPair(t, Options{}, nil)
	for i := range 5 {
		a := netip.PrefixFrom(netip.AddrFrom16([16]byte{0: 0xfd, 1: 8, 15: byte(i + 1)}), 64)
		p.must("add address", p.dev.AddAddress(a))
		p.must("ready", p.dev.Ready(t.Context()))
		if !p.dev.isLocal(a.Addr().AsSlice()) {
			t.Errorf("the kernel does not take packets to %v after Ready", a)
		}
	}
	if p.dev.isLocal(tunStack6.Addr().AsSlice()) {
		t.Errorf("the kernel takes packets to the stack's %v", tunStack6)
	}
}
