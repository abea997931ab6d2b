package tcp_test

import (
	"fmt"
	"net/netip"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Two hosts: a handshake, a lost segment, and the timer that repairs the loss.
func ExampleEngine() {
	client, server := netip.MustParseAddrPort("10.0.0.1:40000"), netip.MustParseAddrPort("10.0.0.2:80")
	cfg := tcp.EngineConfig{Conn: tcp.DefaultConfig(tcptimers.MustPolicy("per-segment"))}
	a, err := tcp.NewEngine(0, cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := tcp.NewEngine(0, cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := b.Listen(server, tcp.ListenConfig{Backlog: 1}); err != nil {
		fmt.Println(err)
		return
	}
	now := wheel.Time(0)
	// deliver takes from's packets to the other host, 10 ms away, unless they are lost.
	deliver := func(from, to *tcp.Engine, lost bool) {
		for _, p := range from.Packets() {
			fmt.Printf("%-8v %v > %v %v %d bytes%s\n", time.Duration(now), p.Src, p.Dst, p.Header.Flags, p.Len, map[bool]string{true: ", lost"}[lost])
			if !lost {
				to.Input(now.Add(10*time.Millisecond), &p)
			}
		}
		from.Reset()
		now = now.Add(10 * time.Millisecond)
	}
	s, err := a.Dial(now, client, server, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	deliver(a, b, false)
	deliver(b, a, false)
	deliver(a, b, false)
	a.Wrote(now, s, 100, 0)
	deliver(a, b, true)
	for s.Conn().Info(now).TotalRetrans == 0 {
		now, _ = a.NextTimeout()
		a.Advance(now)
	}
	deliver(a, b, false)
	// Output:
	// 0s       10.0.0.1:40000 > 10.0.0.2:80 S 0 bytes
	// 10ms     10.0.0.2:80 > 10.0.0.1:40000 S. 0 bytes
	// 20ms     10.0.0.1:40000 > 10.0.0.2:80 . 0 bytes
	// 30ms     10.0.0.1:40000 > 10.0.0.2:80 P. 100 bytes, lost
	// 100ms    10.0.0.1:40000 > 10.0.0.2:80 P. 100 bytes
}
