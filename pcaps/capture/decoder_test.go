package capture

import (
	"encoding/binary"
	"io"
	"net/netip"
	"testing"

	"tcpwheel/netstack/tcp"
)

// encapsulations has hello in every encapsulation. Entries with back also have it in the other
// direction.
var encapsulations = []struct {
	name       string
	link       int
	data, back []byte
	direction  Direction
	path       bool // there are outer layers
}{
	{name: "raw IP", link: 101, data: hello(), back: helloBack()},
	{name: "raw IP of BSD", link: 12, data: hello()},
	{name: "raw IP of OpenBSD", link: 14, data: hello()},
	{name: "IPv4 by its own type", link: 228, data: hello()},
	{name: "IPv6 by its own type", link: 229, data: hello6()},
	{name: "raw IP, IPv6", link: 101, data: hello6()},
	{name: "Ethernet", link: 1, data: ether(0x0800, hello())},
	{name: "Ethernet, IPv6", link: 1, data: ether(0x86dd, hello6())},
	{name: "padding", link: 1, data: append(ether(0x0800, hello()), repeat(0xee, 9)...)},
	{name: "padding, IPv6", link: 1, data: append(ether(0x86dd, hello6()), repeat(0xee, 9)...)},
	{name: "VLAN", link: 1, data: ether(0x8100, vlan(7, 0x0800, hello())), path: true},
	{name: "QinQ", link: 1, data: ether(0x88a8, vlan(7, 0x8100, vlan(8, 0x86dd, hello6()))), path: true},
	{name: "QinQ with old types", link: 1, data: ether(0x9100, vlan(7, 0x9200, vlan(8, 0x9300, vlan(9, 0x0800, hello())))), path: true},
	{name: "priority tag", link: 1, data: ether(0x8100, vlan(0, 0x0800, hello()))},
	{name: "LLC with SNAP", link: 1, data: ether(8+len(hello()), join([]byte{0xaa, 0xaa, 3, 0, 0, 0}, be16(0x0800), hello()))},
	{name: "LLC with IP", link: 1, data: ether(3+len(hello()), join([]byte{6, 6, 3}, hello()))},
	{name: "Cisco security group tag", link: 1, data: ether(0x8909, join([]byte{1, 1}, be16(1, 42, 0x0800), hello()))},
	{name: "Cisco metadata of two options", link: 1, data: ether(0x8909, join([]byte{1, 2}, be16(1, 42, 3, 4, 0x0800), hello()))},
	{name: "MPLS", link: 1, data: ether(0x8847, join([]byte{0, 1, 0, 64, 0, 2, 1, 64}, hello()))},
	{name: "MPLS, IPv6", link: 1, data: ether(0x8848, join([]byte{0, 2, 1, 64}, hello6()))},
	{name: "MPLS with a pseudowire", link: 1, data: ether(0x8847, join([]byte{0, 2, 1, 64}, repeat(0, 4), ether(0x0800, hello())))},
	{name: "MPLS with a pseudowire without control word", link: 1, data: ether(0x8847, join([]byte{0, 2, 1, 64}, repeat(0x12, 12), be16(0x0800), hello()))},
	{name: "MPLS with a pseudowire to an address like IPv4", link: 1, data: ether(0x8847, join([]byte{0, 2, 1, 64}, repeat(0x45, 12), be16(0x8100), vlan(0, 0x0800, hello())))},
	{name: "MPLS with a pseudowire to an address like a control word", link: 1, data: ether(0x8847, join([]byte{0, 2, 1, 64}, repeat(0, 12), be16(0x86dd), hello6()))},
	{name: "PPPoE", link: 1, data: ether(0x8864, join([]byte{0x11, 0}, be16(5, 2+len(hello()), 0x0021), hello())), path: true},
	{name: "PPPoE, IPv6, on a VLAN", link: 1, data: ether(0x8100, vlan(3, 0x8864, join([]byte{0x11, 0}, be16(5, 2+len(hello6()), 0x0057), hello6()))), path: true},
	{name: "PPPoE by its own type", link: 51, data: join([]byte{0x11, 0}, be16(5, 2+len(hello()), 0x0021), hello()), path: true},
	{name: "NULL, little-endian", link: 0, data: join([]byte{2, 0, 0, 0}, hello())},
	{name: "NULL, big-endian", link: 0, data: join([]byte{0, 0, 0, 2}, hello())},
	{name: "NULL, IPv6 of macOS", link: 0, data: join([]byte{30, 0, 0, 0}, hello6())},
	{name: "NULL, IPv6 of FreeBSD", link: 0, data: join([]byte{28, 0, 0, 0}, hello6())},
	{name: "LOOP", link: 108, data: join([]byte{0, 0, 0, 24}, hello6())},
	{name: "SLL, sent", link: 113, data: join(be16(4, 1, 6), repeat(2, 8), be16(0x0800), hello()), direction: Outbound},
	{name: "SLL, received", link: 113, data: join(be16(0, 1, 6), repeat(2, 8), be16(0x86dd), hello6()), direction: Inbound},
	{name: "SLL, of another host", link: 113, data: join(be16(3, 1, 6), repeat(2, 8), be16(0x8100), vlan(7, 0x0800, hello())), path: true},
	{name: "SLL, LLC", link: 113, data: join(be16(0, 1, 6), repeat(2, 8), be16(4), []byte{0xaa, 0xaa, 3, 0, 0, 0}, be16(0x0800), hello()), direction: Inbound},
	{name: "SLL2, sent", link: 276, data: join(be16(0x0800, 0, 0, 3, 1), []byte{4, 6}, repeat(2, 8), hello()), direction: Outbound},
	{name: "SLL2, broadcast", link: 276, data: join(be16(0x86dd, 0, 0, 3, 1), []byte{1, 6}, repeat(2, 8), hello6()), direction: Inbound},
	{name: "PPP", link: 9, data: join([]byte{0xff, 3}, be16(0x0021), hello())},
	{name: "PPP, short", link: 50, data: join([]byte{0x21}, hello())},
	{name: "PPP with directions, out", link: 204, data: join([]byte{1, 0xff, 3}, be16(0x0057), hello6()), direction: Outbound},
	{name: "PPP with directions, in", link: 204, data: join([]byte{0, 0xff, 3}, be16(0x0281), []byte{0, 2, 1, 64}, hello6()), direction: Inbound},
	{name: "ATM", link: 100, data: join([]byte{0xaa, 0xaa, 3, 0, 0, 0}, be16(0x86dd), hello6())},
	{name: "NFLOG", link: 239, data: join([]byte{2, 0, 0, 0, 8, 0, 1, 0, 8, 0, 1, 0, 5, 0, 10, 0, 0, 0, 0, 0}, leAttribute(9, hello()))},
	{name: "NFLOG, big-endian", link: 239, data: join([]byte{2, 0, 0, 0, 0, 8, 0, 1, 8, 0, 1, 0}, be16(4+len(hello()), 9), hello())},
	{name: "PKTAP, sent", link: 258, data: pktap(1, 2, ether(0x0800, hello())), direction: Outbound},
	{name: "PKTAP, received over NULL", link: 149, data: pktap(0, 1, join([]byte{30, 0, 0, 0}, hello6())), direction: Inbound},
	{name: "802.11", link: 105, data: wlan(hello())},
	{name: "802.11 with radiotap", link: 127, data: join([]byte{0, 0, 8, 0, 0, 0, 0, 0}, wlan(hello()))},
	{name: "802.11 with a timestamp and padding", link: 127, data: join([]byte{0, 0, 17, 0, 3, 0, 0, 0}, repeat(7, 8), []byte{0x20}, qosWLAN(0, 2, hello()))},
	{name: "802.11 aggregate", link: 105, data: qosWLAN(0x80, 0, hello())},
	{name: "802.11 with a Prism header", link: 119, data: join([]byte{0x44, 0, 0, 0, 144, 0, 0, 0}, repeat(0, 136), wlan(hello()))},
	{name: "802.11 with PPI", link: 192, data: join([]byte{0, 0, 8, 0, 105, 0, 0, 0}, wlan(hello()))},
	{name: "FDDI", link: 10, data: join([]byte{0x57}, repeat(2, 12), []byte{0xaa, 0xaa, 3, 0, 0, 0}, be16(0x0800), hello())},
	{name: "Cisco HDLC", link: 104, data: join(be16(0x0f00, 0x86dd), hello6())},
	{name: "PFLOG", link: 117, data: join([]byte{61, 2}, repeat(0, 62), hello())},

	{name: "IP in IP", link: 101, data: ip4(4, endA, endB, hello()), back: ip4(4, endB, endA, helloBack()), path: true},
	{name: "6in4", link: 101, data: ip4(41, endA, endB, hello6()), path: true},
	{name: "4in6", link: 101, data: ip6(4, endA6, endB6, hello()), path: true},
	{name: "IP in IP in IP", link: 101, data: ip4(4, endA, endB, ip6(4, endA6, endB6, hello())), path: true},
	{name: "GRE", link: 101, data: ip4(47, endA, endB, join(be16(0, 0x0800), hello())), back: ip4(47, endB, endA, join(be16(0, 0x0800), helloBack())), path: true},
	{name: "GRE with checksum, key and sequence", link: 101, data: ip4(47, endA, endB, join(be16(0xb000, 0x86dd, 0, 0, 0, 9, 0, 1), hello6())), path: true},
	{name: "NVGRE", link: 101, data: ip4(47, endA, endB, join(be16(0x2000, 0x6558, 0, 9), ether(0x0800, hello()))), path: true},
	{name: "PPTP", link: 101, data: ip4(47, endA, endB, join(be16(0x3081, 0x880b, 4+len(hello()), 77, 0, 1, 0, 1), []byte{0xff, 3}, be16(0x0021), hello())), path: true},
	{name: "ERSPAN I", link: 101, data: ip4(47, endA, endB, join(be16(0, 0x88be), ether(0x0800, hello()))), path: true},
	{name: "ERSPAN II", link: 101, data: ip4(47, endA, endB, join(be16(0x1000, 0x88be, 0, 1, 0x1000, 1, 0, 0), ether(0x0800, hello()))), path: true},
	{name: "ERSPAN III", link: 101, data: ip4(47, endA, endB, join(be16(0x1000, 0x22eb, 0, 1, 0x2000, 1, 0, 0, 0, 0), ether(0x0800, hello()))), path: true},
	{name: "ERSPAN III with a platform's part", link: 101, data: ip4(47, endA, endB, join(be16(0x1000, 0x22eb, 0, 1, 0x2000, 1, 0, 0, 0, 1), repeat(0, 8), ether(0x0800, hello()))), path: true},
	{name: "MPLS in GRE", link: 101, data: ip4(47, endA, endB, join(be16(0, 0x8847), []byte{0, 2, 1, 64}, hello())), path: true},
	{
		name: "VXLAN", link: 1, path: true,
		data: ether(0x0800, ip4(17, endA, endB, udp(50000, 4789, join(be16(0x0800, 0, 0, 9<<8), ether(0x0800, hello()))))),
		back: ether(0x0800, ip4(17, endB, endA, udp(51000, 4789, join(be16(0x0800, 0, 0, 9<<8), ether(0x0800, helloBack()))))),
	},
	{name: "VXLAN over IPv6 with a VLAN", link: 101, data: ip6(17, endA6, endB6, udp(50000, 8472, join(be16(0x0800, 0, 0, 9<<8), ether(0x8100, vlan(3, 0x86dd, hello6()))))), path: true},
	{name: "Geneve", link: 101, data: ip4(17, endA, endB, udp(50000, 6081, join([]byte{2, 0}, be16(0x6558, 0, 9<<8), repeat(1, 8), ether(0x0800, hello())))), path: true},
	{name: "Geneve with IP", link: 101, data: ip4(17, endA, endB, udp(50000, 6081, join([]byte{0, 0}, be16(0x86dd, 0, 9<<8), hello6()))), path: true},
	{name: "GTP-U", link: 101, data: ip4(17, endA, endB, udp(2152, 2152, join([]byte{0x30, 0xff}, be16(len(hello()), 0, 5), hello()))), back: ip4(17, endB, endA, udp(2152, 2152, join([]byte{0x30, 0xff}, be16(len(hello()), 0, 99), helloBack()))), path: true},
	{name: "GTP-U with extensions", link: 101, data: ip4(17, endA, endB, udp(2152, 2152, join([]byte{0x34, 0xff}, be16(16+len(hello()), 0, 5, 0), []byte{0, 0x85, 1, 0, 9, 0x40, 2, 0, 0, 0, 0, 0, 0, 0}, hello()))), path: true},

	{name: "IPv4 options", link: 101, data: join([]byte{0x46, 2}, be16(24+len(hello())-20, 0x1234, 0), []byte{61, 6, 0, 0}, here4.AsSlice(), there4.AsSlice(), []byte{1, 1, 1, 0}, hello()[20:])},
	{name: "IPv6 extensions", link: 101, data: ip6(0, here6, there6, join([]byte{60, 0}, repeat(0, 6), []byte{43, 1}, repeat(0, 14), []byte{51, 0, 0, 0, 0, 0, 0, 0}, []byte{6, 1}, repeat(0, 10), hello6()[40:]))},
	{name: "IPv6 segment routing", link: 101, data: ip6(43, here6, endB6, join([]byte{6, 4, 4, 1, 1, 0, 0, 0}, there6.AsSlice(), endB6.AsSlice(), hello6()[40:]))},
	{name: "IPv6 mobile routing", link: 101, data: ip6(43, here6, endB6, join([]byte{6, 2, 2, 1, 0, 0, 0, 0}, there6.AsSlice(), hello6()[40:]))},
	{name: "IPv6 atomic fragment", link: 101, data: ip6(44, here6, there6, join([]byte{6, 0}, be16(0, 0, 0x1234), hello6()[40:]))},
	{name: "IPv6 jumbogram", link: 101, data: join([]byte{0x60, 0x20, 0, 0, 0, 0, 0, 62}, here6.AsSlice(), there6.AsSlice(), []byte{6, 0, 0xc2, 4, 0, 0, 0, byte(8 + len(hello6()) - 40)}, hello6()[40:])},
}

