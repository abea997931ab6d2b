//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"tcpwheel/internal/quantity"
	"tcpwheel/netstack/sim"
)

// Scenario is a set of connections between a and b, and the path between them.
type Scenario struct {
	Name  string `json:"name"`
	About string `json:"about,omitempty"`
	IPv6  bool   `json:"ipv6,omitempty"`
	Seed  uint64 `json:"seed,omitempty"` // of the links

	Near Path  `json:"near"`          // between a and b, or a and the router
	Far  *Path `json:"far,omitempty"` // between the router and b; nil is no router

	Connections int    `json:"connections,omitempty"` // at the same time; 0 is 1
	Turns       []Turn `json:"turns"`                 // of each connection
	Rounds      int    `json:"rounds,omitempty"`      // how often the turns are repeated; 0 is once
	Nagle       bool   `json:"nagle,omitempty"`

	// Control is the congestion control of both ends; "" is cubic.
	Control string `json:"control,omitempty"`

	// Buffer is the receive buffer of both ends in bytes; 0 is the kernel's default.
	Buffer int `json:"buffer,omitempty"`

	// Limit is when connections are cut off, from the start of the first. 0 is never: then a
	// connection that does not finish is an error.
	Limit quantity.DurationText `json:"limit,omitempty"`

	// Sysctls are settings of both kernels below net.ipv4, such as "tcp_sack": "0".
	Sysctls map[string]string `json:"sysctls,omitempty"`
}

// Path is a link in both directions.
type Path struct {
	AToB sim.LinkConfig `json:"a_to_b"`
	BToA sim.LinkConfig `json:"b_to_a"`
}

// Turn is one end's part of the exchange. The other end takes its next turn after the last byte of
// this one.
type Turn struct {
	From  string                `json:"from"`            // "a" or "b"
	Bytes int                   `json:"bytes"`           // of payload
	Times int                   `json:"times,omitempty"` // how often; 0 is once
	Pause quantity.DurationText `json:"pause,omitempty"` // before each
	Stall quantity.DurationText `json:"stall,omitempty"` // how long the other end does not read

	// Flood is the bytes of UDP sent before the turn on the same path, to fill the queues.
	Flood int `json:"flood,omitempty"`
}

// ParseScenarios reads a JSON array of scenarios and checks them. It rejects unknown fields.
func ParseScenarios(text []byte) (all []Scenario, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf("samples: scenarios: %w", err)
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
	maxBytes       = 1 << 30
)

// Check returns an error that names the first invalid field, its value and the bound.
func (s *Scenario) Check() error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("samples: scenario %q: %s", s.Name, fmt.Sprintf(format, args...))
	}
	if s.Connections < 0 || s.Connections > maxConnections {
		return wrong("%d connections, want at most %d", s.Connections, maxConnections)
	}
	if s.Rounds < 0 {
		return wrong("%d rounds, want 0 or more", s.Rounds)
	}
	if len(s.Turns) == 0 {
		return wrong("no turn, want at least one")
	}
	for i, t := range s.Turns {
		switch {
		case t.From != "a" && t.From != "b":
			return wrong("turn %d from %q, want a or b", i, t.From)
		case t.Bytes < 1 || t.Bytes > maxBytes:
			return wrong("turn %d of %d bytes, want 1 to %d", i, t.Bytes, maxBytes)
		case t.Times < 0 || t.Pause < 0 || t.Stall < 0 || t.Flood < 0 || t.Flood > maxBytes:
			return wrong("turn %d has a number below 0, or floods with more than %d bytes", i, maxBytes)
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
