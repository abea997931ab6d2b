package capture

import (
	"encoding/binary"
	"net/netip"

	"github.com/google/gopacket/layers"

	"tcpwheel/netstack/tcp"
)

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