func leAttribute(kind int, value []byte) []byte {
	return append(binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(nil, uint16(4+len(value))), uint16(kind)), value...)
}

func pktap(link, flags byte, frame []byte) []byte {
	b := make([]byte, 108)
	b[0], b[4], b[8], b[36] = 108, 1, link, flags
	return append(b, frame...)
}

// wlan returns an 802.11 data frame with its check sequence.
func wlan(packet []byte) []byte {
	b := join([]byte{0x08, 0x01, 0, 0}, repeat(2, 18), be16(0), []byte{0xaa, 0xaa, 3, 0, 0, 0}, be16(0x0800), packet)
	return append(b, crc(b)...)
}

// qosWLAN returns an 802.11 data frame with a QoS control field, padded, and as an aggregate if
// control says so.
func qosWLAN(control byte, padding int, packet []byte) []byte {
	b := join([]byte{0x88, 0x01, 0, 0}, repeat(2, 18), be16(0), []byte{control, 0}, repeat(0, padding))
	if control != 0 {
		b = join(b, repeat(4, 12), be16(8+len(packet)))
	}
	return join(b, []byte{0xaa, 0xaa, 3, 0, 0, 0}, be16(0x0800), packet)
}

// decodeOne decodes a packet cut after keep bytes.
func decodeOne(link int, data []byte, keep int) (*decoder, Reason) {
	d := &decoder{p: &Packet{}}
	return d, d.decode(uint16(link), &record{number: 1, data: data[:keep:keep], length: uint32(len(data))})
}

