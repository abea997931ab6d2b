package report_test

import (
	"fmt"
	"net/netip"
	"strings"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/report"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// lostSegment is a segment that is retransmitted after 300 ms, and its ACK.
func lostSegment() []capture.Packet {
	a, b := netip.MustParseAddrPort("192.0.2.1:4000"), netip.MustParseAddrPort("198.51.100.1:80")
	const ms = 1_000_000
	return []capture.Packet{
		{Number: 1, Time: 10 * ms, Src: a, Dst: b, Len: 1000, Header: tcp.Header{Seq: 1, Ack: 1, Flags: tcp.ACK, Window: 500}},
		{Number: 2, Time: 310 * ms, Src: a, Dst: b, Len: 1000, Header: tcp.Header{Seq: 1, Ack: 1, Flags: tcp.ACK, Window: 500}},
		{Number: 3, Time: 350 * ms, Src: b, Dst: a, Header: tcp.Header{Seq: 1, Ack: 1001, Flags: tcp.ACK, Window: 500}},
	}
}

func ExamplePage() {
	page := report.NewPage(report.Limits{})
	section := page.Begin("lost.pcap")
	t := track.New(track.Config{Event: section.Event, Done: func(c *track.Conn) { section.Add(c, nil) }})
	packets := lostSegment()
	for i := range packets {
		t.Add(&packets[i])
	}
	t.Close()
	section.End(report.Facts{First: packets[0].Time, Last: wheel.Time(350_000_000), Packets: 3, TCP: 3})
	var b strings.Builder
	err := page.Write(&b)
	fmt.Println(strings.Count(b.String(), "<svg viewBox=\"0 0 "), "diagrams,", err)
	// Output: 4 diagrams, <nil>
}

func ExampleNotes() {
	notes := report.NewNotes()
	t := track.New(track.Config{Event: notes.Event, Done: func(c *track.Conn) { notes.Add(c, nil) }})
	packets := lostSegment()
	for i := range packets {
		t.Add(&packets[i])
	}
	t.Close()
	fmt.Println(notes.Comment(1))
	fmt.Println(notes.Comment(3))
	// Output:
	// tcpwheel: was lost and retransmitted as packet 2 (rto)
	// tcpwheel: acknowledges the retransmission in packet 2: D 300 ms + P 40.0 ms = T_rec 340 ms
}
