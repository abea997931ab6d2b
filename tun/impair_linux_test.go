package tun

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/sim"
)

// TestImpairedTransfers runs gVisor's TCP and ours against the kernel's over an emulated link with
// every impairment.
func TestImpairedTransfers(t *testing.T) {
	for _, tcp := range tunTCPs {
		t.Run(tcp.name, func(t *testing.T) { tunImpaired(t, tcp.factory) })
	}
}

func tunImpaired(t *testing.T, tcp stack.TransportProtocolFactory) {
	bad := sim.LinkConfig{
		Rate: 1e9, Queue: sim.Limit{Packets: 200}, Delay: 500 * time.Microsecond,
		Loss: sim.Losses{sim.Bernoulli{P: 0.003}}, Reorder: sim.Reorder{Probability: 0.01}, Duplicate: 0.01, Corrupt: 0.003,
	}
	var link *Impaired
	p := newTunPairOf(t, tcp, Options{}, func(below stack.LinkEndpoint) stack.LinkEndpoint {
		var err error
		link, err = Impair(below, LinkOptions{There: bad, Back: bad, Seed: 3, Clock: newTunClock(t)})
		if err != nil {
			t.Fatal(err)
		}
		return link
	})
	exchange := func() {
		for _, to := range []netip.Prefix{tunStack4, tunStack6} {
			k, s := p.dialStack(to.Addr())
			tunTransfer(t, k, s, 1<<20)
			k.Close()
			s.Close()
		}
		for _, to := range []netip.Prefix{tunKernel4, tunKernel6} {
			k, s := p.dialKernel(to.Addr())
			tunTransfer(t, s, k, 1<<20)
			k.Close()
			s.Close()
		}
	}
	all := func(c sim.LinkCounts) bool {
		return c.Lost > 0 && c.Duplicated > 0 && c.Corrupted > 0 && c.Reordered > 0
	}
	// The number of packets, mostly ACKs, depends on how busy the machine is.
	for i := 1; ; i++ {
		exchange()
		c := link.Counts()
		t.Logf("after %d transfers: %+v", i, c)
		if all(c[There]) && all(c[Back]) {
			return
		}
		if i == 10 {
			t.Fatalf("want every impairment in both directions: %+v", c)
		}
	}
}

// TestImpairedAttachAgain moves a device with an emulated link from one stack to the next.
func TestImpairedAttachAgain(t *testing.T) {
	clock := newTunClock(t)
	p := newTunPair(t, Options{}, func(below stack.LinkEndpoint) stack.LinkEndpoint {
		link, err := Impair(below, LinkOptions{There: sim.LinkConfig{Delay: time.Millisecond}, Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		return link
	})
	for range 3 {
		k, s := p.dialStack(tunStack4.Addr())
		tunTransfer(t, s, k, 1000)
		k.Close()
		s.Close()
		if err := p.stack.RemoveNIC(1); err != nil {
			t.Fatalf("RemoveNIC: %v", err)
		}
		p.link.Wait()
		p.stack.Destroy()
		p.stack = newTunStack(t, p.link, p.tcp)
	}
}

// TestJoin lets the kernels of two namespaces communicate over an emulated link with a rate.
func TestJoin(t *testing.T) {
	const n, rate = 1 << 20, 100e6
	addrs := [2]netip.Prefix{netip.MustParsePrefix("10.7.0.1/24"), netip.MustParsePrefix("10.7.0.2/24")}
	var spaces [2]*Namespace
	var devs [2]*Device
	for i := range devs {
		spaces[i] = newTunNamespace(t)
		d, err := Open("cable%d", Options{Netns: spaces[i].Path()})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		devs[i] = d
		if err := d.AddAddress(addrs[i]); err != nil {
			t.Fatal(err)
		}
		if err := d.Up(); err != nil {
			t.Fatal(err)
		}
	}
	cfg := sim.LinkConfig{Rate: rate, Queue: sim.Limit{Packets: 100}, Delay: time.Millisecond,
		Loss: sim.Losses{sim.Bernoulli{P: 0.002}}}
	o := LinkOptions{There: cfg, Back: cfg, Seed: 1, Clock: newTunClock(t)}
	j, err := Join(devs[0].Endpoint(), devs[1].Endpoint(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Join(devs[0].Endpoint(), devs[1].Endpoint(), o); err == nil {
		t.Error("Join of joined devices gave no error")
	}
	var l net.Listener
	if err := spaces[1].Do(func() (err error) {
		l, err = net.Listen("tcp", netip.AddrPortFrom(addrs[1].Addr(), 0).String())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var a net.Conn
	if err := spaces[0].Do(func() (err error) {
		a, err = net.DialTimeout("tcp", l.Addr().String(), time.Minute)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	start := time.Now()
	tunTransfer(t, a, b, n)
	took := time.Since(start)
	c := j.Counts()
	t.Logf("%d bytes in %v; there %+v, back %+v", n, took, c[There], c[Back])
	if least := time.Duration(8 * n / rate * 1e9); took < least {
		t.Errorf("%d bytes at %g bit/s took %v, want %v at least", n, float64(rate), took, least)
	}
	if devs[0].Stats().RxSuperSegments == 0 {
		t.Error("the kernel sent no super-segment")
	}
	j.Close()
	if devs[0].Endpoint().IsAttached() || devs[1].Endpoint().IsAttached() {
		t.Error("a device is attached after Close")
	}
	tunGoroutines(t)
}