func TestEncapsulations(t *testing.T) {
	for _, c := range encapsulations {
		t.Run(c.name, func(t *testing.T) {
			d, got := decodeOne(c.link, c.data, len(c.data))
			if got != isTCP {
				t.Fatalf("%v, want a segment", got)
			}
			p := d.p
			src, dst, ttl, tos := here4, there4, uint8(61), uint8(2)
			if p.Src.Addr().Is6() {
				src, dst, ttl = here6, there6, 62
			}
			if p.Src != netip.AddrPortFrom(src, 40000) || p.Dst != netip.AddrPortFrom(dst, 80) {
				t.Errorf("from %v to %v, want %v to %v", p.Src, p.Dst, src, dst)
			}
			want := sampleHeader
			want.Checksum = p.Header.Checksum
			if p.Header != want {
				t.Errorf("header %+v, want %+v", p.Header, want)
			}
			if string(p.Payload) != "hello" || p.Len != 5 || p.TTL != ttl || p.TOS != tos || p.Problems != 0 {
				t.Errorf("payload %q, Len %d, TTL %d, TOS %d, problems %b, want \"hello\", 5, %d, %d, 0",
					p.Payload, p.Len, p.TTL, p.TOS, p.Problems, ttl, tos)
			}
			if p.Src.Addr().Is4() && (!p.HasID || p.ID != 0x1234) {
				t.Errorf("identification %#x (there: %v), want 0x1234", p.ID, p.HasID)
			}
			if p.Direction != c.direction || (p.Path != 0) != c.path {
				t.Errorf("%v, path %#x, want %v, %v", p.Direction, p.Path, c.direction, c.path)
			}
			if c.back == nil {
				return
			}
			d, got = decodeOne(c.link, c.back, len(c.back))
			if got != isTCP || d.p.Path != p.Path || d.p.Src.Addr() != p.Dst.Addr() || d.p.Dst.Addr() != p.Src.Addr() {
				t.Errorf("back: %v from %v to %v by %#x, want the same way", got, d.p.Src, d.p.Dst, d.p.Path)
			}
		})
	}
}

