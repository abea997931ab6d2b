package capture

import (
	"encoding/binary"
	"net/netip"

	"github.com/google/gopacket/layers"

	"tcpwheel/netstack/tcp"
)

// decoder finds the TCP segment in a packet. Each method takes the bytes from one header on: b are
// the bytes kept, n of them were on the wire, n >= len(b). Results go to p and are valid only
// if the method returns isTCP.
type decoder struct {
	p         *Packet // the packet being decoded
	depth     int
	addressed bool // p has addresses, so that a further IP header is inside a tunnel
	frags     fragments
	headers   *headers        // nil until the first rare one
	heads     *[]head         // of Describe; nil elsewhere
	icmpError func(ICMPError) // may be nil
}

// maxDepth bounds nested headers, tags and extensions included.
const maxDepth = 32

// decode decodes the file's next record, from an interface of that link type.
func (d *decoder) decode(link uint16, rec *record) Reason {
	p := d.p
	p.Number, p.Time, p.Since, p.Interface = rec.number, rec.time, rec.since, rec.iface
	p.Device = 0
	p.Direction, p.Problems = rec.direction, rec.problems
	d.depth, d.addressed, p.Path = 0, false, 0
	if ip, n := plainIPv4(link, rec.data, int(rec.length)); ip != nil {
		return d.plainSegment(ip, n)
	}
	return d.link(link, rec.data, int(rec.length))
}

// plainIPv4 returns an IPv4 packet in an Ethernet frame or a raw one, and how many bytes of it were
// on the wire. It is nil unless ipv4 would come to the same: a TCP segment in it, without tags, IP
// options, fragments or trouble. Most packets are so, and are decoded in half the time.
func plainIPv4(link uint16, b []byte, n int) ([]byte, int) {
	const header = 20
	if link == linkEthernet && len(b) >= 14 && binary.BigEndian.Uint16(b[12:]) == etherIPv4 {
		b, n = b[14:], n-14
	} else if link != linkRaw {
		return nil, 0
	}
	if len(b) < header+tcp.HeaderLen || b[0] != 4<<4|header/4 || b[9] != protoTCP || binary.BigEndian.Uint16(b[6:])&0x3fff != 0 {
		return nil, 0
	}
	total := int(binary.BigEndian.Uint16(b[2:]))
	if total < header+tcp.HeaderLen || total > n {
		return nil, 0
	}
	return b[:min(len(b), total)], total
}

// plainSegment decodes what plainIPv4 returned.
func (d *decoder) plainSegment(b []byte, n int) Reason {
	p := d.p
	p.TOS, p.TTL = b[1], b[8]
	p.ID, p.HasID = uint32(binary.BigEndian.Uint16(b[4:])), true
	p.Src = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[12:16])), binary.BigEndian.Uint16(b[20:]))
	p.Dst = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[16:20])), binary.BigEndian.Uint16(b[22:]))
	got := d.segmentBetween(b[20:], n-20)
	if got == isTCP && len(b) == n {
		p.Problems |= d.checksum(pseudoIPv4(b[12:20], n-20), b[20:])
	}
	return got
}

// pseudoIPv4 is tcp.PseudoHeader of the addresses in an IPv4 header. To take them from a netip.Addr
// is a tenth of the decoding.
func pseudoIPv4(addresses []byte, n int) tcp.Sum {
	var b [12]byte
	copy(b[:8], addresses)
	binary.BigEndian.PutUint32(b[8:], protoTCP<<16|uint32(n))
	return tcp.Sum{}.Add(b[:])
}

// truncated is the result for a header longer than the bytes kept. n bytes were sent.
func truncated(header, n int) Reason {
	if n < header {
		return Malformed
	}
	return CutHeader
}

// tooDeep counts a header and reports whether there are too many.
func (d *decoder) tooDeep() bool {
	d.depth++
	return d.depth > maxDepth
}

// addOuter adds an outer layer to the path.
func (d *decoder) addOuter(kind, value uint64) {
	d.p.Path = mix(mix(d.p.Path, kind), value)
}

// addTunnel adds the ends of a tunnel to the path, if there was an IP header before. The order of
// the ends does not matter.
func (d *decoder) addTunnel() {
	if d.addressed {
		a, b := hashAddr(d.p.Src.Addr()), hashAddr(d.p.Dst.Addr())
		d.addOuter(a+b, a^b)
	}
}

func hashAddr(a netip.Addr) uint64 {
	b := a.As16()
	return mix(binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:]))
}

