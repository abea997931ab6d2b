package host

import (
	"encoding/binary"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
)

// streamByte returns the byte at a position of a stream.
func streamByte(offset uint64) byte { return byte(offset * 0x9e3779b97f4a7c15 >> 56) }

// Serializer returns a sim.Serializer that writes the datagrams of w as IPv4 or IPv6 packets with
// correct checksums, for captures of pcapng.LinkTypeRaw.
func (w *World) Serializer() sim.Serializer[Body] { return serializer{w} }

type serializer struct{ w *World }

const (
	hops        = 64
	protocolTCP = 6
)

// Serialize implements sim.Serializer.
func (s serializer) Serialize(buf []byte, d *Datagram) []byte {
	src, dst := s.w.Addr(d.From), s.w.Addr(d.To)
	segment := d.Body.Header.HeaderLen() + int(d.Body.Len)
	start := len(buf)
	if src.Is4() {
		// DF is set, so the identification may be 0.
		buf = append(buf, 0x45, byte(d.ECN&3))
		buf = binary.BigEndian.AppendUint16(buf, uint16(ipv4Len+segment))
		buf = append(buf, 0, 0, 0x40, 0, hops, protocolTCP, 0, 0)
		a, b := src.As4(), dst.As4()
		buf = append(append(buf, a[:]...), b[:]...)
		binary.BigEndian.PutUint16(buf[start+10:], tcp.Sum{}.Add(buf[start:start+ipv4Len]).Checksum())
	} else {
		buf = append(buf, 0x60, byte(d.ECN&3)<<4, 0, 0)
		buf = binary.BigEndian.AppendUint16(buf, uint16(segment))
		buf = append(buf, protocolTCP, hops)
		a, b := src.As16(), dst.As16()
		buf = append(append(buf, a[:]...), b[:]...)
	}
	start = len(buf)
	buf = d.Body.Header.AppendTo(buf)
	for i := range uint64(d.Body.Len) {
		buf = append(buf, streamByte(d.Body.Offset+i))
	}
	tcp.SetChecksum(src, dst, buf[start:])
	return buf
}
