package script_test

import (
	"fmt"

	"tcpwheel/netstack/sim/script"
)

func ExampleParse() {
	s, err := script.Parse("syn.pkt", []byte("0.100 < S 0:0(0) win 8000 <mss 1000>\n+.05 > S. 0:0(0) ack 1 <...>\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, item := range s.Items {
		event := item.(*script.Event)
		packet := event.Action.(*script.Packet)
		fmt.Println(event.Time.Start, event.Time.Relative, packet.Flags, packet.Seq.Len(), packet.Ack, packet.AnyOptions)
	}
	// Output:
	// 100ms false S 0 0 false
	// 50ms true S. 0 1 true
}

func ExampleError() {
	_, err := script.Parse("typo.pkt", []byte("0 < S 0:0(0) <mss 70000>\n+0 shutdown(3) = 0\n"))
	fmt.Println(err)
	// Output:
	// typo.pkt:1:19: mss 70000, want 0..65535
	// typo.pkt:2:4: shutdown has 1 arguments, want 2
}

func ExampleFormat() {
	s, err := script.Parse("wide.pkt", []byte("0.100   close( 3 )=0   // done\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(script.Format(s))
	// Output: 0.1 close(3) = 0 // done
}

func ExampleICMP_Numbers() {
	m := &script.ICMP{Type: "unreachable", Code: "frag_needed", HasMTU: true, MTU: 1400}
	typ, code, ok := m.Numbers()
	fmt.Println(m, typ, code, ok)
	// Output: < icmp unreachable frag_needed mtu 1400 3 4 true
}
