package tcp

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"
)

// protocolTCP is TCP's number in the header of IP.
const protocolTCP = 6

// checksumOffset is where the checksum is in a header.
const checksumOffset = 16

// Sum is a checksum in the making (RFC 1071): the one's complement sum of the octets so far. Octets can be added piece by
// piece, of whatever lengths, odd ones too. The zero value has no octets.
type Sum struct {
	sum uint64 // of 64-bit words: 2^64-1 is a multiple of 2^16-1, so that folding it gives the sum of 16-bit words
	odd bool   // so far there is an odd number of octets
}

// PseudoHeader returns the sum of the pseudo-header of a segment with n octets, header included: the one of RFC 9293 §3.1
// for IPv4, and of RFC 8200 §8.1 for IPv6. An IPv4 address that is mapped into IPv6 counts as either, as what it is
// mapped by does not change the sum. It panics if the addresses are not both of one version.
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

// addWord adds 64 bits and carries around the end.
func (s *Sum) addWord(w uint64) {
	sum, carry := bits.Add64(s.sum, w, 0)
	s.sum = sum + carry // cannot carry again: after a carry sum is at most 2^64-2
}

// Add returns the sum with the octets of b at its end. It costs one addition for every 8 octets.
func (s Sum) Add(b []byte) Sum {
	if s.odd && len(b) > 0 {
		s.addWord(uint64(b[0])) // the low half of the word that the last piece began
		s.odd, b = false, b[1:]
	}
	for ; len(b) >= 32; b = b[32:] {
		// One chain of additions with carry: twice as fast as addWord four times.
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
		// RFC 9293 §3.1: an odd octet at the end counts as if a zero octet followed.
		s.addWord(uint64(b[0]) << 8)
		s.odd = true
	}
	return s
}

// Checksum returns the complement of the sum: what stands in the header, if the header's checksum was zero in the sum,
// and 0 if the segment came with its checksum and is intact.
func (s Sum) Checksum() uint16 {
	v := s.sum>>32 + s.sum&(1<<32-1)
	for v > 0xffff {
		v = v>>16 + v&0xffff
	}
	return ^uint16(v)
}

// segmentChecksum returns the checksum for a segment, header and payload, whose checksum field is zero.
func segmentChecksum(src, dst netip.Addr, segment []byte) uint16 {
	return PseudoHeader(src, dst, len(segment)).Add(segment).Checksum()
}

// SetChecksum computes the checksum of a segment, header and payload, and writes it there, whatever stood there before.
// The segment has at least a header's 20 octets.
func SetChecksum(src, dst netip.Addr, segment []byte) {
	if len(segment) < HeaderLen {
		panic(fmt.Sprintf("BUG: tcp: checksum of a segment of %d octets", len(segment)))
	}
	field := segment[checksumOffset : checksumOffset+2]
	field[0], field[1] = 0, 0
	binary.BigEndian.PutUint16(field, segmentChecksum(src, dst, segment))
}

// ValidChecksum reports whether a segment, header and payload, came with the checksum that it should have.
func ValidChecksum(src, dst netip.Addr, segment []byte) bool {
	// RFC 9293 §3.1: "The TCP checksum is never optional."
	return segmentChecksum(src, dst, segment) == 0
}
