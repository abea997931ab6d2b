package link

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/netip"

	"tcpwheel/netstack/sim"
)

// Config says what to join. The zero value of a field stands for its default.
type Config struct {
	Sides [2]Side
	Links [2]sim.LinkConfig // from a to b, and from b to a
	Seed  uint64            // of all randomness, as for tun.LinkOptions

	MTU int // of both devices; 0 is the kernel's default

	// PathMTU is the size of packets, in octets, that the link takes; 0 is without bound. A larger one is lost, and its
	// sender is told by ICMP, as by a router, if it may not be fragmented (an IPv4 packet with DF, and all of IPv6).
	PathMTU int

	// Offload lets the kernels hand over super-segments. They are cut into packets first, so that they are never on the
	// link; but what arrives of one at an instant may be put together again by the receiving kernel, and its TCP then
	// acknowledges less often.
	Offload bool

	// Realtime has the process run before all ordinary programs as long as there is a link, so that these do not make packets
	// late. What Commands run is ordinary. On a link that is always busy, they may hardly run.
	Realtime bool

	// MakeNamespaces makes those of Sides, which must not be there, and removes them in the end.
	MakeNamespaces bool

	Log      string    // file for the fate of each packet; "" for none
	Captures [2]string // files for what passes at a and at b; "" for none
}

// Side is one end.
type Side struct {
	Device string         // its name, as for tun.Open; "" is a free one
	Netns  string         // its network namespace, as for tun.InNamespace
	Addrs  []netip.Prefix // the kernel's
}

// Direction names what goes from side d.
func Direction(d int) string { return [...]string{"a-to-b", "b-to-a"}[d] }

func sideName(i int) string { return [...]string{"a", "b"}[i] }

const (
	minMTU = 68
	maxMTU = math.MaxUint16
)

// Check returns an error that names the first field that cannot be, its value and the bound.
func (c *Config) Check() error {
	for i := range c.Sides {
		s := &c.Sides[i]
		if len(s.Addrs) == 0 {
			return fmt.Errorf("no address for %s, want at least one", sideName(i))
		}
		for _, p := range s.Addrs {
			switch a := p.Addr(); {
			case !p.IsValid() || a.Is4In6():
				return fmt.Errorf("address %v for %s, want one with a prefix length, as in 10.9.0.1/24", p, sideName(i))
			case a.IsMulticast() || a.IsUnspecified() || a.IsLoopback():
				return fmt.Errorf("address %v for %s, want one that a host can have", a, sideName(i))
			}
		}
		if c.MakeNamespaces && s.Netns == "" {
			return fmt.Errorf("no name for the namespace of %s that is to be made", sideName(i))
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
		return fmt.Errorf("namespace %s for both sides, want two that are to be made", a.Netns)
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

// ParsePlan reads the models of both directions from JSON: {"both": …}, or "a_to_b" and "b_to_a", each a sim.LinkConfig.
// A direction that is left out does nothing to packets. It checks the models, and refuses unknown fields.
func ParsePlan(text []byte) (links [2]sim.LinkConfig, err error) {
	var p struct {
		AToB json.RawMessage `json:"a_to_b"`
		BToA json.RawMessage `json:"b_to_a"`
		Both json.RawMessage `json:"both"`
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		return links, fmt.Errorf("plan: %w", err)
	}
	if dec.More() {
		return links, fmt.Errorf("plan: more than one JSON value, want one")
	}
	if p.Both != nil {
		if p.AToB != nil || p.BToA != nil {
			return links, fmt.Errorf("plan: both, and a_to_b or b_to_a, want either")
		}
		p.AToB, p.BToA = p.Both, p.Both
	}
	for d, text := range []json.RawMessage{p.AToB, p.BToA} {
		if text == nil || string(text) == "null" {
			continue
		}
		if links[d], err = sim.ParseLinkConfig(text); err != nil {
			return links, fmt.Errorf("plan: %s: %w", Direction(d), err)
		}
	}
	return links, nil
}