// TestCutAnywhere cuts every packet at every byte, as a snapshot length does. The headers suffice.
func TestCutAnywhere(t *testing.T) {
	for _, c := range encapsulations {
		whole, _ := decodeOne(c.link, c.data, len(c.data))
		seen := false
		for keep := range c.data {
			d, got := decodeOne(c.link, c.data, keep)
			switch got {
			case isTCP:
				seen = true
				p := d.p
				if p.Src != whole.p.Src || p.Dst != whole.p.Dst || p.Header.Seq != 1000 || p.Len != 5 || p.Path != whole.p.Path {
					t.Errorf("%s: cut at %d: %+v, want as whole", c.name, keep, *p)
				}
				if kept := !p.Header.Options.HasTimestamps; kept != p.Problems.Has(OptionsCut) {
					t.Errorf("%s: cut at %d: options %+v, problems %b", c.name, keep, p.Header.Options, p.Problems)
				}
			case CutHeader:
				if seen {
					t.Errorf("%s: cut at %d: %v, want a segment, which it is with less", c.name, keep, got)
				}
			default:
				t.Errorf("%s: cut at %d: %v, want %v", c.name, keep, got, CutHeader)
			}
		}
		if !seen {
			t.Errorf("%s: headers do not suffice", c.name)
		}
	}
}

