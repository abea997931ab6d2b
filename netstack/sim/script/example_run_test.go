package script_test

import (
	"fmt"

	"tcpwheel/netstack/sim/script"
)

// A SYN that nobody listens for is answered with a RST, which acknowledges it.
func ExampleRunSource() {
	_, err := script.RunSource("closed.pkt", []byte(`
0 < S 0:0(0) win 1000
+0 > R. 0:0(0) ack 2
`), script.Config{})
	fmt.Println(err)
	// Output:
	// closed.pkt:3:1: at 0.000: packet differs: ack 1, want 2
	//   expected  0.000 > R. 0:0(0) ack 2
	//   got       0.000 > R. 0:0(0) ack 1 win 0
	//   the events before:
	//     0.000 < S 0:0(0) win 1000
}

// The whole course of a script is in its report.
func ExampleReport() {
	report, err := script.RunSource("open.pkt", []byte(`
--timestamps=0
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+.1...0.15 connect(3, ..., ...) = 0
+0 > S 0:0(0) <...>
+.05 < S. 0:0(0) ack 1 win 1000 <mss 1000>
+0 > . 1:1(0) ack 1
+0 %{ print("the round trip took", tcpi_rtt, "µs") }%
`), script.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, line := range report.Trace {
		fmt.Println(line)
	}
	// Output:
	// 0.000 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
	// 0.100 connect(3, ..., ...) = 0
	// 0.100    # SYN-SENT
	// 0.100 > S 0:0(0) win 65535 <mss 1460,nop,nop,sackOK,nop,wscale 7>
	// 0.150 < S. 0:0(0) ack 1 win 1000 <mss 1000>
	// 0.150    # ESTABLISHED, cwnd 10000
	// 0.150 > . 1:1(0) ack 1 win 65535
	// 0.150 … connect(3, ..., ...) = 0
	// 0.150 print the round trip took 50000 µs
}

// What a script can set has a name, the values that it takes, and what it is.
func ExampleOptions() {
	for _, s := range script.Options() {
		if s.Name == "rto_min" || s.Name == "phase" {
			fmt.Printf("--%s=%s: %s\n", s.Name, s.Value, s.About)
		}
	}
	// Output:
	// --rto_min=time: Policy.Bounds.Min
	// --phase=shared, own, countdown, jiffies: Policy.Phase
}
