package kerneltruth

import (
	"bytes"
	"encoding/json"
	"fmt"

	"tcpwheel/netstack/sim"
)

// Scenario is what happens between a and b.
type Scenario struct {
	Name  string `json:"name"`
	About string `json:"about,omitempty"`
	IPv6  bool   `json:"ipv6,omitempty"`
	Seed  uint64 `json:"seed,omitempty"` // of the links

	Near Path  `json:"near"`          // between a and b, or a and the router
	Far  *Path `json:"far,omitempty"` // between the router and b; nil is without a router

	Connections int    `json:"connections,omitempty"` // at once; 0 is one
	Turns       []Turn `json:"turns"`                 // of each
	Rounds      int    `json:"rounds,omitempty"`      // how often the turns are taken; 0 is once
	Nagle       bool   `json:"nagle,omitempty"`

	// Control is the congestion control of both ends; "" is cubic.
	Control string `json:"control,omitempty"`

	// Buffer is that of both ends for what they receive, in octets; 0 is the kernel's default.
	Buffer int `json:"buffer,omitempty"`

	// Limit is when connections that are not over are cut off, since the first began; 0 is never, which makes those that do not come
	// through an error.
	Limit sim.DurationText `json:"limit,omitempty"`

	// Sysctls are settings of both kernels, such as "tcp_sack": "0", below net.ipv4.
	Sysctls map[string]string `json:"sysctls,omitempty"`
}

// Path is a link, in both directions.
type Path struct {
	AToB sim.LinkConfig `json:"a_to_b"`
	BToA sim.LinkConfig `json:"b_to_a"`
}

// Turn is what one end says. Turns follow each other: an end begins its next when it has the last octet of the other's before.
type Turn struct {
	From   string           `json:"from"`            // "a" or "b"
	Octets int              `json:"octets"`          // of payload
	Times  int              `json:"times,omitempty"` // how often; 0 is once
	Pause  sim.DurationText `json:"pause,omitempty"` // before each
	Stall  sim.DurationText `json:"stall,omitempty"` // for how long the other end does not read it

	// Flood is octets of UDP that go before it, by the same way, to fill the queues.
	Flood int `json:"flood,omitempty"`
}

// ParseScenarios reads a JSON array of scenarios, and checks them. It refuses fields that it does not know.
func ParseScenarios(text []byte) (all []Scenario, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf("kerneltruth: scenarios: %w", err)
	}
	for i := range all {
		if err := all[i].Check(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

const (
	maxConnections = 1000
	maxOctets      = 1 << 30
)

// Check returns an error that names the first field that cannot be, its value and the bound.
func (s *Scenario) Check() error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("kerneltruth: scenario %q: %s", s.Name, fmt.Sprintf(format, args...))
	}
	if s.Connections < 0 || s.Connections > maxConnections {
		return wrong("%d connections, want at most %d", s.Connections, maxConnections)
	}
	if s.Rounds < 0 {
		return wrong("%d rounds, want 1 at least", s.Rounds)
	}
	if len(s.Turns) == 0 {
		return wrong("no turn, want one at least")
	}
	for i, t := range s.Turns {
		switch {
		case t.From != "a" && t.From != "b":
			return wrong("turn %d from %q, want a or b", i, t.From)
		case t.Octets < 1 || t.Octets > maxOctets:
			return wrong("turn %d of %d octets, want 1 to %d", i, t.Octets, maxOctets)
		case t.Times < 0 || t.Pause < 0 || t.Stall < 0 || t.Flood < 0 || t.Flood > maxOctets:
			return wrong("turn %d has a number below 0, or floods with more than %d octets", i, maxOctets)
		}
	}
	paths := []*Path{&s.Near}
	if s.Far != nil {
		paths = append(paths, s.Far)
	}
	for _, p := range paths {
		for _, c := range []*sim.LinkConfig{&p.AToB, &p.BToA} {
			if err := c.Check(); err != nil {
				return wrong("%v", err)
			}
		}
	}
	return nil
}
