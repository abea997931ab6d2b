package tcp_test

import (
	"fmt"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Two connections exchange segments, 10 ms apart: the handshake, ten bytes, and a close from both
// sides. A real owner also carries out Output.Timers and calls Expire. Here nothing is lost and no
// timer expires.
func ExampleConn() {
	cfg := tcp.DefaultConfig(tcptimers.MustPolicy("per-segment"))
	var client, server tcp.Conn
	client.Init(&cfg, tcp.Path{MTU: 1500}, 1000, 0)
	server.Init(&cfg, tcp.Path{MTU: 1500}, 5000, 0)

	now := wheel.Time(0)
	var out tcp.Output      // for both, one call at a time
	var wire []tcp.Outgoing // in flight
	// take carries out the results of a call of c, as its owner does after each call.
	take := func(c *tcp.Conn) {
		for _, s := range out.Segments {
			fmt.Printf("%-5v %-13v %-2v seq %d ack %d len %d\n", time.Duration(now), c.State(), s.Header.Flags, s.Header.Seq, s.Header.Ack, s.Len)
		}
		wire = append(wire, out.Segments...)
		out.Reset()
	}
	arrive := func(c *tcp.Conn) {
		segments := wire
		wire, now = nil, now.Add(10*time.Millisecond)
		for _, s := range segments {
			in := tcp.Inbound{Header: &s.Header, Len: s.Len}
			if c.State() == tcp.StateClosed {
				c.Accept(now, &in, &out)
				take(c)
				continue
			}
			v := c.Input(now, &in, &out)
			take(c)
			if v.InOrder > 0 {
				c.Consumed(now, v.InOrder, &out) // the application reads at once
				take(c)
			}
		}
	}

	client.Connect(now, &out)
	take(&client)
	arrive(&server)
	arrive(&client)
	client.Wrote(now, 10, 0, &out)
	take(&client)
	arrive(&server)
	arrive(&client)
	client.Close(now, tcp.NoLinger, &out)
	take(&client)
	arrive(&server)
	server.Close(now, tcp.NoLinger, &out)
	take(&server)
	arrive(&client)
	arrive(&server)
	fmt.Println(client.State(), server.State(), client.Acked(), server.Received())
	// Output:
	// 0s    SYN-SENT      S  seq 1000 ack 0 len 0
	// 10ms  SYN-RECEIVED  S. seq 5000 ack 1001 len 0
	// 20ms  ESTABLISHED   .  seq 1001 ack 5001 len 0
	// 20ms  ESTABLISHED   P. seq 1001 ack 5001 len 10
	// 30ms  ESTABLISHED   .  seq 5001 ack 1011 len 0
	// 40ms  FIN-WAIT-1    F. seq 1011 ack 5001 len 0
	// 50ms  CLOSE-WAIT    .  seq 5001 ack 1012 len 0
	// 50ms  LAST-ACK      F. seq 5001 ack 1012 len 0
	// 60ms  TIME-WAIT     .  seq 1012 ack 5002 len 0
	// TIME-WAIT CLOSED 10 10
}
