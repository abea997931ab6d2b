package capture

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"net/netip"
	"testing"

	"tcpwheel/netstack/tcp"
)

// The functions below build packets from the inside out, header by header.

var (
	here4, there4 = netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	here6, there6 = netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	endA, endB    = netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	endA6, endB6  = netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2")
)

func be16(v ...int) (b []byte) {
	for _, v := range v {
		b = binary.BigEndian.AppendUint16(b, uint16(v))
	}
	return b
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func repeat(v byte, n int) []byte { return bytes.Repeat([]byte{v}, n) }

// segment returns a TCP segment with a correct checksum.
func segment(src, dst netip.Addr, h tcp.Header, payload []byte) []byte {
	b := append(h.AppendTo(nil), payload...)
	tcp.SetChecksum(src, dst, b)
	return b
}

// sampleHeader is the header of most built packets.
var sampleHeader = tcp.Header{
	SrcPort: 40000, DstPort: 80, Seq: 1000, Ack: 2000, Flags: tcp.ACK | tcp.PSH, Window: 512,
	Options: tcp.Options{HasTimestamps: true, TSVal: 7, TSEcr: 8},
}

// hello returns a segment of 5 bytes from here4 to there4 in IPv4.
func hello() []byte {
	return ip4(6, here4, there4, segment(here4, there4, sampleHeader, []byte("hello")))
}

// helloBack returns its counterpart in the other direction.
func helloBack() []byte {
	return ip4(6, there4, here4, segment(there4, here4, sampleHeader, []byte("hello")))
}

func hello6() []byte {
	return ip6(6, here6, there6, segment(here6, there6, sampleHeader, []byte("hello")))
}

func ip4(protocol byte, src, dst netip.Addr, payload []byte) []byte {
	return ip4Fragment(protocol, src, dst, 0x1234, 0, payload)
}

// ip4Fragment returns a fragment. place is the header field; 0x2000 is the more-fragments flag.
func ip4Fragment(protocol byte, src, dst netip.Addr, id, place int, payload []byte) []byte {
	return join([]byte{0x45, 0x02}, be16(20+len(payload), id, place), []byte{61, protocol, 0, 0}, src.AsSlice(), dst.AsSlice(), payload)
}

func ip6(next byte, src, dst netip.Addr, payload []byte) []byte {
	return join([]byte{0x60, 0x20, 0, 0}, be16(len(payload)), []byte{next, 62}, src.AsSlice(), dst.AsSlice(), payload)
}

func ether(t int, payload []byte) []byte { return join(repeat(2, 6), repeat(4, 6), be16(t), payload) }

func vlan(id, t int, payload []byte) []byte { return join(be16(0x6000|id, t), payload) }

func udp(src, dst int, payload []byte) []byte {
	return join(be16(src, dst, 8+len(payload), 0), payload)
}

// raw is a record of a built file.
type raw struct {
	at     int64 // ns
	data   []byte
	length int // 0 means len(data)
}

func (p raw) size() uint32 {
	if p.length > 0 {
		return uint32(p.length)
	}
	return uint32(len(p.data))
}

// pcapOf returns a pcap file.
func pcapOf(order byteOrder, magic uint32, link int, packets ...raw) []byte {
	u32 := func(b []byte, v ...uint32) []byte {
		for _, v := range v {
			b = order.AppendUint32(b, v)
		}
		return b
	}
	b := order.AppendUint16(u32(nil, magic), 2)
	b = u32(order.AppendUint16(b, 4), 0, 0, 1<<18, uint32(link))
	for _, p := range packets {
		fraction := p.at % 1e9
		if magic != magicNano {
			fraction /= 1000
		}
		b = u32(b, uint32(p.at/1e9), uint32(fraction), uint32(len(p.data)), p.size())
		if magic == magicKuznet {
			b = append(u32(b, 3), 0, 0, 4, 0)
		}
		b = append(b, p.data...)
	}
	return b
}

// pcapOfHello returns a pcap file with one packet.
func pcapOfHello(link int, data []byte) []byte {
	return pcapOf(binary.LittleEndian, magicMicro, link, raw{at: 1e9, data: data})
}

// byteOrder is either byte order.
type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// ng builds a pcapng file block by block.
type ng struct {
	byteOrder
	b []byte
}

func (g *ng) u32(b []byte, v ...uint32) []byte {
	for _, v := range v {
		b = g.AppendUint32(b, v)
	}
	return b
}

func (g *ng) block(kind uint32, body ...[]byte) *ng {
	all := join(body...)
	all = append(all, make([]byte, -len(all)&3)...)
	g.b = g.u32(g.b, kind, uint32(len(all)+12))
	g.b = g.u32(append(g.b, all...), uint32(len(all)+12))
	return g
}

func (g *ng) option(code int, value []byte) []byte {
	b := g.AppendUint16(g.AppendUint16(nil, uint16(code)), uint16(len(value)))
	return append(append(b, value...), make([]byte, -len(value)&3)...)
}

func (g *ng) section() *ng {
	body := g.AppendUint16(g.AppendUint16(g.u32(nil, byteOrderMagic), 1), 0)
	return g.block(blockSection, append(body, repeat(0xff, 8)...))
}

func (g *ng) port(link, snap int, options ...[]byte) *ng {
	body := g.AppendUint16(g.AppendUint16(nil, uint16(link)), 0)
	return g.block(blockInterface, g.u32(body, uint32(snap)), join(options...))
}

func (g *ng) packet(iface int, stamp uint64, data []byte, options ...[]byte) *ng {
	head := g.u32(nil, uint32(iface), uint32(stamp>>32), uint32(stamp), uint32(len(data)), uint32(len(data)))
	return g.block(blockPacket, head, data, make([]byte, -len(data)&3), join(options...))
}

// asPcapng converts a pcap file with µs stamps to pcapng.
func asPcapng(t testing.TB, file []byte) []byte {
	t.Helper()
	f, err := newPcapFile(newInput(bytes.NewReader(file), -1))
	if err != nil {
		t.Fatal(err)
	}
	g := (&ng{byteOrder: binary.LittleEndian}).section().port(int(f.iface[0].LinkType), 0)
	for rec := (record{}); f.next(&rec) == nil; {
		g.packet(0, uint64(rec.time)/1000, rec.data)
	}
	return g.b
}

// readBytes reads a file in memory to its end.
func readBytes(t testing.TB, file []byte) ([]Packet, *Reader, error) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(file), "built")
	if err != nil {
		return nil, nil, err
	}
	all, err := readAll(t, r)
	return all, r, err
}

func crc(b []byte) []byte { return binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(b)) }
