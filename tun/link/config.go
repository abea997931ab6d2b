package link

import (
	"errors"
	"fmt"
	"math"
	"net/netip"

	"tcpwheel/netstack/sim"
	"tcpwheel/tun"
)

// Config configures a link. The zero value of a field is its default.
type Config struct {
	Sides [2]Side
	Links [2]sim.LinkConfig // from a to b, and from b to a
	Seed  uint64            // of all randomness, as in tun.LinkOptions

	MTU int // of both devices; 0 is the kernel's default

	// PathMTU is the largest packet, in bytes, that the link carries; 0 is no limit. A larger packet
	// is lost. If it must not be fragmented (IPv4 with DF, and IPv6), its sender gets an ICMP error,
	// as from a router.
	PathMTU int

	// Offload lets the kernels send super-segments. The link cuts them into packets, but the receiving
	// kernel may merge packets that arrive together, and then acknowledges less often.
	Offload bool

	// Realtime runs the process at real-time priority while the link is up, so that other programs do
	// not make packets late. Commands run at normal priority, and may hardly run on a link that is
	// always busy.
	Realtime bool

	// MakeNamespaces makes the namespaces of Sides, which must not exist, and removes them at the end.
	MakeNamespaces bool

	// Force, with MakeNamespaces, first removes namespaces of these names, such as the leftovers of a
	// killed process.
	Force bool

	Log      string    // file for the fate of each packet; "" is none
	Captures [2]string // capture files at a and at b; "" is none
}

// Side is one end.
type Side struct {
	Device string         // as for tun.Open; "" is a free name
	Netns  string         // network namespace, as for tun.InNamespace
	Addrs  []netip.Prefix // the kernel's
}

// Direction returns the name of the direction from side d.
func Direction(d int) string { return [...]string{"a-to-b", "b-to-a"}[d] }

func sideName(i int) string { return [...]string{"a", "b"}[i] }

const (
	minMTU = 68
	maxMTU = math.MaxUint16
)

// Check returns an error that names the first invalid field, its value and the bound.
func (c *Config) Check() error {
	for i := range c.Sides {
		s := &c.Sides[i]
		if err := tun.CheckName(s.Device); err != nil {
			return fmt.Errorf("%s: %w", sideName(i), err)
		}
		if len(s.Addrs) == 0 {
			return fmt.Errorf("no address for %s, want at least one", sideName(i))
		}
		for _, p := range s.Addrs {
			switch a := p.Addr(); {
			case !p.IsValid() || a.Is4In6():
				return fmt.Errorf("address %v for %s, want one with a prefix length, as in 10.9.0.1/24", p, sideName(i))
			case a.IsMulticast() || a.IsUnspecified() || a.IsLoopback():
				return fmt.Errorf("address %v for %s, want a unicast address", a, sideName(i))
			}
		}
		if c.MakeNamespaces && s.Netns == "" {
			return fmt.Errorf("no name for the namespace of %s, which the link makes", sideName(i))
		}
	}
	a, b := c.Sides[0], c.Sides[1]
	for _, p := range a.Addrs {
		for _, q := range b.Addrs {
			if p.Addr() == q.Addr() {
				return fmt.Errorf("address %v for both sides", p.Addr())
			}
		}
	}
	if c.MakeNamespaces && a.Netns == b.Netns {
		return fmt.Errorf("namespace %s for both sides, want two names", a.Netns)
	}
	for _, m := range []struct {
		what string
		mtu  int
	}{{"MTU", c.MTU}, {"path MTU", c.PathMTU}} {
		if m.mtu != 0 && (m.mtu < minMTU || m.mtu > maxMTU) {
			return fmt.Errorf("%s %d, want %d to %d", m.what, m.mtu, minMTU, maxMTU)
		}
	}
	for d := range c.Links {
		if err := c.Links[d].Check(); err != nil {
			return fmt.Errorf("%s: %w", Direction(d), err)
		}
	}
	return nil
}

// ParsePlan reads the models of both directions from JSON. tun.ParseLinks has the form; the
// directions are a_to_b and b_to_a. It rejects a seed: see Config.Seed.
func ParsePlan(text []byte) ([2]sim.LinkConfig, error) {
	links, seed, err := tun.ParseLinks(text, [2]string{"a_to_b", "b_to_a"})
	if err == nil && seed != nil {
		err = errors.New("seed, want it as Config.Seed")
	}
	if err != nil {
		err = fmt.Errorf("plan: %w", err)
	}
	return links, err
}
