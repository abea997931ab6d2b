package main

import (
	"testing"

	"tcpwheel/netstack/sim/host"
)

// TestEngineCases sets up each number of flows: make speed takes minutes before it comes to the
// last.
func TestEngineCases(t *testing.T) {
	for _, c := range engineCases {
		if _, err := host.NewFlows(engineFlows(c.flows, c.rate, c.loss, "per-segment")); err != nil {
			t.Errorf("%d flows: %v", c.flows, err)
		}
	}
}
