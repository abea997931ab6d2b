package capture_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tcpwheel/internal/pcapng"
	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
)

// oneSegment returns a capture of one segment, from a host that leaves the checksum to its network
// interface.
func oneSegment() []byte {
	var file bytes.Buffer
	out, _ := pcapng.NewWriter(&file, "example")
	out.AddInterface("eth0", pcapng.LinkTypeRaw)
	ip := []byte{0x45, 0, 0, 45, 0, 7, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2}
	h := tcp.Header{SrcPort: 40000, DstPort: 80, Seq: 1, Ack: 1, Flags: tcp.ACK | tcp.PSH, Window: 512}
	packet := append(h.AppendTo(ip), "hello"...)
	out.WritePacket(0, 1_717_200_000_000_000_000, packet, uint32(len(packet)), "")
	return file.Bytes()
}

func ExampleReader() {
	r, err := capture.NewReader(bytes.NewReader(oneSegment()), "example.pcapng")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	for {
		p, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d %v > %v: seq %d, %d bytes, at its sender: %v\n",
			p.Number, p.Src, p.Dst, p.Header.Seq, p.Len, p.Problems.Has(capture.PartialChecksum))
	}
	s := r.Stats()
	fmt.Println(s.Packets, "packets on", r.Interfaces()[0].Name)
	// Output:
	// 1 192.0.2.1:40000 > 192.0.2.2:80: seq 1, 5 bytes, at its sender: true
	// 1 packets on eth0
}

func ExampleAnnotate() {
	dir, _ := os.MkdirTemp("", "capture")
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "example.pcapng")
	os.WriteFile(name, oneSegment(), 0o600)

	var copied bytes.Buffer
	err := capture.Annotate(&copied, name, func(number int64) string {
		return fmt.Sprintf("packet %d was not retransmitted", number)
	})
	r, _ := capture.NewReader(&copied, "copy")
	r.Next()
	fmt.Println(r.Comments(), err)
	// Output:
	// [packet 1 was not retransmitted] <nil>
}