// mix returns a hash that is never 0.
func mix(h, v uint64) uint64 {
	h = (h ^ v + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
	h ^= h >> 31
	h *= 0x94d049bb133111eb
	return h ^ h>>29 | 1
}

// segment decodes a TCP segment of n bytes.
func (d *decoder) segment(b []byte, n int) Reason {
	d.note(layers.LayerTypeTCP, b)
	if n < tcp.HeaderLen || len(b) < tcp.HeaderLen {
		return truncated(tcp.HeaderLen, n)
	}
	p := d.p
	p.Src = netip.AddrPortFrom(p.Src.Addr(), binary.BigEndian.Uint16(b))
	p.Dst = netip.AddrPortFrom(p.Dst.Addr(), binary.BigEndian.Uint16(b[2:]))
	got := d.segmentBetween(b, n)
	if src, dst := p.Src.Addr(), p.Dst.Addr(); got == isTCP && len(b) == n && src.Is4() == dst.Is4() {
		p.Problems |= d.checksum(tcp.PseudoHeader(src, dst, n), b)
	}
	return got
}

// segmentBetween decodes a TCP segment of n bytes, whose addresses and ports are known, but for its
// checksum.
func (d *decoder) segmentBetween(b []byte, n int) Reason {
	size := int(b[12]>>4) * 4
	if size < tcp.HeaderLen || size > n {
		return Malformed
	}
	p := d.p
	var err error
	if size <= len(b) {
		_, err = p.Header.Parse(b)
		p.Payload = b[size:]
	} else {
		p.Header, err = parseCut(b)
		p.Problems |= OptionsCut
		p.Payload = nil
	}
	if err != nil {
		p.Problems |= OptionsCut
	}
	p.Len = uint32(n - size)
	if len(p.Payload) > 0 && p.Header.Flags == tcp.ACK && p.Src.Addr().Is4() && len(b) == n && isPadding(p.Payload, n) {
		p.Payload, p.Len = nil, 0
		p.Problems |= Padded
	}
	return isTCP
}

// isPadding reports whether the payload of a bare ACK of n bytes is the padding of an Ethernet
// frame, which some middleboxes count in the IP length: zeros up to the least frame of 46 bytes, or
// 42 with a VLAN tag. Its sender does not count them.
func isPadding(payload []byte, n int) bool {
	const header, least, tag = 20, 46, 4
	if n != least-header && n != least-tag-header {
		return false
	}
	for _, b := range payload {
		if b != 0 {
			return false
		}
	}
	return true
}

// parseCut parses a header whose options were not all kept. It leaves out the incomplete ones.
func parseCut(b []byte) (tcp.Header, error) {
	var whole [tcp.MaxHeaderLen]byte // the rest reads as the end of options
	i := tcp.HeaderLen
	for i < len(b) {
		size := 1
		if b[i] > 1 {
			if i+1 == len(b) {
				break
			}
			size = max(int(b[i+1]), 2)
		}
		if i+size > len(b) {
			break
		}
		i += size
	}
	copy(whole[:], b[:i])
	cutSACK(whole[i:], b[i:])
	whole[12] = tcp.MaxHeaderLen / 4 << 4
	h, _, err := tcp.ParseHeader(whole[:])
	return h, err
}

// cutSACK copies the blocks of a SACK option that is cut short to whole. One whose right edge is
// missing has at least its first byte: 96 bytes of a packet over IPv6 with timestamps end there.
func cutSACK(whole, b []byte) {
	const kind, block = 5, 8 // RFC 2018 §3
	if len(b) < 2+block/2 || b[0] != kind {
		return
	}
	n := (len(b) - 2 + block/2) / block
	if 2+n*block > min(int(b[1]), len(whole)) {
		return
	}
	copy(whole, b[:min(len(b), 2+n*block)])
	whole[1] = byte(2 + n*block)
	if last := whole[2+(n-1)*block:]; len(b) < 2+n*block {
		binary.BigEndian.PutUint32(last[block/2:], binary.BigEndian.Uint32(last)+1)
	}
}

// longest is the longest segment on an Ethernet wire. A longer one was assembled by the host or its
// network interface, and has the checksum of its first part, or none.
const longest = 1500 - 20

// checksum checks a complete segment, with the sum of its pseudo-header.
func (d *decoder) checksum(pseudo tcp.Sum, b []byte) Problems {
	// A host that leaves the checksum to its network interface stores the sum of the pseudo-header,
	// Windows without the length, or nothing.
	got := binary.BigEndian.Uint16(b[16:])
	if got == ^pseudo.Checksum() {
		return PartialChecksum
	}
	if pseudo.Add(b).Checksum() == 0 {
		return 0
	}
	if got == 0 || got == ^tcp.PseudoHeader(d.p.Src.Addr(), d.p.Dst.Addr(), 0).Checksum() {
		return PartialChecksum
	}
	if len(b) > longest {
		return 0
	}
	return BadChecksum
}
