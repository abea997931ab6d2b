package tcp_test

import (
	"fmt"
	"net/netip"

	"tcpwheel/netstack/tcp"
)

func ExampleHeader() {
	h := tcp.Header{
		SrcPort: 40000, DstPort: 80, Seq: 1000, Flags: tcp.SYN, Window: 65535,
		Options: tcp.Options{HasMSS: true, MSS: 1460, SACKPermitted: true, HasTimestamps: true, TSVal: 7},
	}
	segment := h.AppendTo(nil)
	src, dst := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	tcp.SetChecksum(src, dst, segment)

	got, n, err := tcp.ParseHeader(segment)
	fmt.Println(got.Flags, got.Seq, got.Options.MSS, n, err)
	fmt.Println(tcp.ValidChecksum(src, dst, segment))
	// Output:
	// S 1000 1460 36 <nil>
	// true
}

func ExampleParseHeader_malformed() {
	_, _, err := tcp.ParseHeader(append(make([]byte, 12), 0x30, 0, 0, 0, 0, 0, 0, 0))
	fmt.Println(err)
	// Output: tcp: data offset 3 words, want 5..15
}

func ExampleSum() {
	src, dst := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	header := (&tcp.Header{SrcPort: 1, DstPort: 2, Flags: tcp.ACK}).AppendTo(nil)
	payload := []byte("in two pieces")
	sum := tcp.PseudoHeader(src, dst, len(header)+len(payload)).Add(header).Add(payload)
	segment := append(header, payload...)
	tcp.SetChecksum(src, dst, segment)
	fmt.Printf("%#04x %v\n", sum.Checksum(), tcp.ValidChecksum(src, dst, segment))
	// Output: 0xf2c2 true
}

func ExampleCounters_Each() {
	var c tcp.Counters
	c.TCPTimeouts, c.OutSegs = 2, 10
	c.Each(func(name string, v uint64) {
		if v != 0 {
			fmt.Println(name, v)
		}
	})
	// Output:
	// OutSegs 10
	// TCPTimeouts 2
}
