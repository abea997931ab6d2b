package incast

import (
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/wheel"
)

// TestSharedSwitch fills one port: with a threshold of 1 it holds half of the memory, and a second
// port half of the rest. A packet that has left makes room.
func TestSharedSwitch(t *testing.T) {
	net, err := sim.NewNetwork[host.Body](sim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := net.AddNode("a", &sharedSwitch{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := net.AddNode("b", &sharedSwitch{})
	if err != nil {
		t.Fatal(err)
	}
	ab, ba, err := net.Connect(a, b, sim.LinkConfig{}, sim.LinkConfig{})
	if err != nil {
		t.Fatal(err)
	}
	one, two := &sharedPort{via: ab}, &sharedPort{via: ba}
	s := &sharedSwitch{net: net, ports: map[sim.NodeID]*sharedPort{b: one, a: two}, all: []*sharedPort{one, two},
		rate: 1, memory: 4000, alpha: 1}
	send := func(now wheel.Time, to sim.NodeID, want int) {
		t.Helper()
		n := 0
		for range 10 {
			was := s.dropped
			if s.Receive(now, ab, &host.Datagram{Packet: sim.Packet{Size: 500}, From: a, To: to}); s.dropped == was {
				n++
			}
		}
		if n != want {
			t.Errorf("at %v the port of %v takes %d of 10 packets, want %d", time.Duration(now), to, n, want)
		}
	}
	send(0, b, 4)    // 2000 of 4000 bytes
	send(0, a, 2)    // 1000 of the other 2000
	send(4000, b, 1) // one packet of each port has left: 2000 bytes are held, 1500 of them here
}

// TestAllToAll checks that a memory that holds all packets leaves no timeout.
func TestAllToAll(t *testing.T) {
	const small = "study: alltoall\nhosts: 11\nqueries: 1\nseeds: 1\nservice: 10us\n"
	out := studytest.Run(t, AllToAll, small+"bytes: 100KB\nmemory: 400KB\n")
	if c := studytest.Claim(t, out, "timeouts"); c.Verdict == experiments.NotReproduced {
		t.Errorf("a small memory: %v of the queries have a timeout, want some", c.Measured)
	}
	out = studytest.Run(t, AllToAll, small+"memory: 100MB\n")
	studytest.Want(t, out, experiments.NotReproduced, "timeouts")
}