// TestPathPerEncapsulation gives each outer encapsulation its own path.
func TestPathPerEncapsulation(t *testing.T) {
	seen := map[uint64]string{}
	for name, data := range map[string][]byte{
		"nothing":         ether(0x0800, hello()),
		"VLAN 7":          ether(0x8100, vlan(7, 0x0800, hello())),
		"VLAN 8":          ether(0x8100, vlan(8, 0x0800, hello())),
		"VLAN 7 in 8":     ether(0x8100, vlan(8, 0x8100, vlan(7, 0x0800, hello()))),
		"VLAN 8 in 7":     ether(0x8100, vlan(7, 0x8100, vlan(8, 0x0800, hello()))),
		"PPPoE 7":         ether(0x8864, join([]byte{0x11, 0}, be16(7, 2+len(hello()), 0x0021), hello())),
		"IP in IP":        ether(0x0800, ip4(4, endA, endB, hello())),
		"IP in IP, twice": ether(0x0800, ip4(4, endA, endB, ip4(4, endA, endB, hello()))),
		"VXLAN 7":         ether(0x0800, ip4(17, endA, endB, udp(50000, 4789, join(be16(0x0800, 0, 0, 7<<8), ether(0x0800, hello()))))),
		"VXLAN 8":         ether(0x0800, ip4(17, endA, endB, udp(50000, 4789, join(be16(0x0800, 0, 0, 8<<8), ether(0x0800, hello()))))),
		"GRE 7":           ether(0x0800, ip4(47, endA, endB, join(be16(0x2000, 0x0800, 0, 7), hello()))),
		"GRE 8":           ether(0x0800, ip4(47, endA, endB, join(be16(0x2000, 0x0800, 0, 8), hello()))),
	} {
		d, got := decodeOne(1, data, len(data))
		if other, ok := seen[d.p.Path]; ok || got != isTCP || (d.p.Path == 0) != (name == "nothing") {
			t.Errorf("%s: %v, path %#x, as of %q", name, got, d.p.Path, other)
		}
		seen[d.p.Path] = name
	}
}

