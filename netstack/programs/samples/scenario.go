//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"tcpwheel/netstack/sim"
)

// scenario is a set of connections between a and b, and the path between them.
type scenario struct {
	Name  string `json:"name"`
	About string `json:"about"`
	IPv6  bool   `json:"ipv6"`
	Seed  uint64 `json:"seed"` // of the links

	Near path  `json:"near"` // between a and b, or a and the router
	Far  *path `json:"far"`  // between the router and b; nil is no router

	Connections int    `json:"connections"` // at the same time; 0 is 1
	Turns       []turn `json:"turns"`       // of each connection
	Rounds      int    `json:"rounds"`      // how often the turns are repeated; 0 is once
	Buffer      int    `json:"buffer"`      // receive buffer of both ends, bytes; 0 is the kernel's default

	// Sysctls are settings of both kernels below net.ipv4, such as "tcp_sack": "0".
	Sysctls map[string]string `json:"sysctls"`
}

// path is a link in both directions.
type path struct {
	AToB sim.LinkConfig `json:"a_to_b"`
	BToA sim.LinkConfig `json:"b_to_a"`
}

// turn is one end's part of the exchange. The other end takes its next turn after the last byte of
// this one.
type turn struct {
	From  string   `json:"from"`  // "a" or "b"
	Bytes int      `json:"bytes"` // of payload
	Times int      `json:"times"` // how often; 0 is once
	Pause duration `json:"pause"` // before each
	Stall duration `json:"stall"` // how long the other end does not read
	Flood int      `json:"flood"` // bytes of UDP sent before the turn on the same path, to fill the queues
}

// duration is text such as "25ms".
type duration struct{ time.Duration }

func (d *duration) UnmarshalText(text []byte) (err error) {
	d.Duration, err = time.ParseDuration(string(text))
	return err
}

// parseScenarios reads a JSON array of scenarios and checks them. It rejects unknown fields.
func parseScenarios(text []byte) (all []scenario, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf("scenarios: %w", err)
	}
	for _, s := range all {
		if s.Name == "" || len(s.Turns) == 0 {
			return nil, fmt.Errorf("scenario %q: %d turns, want a name and a turn at least", s.Name, len(s.Turns))
		}
		for i, t := range s.Turns {
			if t.From != "a" && t.From != "b" || t.Bytes < 1 {
				return nil, fmt.Errorf("scenario %q: turn %d from %q of %d bytes, want a or b and 1 at least", s.Name, i, t.From, t.Bytes)
			}
		}
	}
	return all, nil
}
