package host_test

import (
	"fmt"
	"net/netip"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Two hosts, a link of 10 Mbit/s with a round trip of 20 ms that loses 1% of the packets, and a
// transfer of a megabyte.
func Example() {
	w, err := host.NewWorld(sim.Config{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	cfg := tcp.EngineConfig{Conn: tcp.DefaultConfig(tcptimers.MustPolicy("per-segment"))}
	a, _ := w.NewHost(netip.MustParseAddr("10.0.0.1"), cfg)
	b, _ := w.NewHost(netip.MustParseAddr("10.0.0.2"), cfg)
	link := sim.LinkConfig{Rate: 10_000_000, Delay: 10 * time.Millisecond, Loss: sim.Losses{sim.Bernoulli{P: 0.01}}}
	if _, _, err := w.Join("a", a, "b", b, link, link); err != nil {
		fmt.Println(err)
		return
	}
	// The server reads everything, and closes when the client has closed.
	serve := func() host.App { return host.Apps{&host.Sink{}, &host.Closer{}} }
	if err := b.Listen(80, tcp.ListenConfig{Backlog: 1}, serve); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := a.Dial(b, 80, nil, &host.Bulk{Bytes: 1_000_000, Finish: true}); err != nil {
		fmt.Println(err)
		return
	}
	w.Net.Run(wheel.Time(time.Minute))
	sender := a.Counters()
	fmt.Println(b.Counts().Readable, "bytes arrived,", sender.RetransSegs, "segments were retransmitted")
	// Output:
	// 1000000 bytes arrived, 4 segments were retransmitted
}

// A FlowsConfig is a whole scenario of bulk flows as data.
func ExampleFlowsConfig() {
	flows, err := host.NewFlows(host.FlowsConfig{
		Seed: 1, Flows: 10, Bytes: 100_000, Duration: time.Minute,
		Link:   sim.LinkConfig{Rate: 10_000_000, Delay: 10 * time.Millisecond, Loss: sim.Losses{sim.Bernoulli{P: 0.01}}},
		Policy: "linux",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	flows.Run(wheel.Time(time.Minute))
	sender := flows.Sender.Counters()
	fmt.Println(flows.Completed(), "flows completed,", flows.Receiver.Counts().Readable, "bytes,", sender.TCPTimeouts, "timeouts")
	// Output:
	// 10 flows completed, 1000000 bytes, 1 timeouts
}
