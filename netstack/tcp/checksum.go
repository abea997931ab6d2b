package tcp

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"
)

// protocolTCP is TCP's protocol number in the IP header.
const protocolTCP = 6

// checksumOffset is the offset of the checksum in the TCP header.
const checksumOffset = 16

// Sum is an Internet checksum being computed (RFC 1071): the one's complement sum of the bytes
// added so far. Pieces may have any length, odd ones too. The zero value has no bytes.
type Sum struct {
	sum uint64 // of 64-bit words; folding it gives the sum of 16-bit words
	odd bool   // an odd number of bytes was added
}

// PseudoHeader returns the sum of the pseudo-header for a segment of n bytes, header included:
// RFC 9293 §3.1 for IPv4, RFC 8200 §8.1 for IPv6. An IPv4-mapped IPv6 address gives the same sum as
// its IPv4 address. It panics if src and dst are of different IP versions.
func PseudoHeader(src, dst netip.Addr, n int) (s Sum) {
	if src.Is4() || dst.Is4() {
		src, dst = src.Unmap(), dst.Unmap()
	}
	switch {
	case src.Is4() && dst.Is4():
		a, b := src.As4(), dst.As4()
		s.addWord(uint64(binary.BigEndian.Uint32(a[:])))
		s.addWord(uint64(binary.BigEndian.Uint32(b[:])))
	case src.Is6() && dst.Is6():
		a, b := src.As16(), dst.As16()
		s = s.Add(a[:]).Add(b[:])
	default:
		panic(fmt.Sprintf("BUG: tcp: segment from %v to %v", src, dst))
	}
	s.addWord(protocolTCP)
	s.addWord(uint64(n))
	return s
}

// addWord adds 64 bits with end-around carry.
func (s *Sum) addWord(w uint64) {
	sum, carry := bits.Add64(s.sum, w, 0)
	s.sum = sum + carry // no second carry: sum ≤ 2^64-2 after a carry
}

// Add returns the sum with b appended. It costs one addition for every 8 bytes.
func (s Sum) Add(b []byte) Sum {
	if s.odd && len(b) > 0 {
		s.addWord(uint64(b[0])) // the low half of the word that the last piece began
		s.odd, b = false, b[1:]
	}
	for ; len(b) >= 32; b = b[32:] {
		// One chain of additions with carry is twice as fast as four calls of addWord.
		sum, carry := bits.Add64(s.sum, binary.BigEndian.Uint64(b), 0)
		sum, carry = bits.Add64(sum, binary.BigEndian.Uint64(b[8:]), carry)
		sum, carry = bits.Add64(sum, binary.BigEndian.Uint64(b[16:]), carry)
		sum, carry = bits.Add64(sum, binary.BigEndian.Uint64(b[24:]), carry)
		sum, carry = bits.Add64(sum, 0, carry)
		s.sum = sum + carry
	}
	for ; len(b) >= 8; b = b[8:] {
		s.addWord(binary.BigEndian.Uint64(b))
	}
	if len(b) >= 4 {
		s.addWord(uint64(binary.BigEndian.Uint32(b)))
		b = b[4:]
	}
	if len(b) >= 2 {
		s.addWord(uint64(binary.BigEndian.Uint16(b)))
		b = b[2:]
	}
	if len(b) > 0 {
		// RFC 9293 §3.1: an odd byte at the end is padded with a zero byte.
		s.addWord(uint64(b[0]) << 8)
		s.odd = true
	}
	return s
}

// Checksum returns the complement of the sum. It is the value for the header if the checksum field
// was zero in the sum. It is 0 if the sum includes a correct checksum.
func (s Sum) Checksum() uint16 {
	v := s.sum>>32 + s.sum&(1<<32-1)
	for v > 0xffff {
		v = v>>16 + v&0xffff
	}
	return ^uint16(v)
}

// segmentChecksum returns the checksum of a segment, header and payload, whose checksum field is
// zero.
func segmentChecksum(src, dst netip.Addr, segment []byte) uint16 {
	return PseudoHeader(src, dst, len(segment)).Add(segment).Checksum()
}

// SetChecksum computes the checksum of a segment, header and payload, and writes it into the
// header. It panics if the segment is shorter than HeaderLen.
func SetChecksum(src, dst netip.Addr, segment []byte) {
	if len(segment) < HeaderLen {
		panic(fmt.Sprintf("BUG: tcp: checksum of a segment of %d bytes", len(segment)))
	}
	field := segment[checksumOffset : checksumOffset+2]
	field[0], field[1] = 0, 0
	binary.BigEndian.PutUint16(field, segmentChecksum(src, dst, segment))
}

// ValidChecksum reports whether the checksum of a segment, header and payload, is correct.
func ValidChecksum(src, dst netip.Addr, segment []byte) bool {
	// RFC 9293 §3.1: "The TCP checksum is never optional."
	return segmentChecksum(src, dst, segment) == 0
}