func TestSkipped(t *testing.T) {
	short := hello()
	short[3] = 30 // less than the headers
	offset := hello()
	offset[20+12] = 4 << 4
	past := hello()
	past[20+12] = 15 << 4
	deep := hello()
	for range 40 {
		deep = ip4(4, endA, endB, deep)
	}
	deepTags := hello()
	for range 40 {
		deepTags = vlan(1, 0x8100, deepTags)
	}
	for _, c := range []struct {
		name string
		link int
		data []byte
		want Reason
	}{
		{"nothing", 1, nil, Malformed},
		{"ARP", 1, ether(0x0806, repeat(0, 28)), NotIP},
		{"spanning tree", 1, ether(38, join([]byte{0x42, 0x42, 3}, repeat(0, 40))), NotIP},
		{"SNAP of Cisco", 1, ether(38, join([]byte{0xaa, 0xaa, 3, 0, 0, 12}, be16(0x0104), repeat(0, 30))), NotIP},
		{"LOOP of another family", 108, []byte{0, 0, 0, 7, 1, 2, 3}, NotIP},
		{"PPPoE discovery", 1, ether(0x8864, join([]byte{0x11, 9}, be16(0, 0))), NotIP},
		{"PPP's control", 9, join([]byte{0xff, 3}, be16(0xc021), repeat(0, 8)), NotIP},
		{"UDP", 101, ip4(17, here4, there4, udp(1, 2, []byte("x"))), UDP},
		{"UDP on VXLAN's port", 101, ip4(17, here4, there4, udp(1, 4789, repeat(0, 40))), UDP},
		{"UDP on Geneve's port", 101, ip4(17, here4, there4, udp(1, 6081, repeat(0xff, 40))), UDP},
		{"UDP on GTP's port", 101, ip4(17, here4, there4, udp(1, 2152, repeat(0, 40))), UDP},
		{"GTP's control", 101, ip4(17, here4, there4, udp(1, 2152, join([]byte{0x32, 1}, repeat(0, 40)))), UDP},
		{"VXLAN with ARP", 101, ip4(17, here4, there4, udp(1, 4789, join(be16(0x0800, 0, 0, 0), ether(0x0806, repeat(0, 28))))), NotIP},
		{"ICMP", 101, ip4(1, here4, there4, repeat(0, 8)), ICMP},
		{"ICMPv6 after hop-by-hop", 101, ip6(0, here6, there6, join([]byte{58, 0}, repeat(0, 14))), ICMP},
		{"SCTP", 101, ip4(132, here4, there4, repeat(0, 12)), OtherProtocol},
		{"ESP", 101, ip6(50, here6, there6, repeat(0, 12)), OtherProtocol},
		{"no next header", 101, ip6(59, here6, there6, nil), OtherProtocol},
		{"GRE keepalive", 101, ip4(47, endA, endB, be16(0, 0)), OtherProtocol},
		{"IP version 5", 101, repeat(0x55, 40), Malformed},
		{"IPv4 header of 4 bytes", 101, join([]byte{0x41}, hello()[1:]), Malformed},
		{"IPv4 length below the header's", 101, join([]byte{0x45, 0, 0, 19}, hello()[4:]), Malformed},
		{"TCP in 10 bytes", 101, short, Malformed},
		{"TCP data offset below 5", 101, offset, Malformed},
		{"TCP data offset past the segment", 101, past, Malformed},
		{"IPv6 extension past the packet", 101, ip6(60, here6, there6, join([]byte{6, 200}, repeat(0, 40))), Malformed},
		{"40 IP headers", 101, deep, TooDeep},
		{"40 tags", 1, ether(0x8100, deepTags), TooDeep},
		{"MPLS without end", 1, ether(0x8847, repeat(0, 400)), TooDeep},
		{"unknown link type", 147, hello(), UnknownLink},
		{"unknown link type", 300, hello(), UnknownLink},
		{"wireless beacon", 105, join([]byte{0x80, 0}, repeat(0, 60)), NotIP},
		{"Geneve longer than its packet", 101, ip4(17, here4, there4, udp(1, 6081, join([]byte{0x3f, 0}, be16(0x6558, 0, 0)))), UDP},
		{"NFLOG without a packet", 239, []byte{2, 0, 0, 0, 8, 0, 1, 0, 8, 0, 1, 0}, Malformed},
		{"NFLOG with an attribute of 3", 239, []byte{2, 0, 0, 0, 3, 0, 1, 0, 8, 0, 1, 0}, Malformed},
		{"PKTAP in PKTAP", 149, pktap(149, 0, repeat(0, 80)), Malformed},
	} {
		if _, got := decodeOne(c.link, c.data, len(c.data)); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestReasonsHaveNames(t *testing.T) {
	names := map[string]bool{}
	for _, r := range Reasons() {
		if r.String() == "" || names[r.String()] {
			t.Errorf("reason %d is called %q", r, r)
		}
		names[r.String()] = true
	}
	if len(names) != numberOfReasons-1 {
		t.Errorf("%d reasons, want %d", len(names), numberOfReasons-1)
	}
}

// TestSuperPackets reads super-packets of more than 64 KiB, whose IP length is 0.
func TestSuperPackets(t *testing.T) {
	h := tcp.Header{SrcPort: 1, DstPort: 2, Flags: tcp.ACK}
	payload := repeat(7, 70_000)
	v4 := ip4(6, here4, there4, append(h.AppendTo(nil), payload...))
	v6 := ip6(6, here6, there6, append(h.AppendTo(nil), payload...))
	v4[2], v4[3], v6[4], v6[5] = 0, 0, 0, 0
	for name, data := range map[string][]byte{"IPv4": v4, "IPv6": v6} {
		for _, keep := range []int{len(data), 100} {
			d, got := decodeOne(1, ether(0x0800, data), 14+keep)
			if got != isTCP || d.p.Len != 70_000 || !d.p.Problems.Has(NoLength) || d.p.Problems.Has(BadChecksum) {
				t.Errorf("%s: %v, Len %d, problems %b, want 70000 bytes", name, got, d.p.Len, d.p.Problems)
			}
		}
	}
}

// TestMappedAddresses reads an IPv6 header with an IPv4-mapped address at one end only.
func TestMappedAddresses(t *testing.T) {
	mapped := netip.AddrFrom16(there4.As16())
	data := ip6(6, here6, mapped, segment(here6, mapped, sampleHeader, []byte("hello")))
	d, got := decodeOne(101, data, len(data))
	if got != isTCP || d.p.Dst.Addr() != mapped || d.p.Problems != 0 {
		t.Errorf("%v to %v, problems %b, want a segment to %v without any", got, d.p.Dst, d.p.Problems, mapped)
	}
}

// TestPaddedACKs reads ACKs whose IP length counts the padding of a short frame, as some
// middleboxes write it.
func TestPaddedACKs(t *testing.T) {
	ack := tcp.Header{SrcPort: 1, DstPort: 2, Flags: tcp.ACK}
	push := tcp.Header{SrcPort: 1, DstPort: 2, Flags: tcp.ACK | tcp.PSH}
	for _, test := range []struct {
		h       tcp.Header
		payload []byte
		want    uint32
	}{
		{ack, repeat(0, 6), 0},
		{ack, repeat(0, 2), 0},
		{ack, repeat(0, 5), 5},
		{ack, []byte{0, 0, 0, 0, 0, 1}, 6},
		{push, repeat(0, 6), 6},
	} {
		data := ether(0x0800, ip4(6, here4, there4, segment(here4, there4, test.h, test.payload)))
		d, got := decodeOne(1, data, len(data))
		if got != isTCP || d.p.Len != test.want || len(d.p.Payload) != int(test.want) || d.p.Problems.Has(Padded) != (test.want == 0) {
			t.Errorf("%v, %v: %v, Len %d, problems %b, want %d bytes", test.h.Flags, test.payload, got, d.p.Len, d.p.Problems, test.want)
		}
	}
}

// TestDamagedLength has an IPv4 length beyond the frame. With a right header checksum the frame was
// cut when it was captured; with a wrong one the header is damaged.
func TestDamagedLength(t *testing.T) {
	for _, wrong := range []bool{false, true} {
		data := hello()
		header := data[:20]
		binary.BigEndian.PutUint16(header[2:], uint16(len(data)+4096))
		header[10], header[11] = 0, 0
		sum := (tcp.Sum{}).Add(header).Checksum()
		if wrong {
			sum++
		}
		binary.BigEndian.PutUint16(header[10:], sum)
		packets, r, err := readBytes(t, pcapOfHello(101, data))
		if err != io.EOF {
			t.Fatal(err)
		}
		if got := r.Stats().Skipped[Malformed] == 1 && len(packets) == 0; got != wrong {
			t.Errorf("wrong checksum %v: %d segments, %d malformed", wrong, len(packets), r.Stats().Skipped[Malformed])
		}
	}
}
