package capture

import (
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tcpwheel/netstack/tcp"
)

func TestDescribe(t *testing.T) {
	sack := tcp.Header{SrcPort: 40000, DstPort: 8, Seq: 0, Ack: 7, Flags: tcp.ACK}
	sack.Options.NumSACK = 2
	sack.Options.SACK[0], sack.Options.SACK[1] = tcp.SeqRange{Start: 9, End: 12}, tcp.SeqRange{Start: 20, End: 30}
	for _, c := range []struct {
		name string
		link int
		data []byte
		keep int
		want string
	}{
		{"VXLAN", 1, ether(0x0800, ip4(17, endA, endB, udp(50000, 4789, join(be16(0x0800, 0, 0, 9<<8), ether(0x8100, vlan(7, 0x0800, hello())))))), 0, `
Ethernet: src MAC 04:04:04:04:04:04, dst MAC 02:02:02:02:02:02, ethernet type IPv4
IPv4: TOS 2, length 111, id 0x1234, TTL 61, protocol UDP, src IP 192.0.2.1, dst IP 192.0.2.2
UDP: src port 50000, dst port 4789(vxlan), length 91
VXLAN: valid ID flag, VNI 9
Ethernet: src MAC 04:04:04:04:04:04, dst MAC 02:02:02:02:02:02, ethernet type Dot1Q
Dot1Q: priority 3, VLAN identifier 7, type IPv4
IPv4: TOS 2, length 57, id 0x1234, TTL 61, protocol TCP, src IP 10.0.0.1, dst IP 10.0.0.2
TCP: src port 40000(safetynetp), dst port 80(http), seq 1000, ack 2000, PSH, ACK, window 512, checksum 0x7484, options Timestamps 7/8
5 bytes of data, 5 captured`},
		{"cut options", 101, hello(), 44, `
IPv4: TOS 2, length 57, id 0x1234, TTL 61, protocol TCP, src IP 10.0.0.1, dst IP 10.0.0.2
TCP: src port 40000(safetynetp), dst port 80(http), seq 1000, ack 2000, PSH, ACK, window 512, checksum 0x7484, 24 of 32 bytes captured
5 bytes of data, 0 captured`},
		{"cut header", 101, hello(), 30, `
IPv4: TOS 2, length 57, id 0x1234, TTL 61, protocol TCP, src IP 10.0.0.1, dst IP 10.0.0.2
TCP: cut after 10 bytes
no TCP segment: cut-header`},
		{"SACK, and a window and a sequence number of 0", 101, ip4(6, here4, there4, segment(here4, there4, sack, nil)), 0, `
IPv4: TOS 2, length 60, id 0x1234, TTL 61, protocol TCP, src IP 10.0.0.1, dst IP 10.0.0.2
TCP: src port 40000(safetynetp), dst port 8, seq 0, ack 7, ACK, window 0, checksum 0xa914, options SACK 9-12 20-30`},
		{"ICMP", 113, join(be16(0, 1, 6), repeat(2, 8), be16(0x0800), ip4(1, endA, here4, []byte{3, 4, 0, 0, 0, 0, 5, 120})), 0, `
Linux SLL: addr len 6, addr 02:02:02:02:02:02, ethernet type IPv4, addr type 1
IPv4: TOS 2, length 28, id 0x1234, TTL 61, protocol ICMPv4, src IP 192.0.2.1, dst IP 10.0.0.1
ICMPv4: type code DestinationUnreachable(FragmentationNeeded), seq 1400
no TCP segment: icmp`},
		{"ours", 104, join(be16(0x0f00, 0x0806), repeat(0, 28)), 0, "\nCisco's HDLC\nno TCP segment: not-ip"},
	} {
		frame := Frame{Data: c.data, Length: uint32(len(c.data)), LinkType: uint16(c.link)}
		if c.keep > 0 {
			frame.Data = c.data[:c.keep]
		}
		if got := "\n" + strings.Join(Describe(&frame), "\n"); got != c.want {
			t.Errorf("%s:%s\nwant%s", c.name, got, c.want)
		}
	}
}

func TestDescribeByNumber(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	file := pcapOf(binary.LittleEndian, magicMicro, 101, raw{data: hello()}, raw{data: repeat(0, 20)}, raw{data: helloBack()})
	if err := os.WriteFile(name, file[:len(file)-3], 0o600); err != nil {
		t.Fatal(err)
	}
	first, second := Describe(&Frame{Data: hello(), LinkType: 101}), []string{"no TCP segment: malformed"}
	describe := func(numbers ...int64) (map[int64][]string, error) {
		r, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		return r.Describe(numbers...)
	}
	if got, err := describe(2, 1, 2, 0); err != nil || !reflect.DeepEqual(got, map[int64][]string{1: first, 2: second}) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := describe(3, 1); err == nil || !reflect.DeepEqual(got, map[int64][]string{1: first}) {
		t.Errorf("of a cut file: %v, %v", got, err)
	}
}

// TestGopacketPrintsNothing decodes extensions of GTP that end past gopacket's view of a packet, of
// which gopacket prints the lengths.
func TestGopacketPrintsNothing(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = w
	defer func() { os.Stdout = stdout }()
	for size := 12; size < 2100; size++ {
		gtp := join([]byte{0x34, 0xff}, be16(0xffff), repeat(0, 7), []byte{1})
		for len(gtp) < size {
			gtp = append(gtp, join([]byte{1}, repeat(0, 2), []byte{1})...)
		}
		gtp = append(gtp, repeat(255, 1100)...)
		packet := ip4(17, endA, endB, udp(2152, 2152, gtp))
		decodeOne(101, packet, len(packet))
		decodeOne(101, packet, min(len(packet), size))
	}
	w.Close()
	if printed, err := io.ReadAll(r); len(printed) > 0 || err != nil {
		t.Errorf("it printed %.100q, %v", printed, err)
	}
}
