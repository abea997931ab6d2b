package script_test

import (
	"fmt"

	"tcpwheel/netstack/sim/script"
)

func ExampleError() {
	_, err := script.Parse("typo.pkt", []byte("0 < S 0:0(0) <mss 70000>\n+0 shutdown(3) = 0\n"))
	fmt.Println(err)
	// Output:
	// typo.pkt:1:19: mss 70000, want 0..65535
	// typo.pkt:2:4: shutdown has 1 arguments, want 2
}

// A SYN to a closed port is answered with a RST that acknowledges it.
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

// The report has the trace of the whole run.
func ExampleReport() {
	report, err := script.RunSource("open.pkt", []byte(`
--timestamps=0
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+.1...0.15 connect(3, ..., ...) = 0
+0 > S 0:0(0) <mss 1460,nop,nop,sackOK,nop,wscale 7>
+.05 < S. 0:0(0) ack 1 win 2000 <mss 1000>
+0 > . 1:1(0) ack 1
+0 %{ assert tcpi_rtt == 50000 }%
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
	// 0.150 < S. 0:0(0) ack 1 win 2000 <mss 1000>
	// 0.150    # ESTABLISHED, cwnd 10000
	// 0.150 > . 1:1(0) ack 1 win 65535
	// 0.150 … connect(3, ..., ...) = 0
}

// Each setting has a name, its accepted values and a description.
func ExampleOptions() {
	for _, s := range script.Options() {
		if s.Name == "rto-max" || s.Name == "phase" {
			fmt.Printf("--%s: %s: %s\n", s.Name, s.Want, s.Help)
		}
	}
	// Output:
	// --rto-max: a duration such as 20ms, 0s to 24h: ceiling of the RTO
	// --phase: one of shared, own, countdown, jiffies: how ticks relate to the start of a timer
}
