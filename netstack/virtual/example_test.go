package virtual_test

import (
	"fmt"
	"io"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/virtual"
)

// A client downloads 1 MB from a server over a link of 10 Mbit/s and 20 ms that loses 1 % of the
// packets. The server's TCP is this module's, then gVisor's. The program is deterministic and takes
// no real time to wait.
func Example() {
	for _, server := range []virtual.TCP{{}, {GVisor: true}} {
		n, err := virtual.New(virtual.Config{
			Seed: 1,
			TCP:  [2]virtual.TCP{server, {}},
			Link: [2]sim.LinkConfig{
				{Delay: 20 * time.Millisecond, Rate: 10e6, Queue: sim.Limit{Packets: 100}, Loss: sim.Losses{sim.Bernoulli{P: 0.01}}},
				{Delay: 20 * time.Millisecond},
			},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		n.Tasks.Go(func() {
			l, _ := n.Listen(0, 80)
			defer l.Close()
			c, _ := l.Accept()
			defer c.Close()
			c.Write(make([]byte, 1e6))
		})
		n.Tasks.Go(func() {
			c, err := n.Dial(1, 0, 80)
			if err != nil {
				fmt.Println(err)
				return
			}
			defer c.Close()
			read, err := io.Copy(io.Discard, c)
			fmt.Printf("gVisor %-5v %d bytes after %v, %v\n", server.GVisor, read, time.Duration(n.Now()).Round(time.Millisecond), err)
		})
		n.Run(time.Minute, func() bool { return n.Tasks.Unfinished() == 0 })
		fmt.Printf("%d packets lost, retransmissions: %+v\n", n.LinkCounts(0).Lost, n.Counts(0))
		n.Close()
	}
	// Output:
	// gVisor false 1000000 bytes after 1.046s, <nil>
	// 8 packets lost, retransmissions: {Timeouts:0 Probes:0 FastRetransmits:8}
	// gVisor true  1000000 bytes after 1.005s, <nil>
	// 9 packets lost, retransmissions: {Timeouts:0 Probes:31 FastRetransmits:4}
}
