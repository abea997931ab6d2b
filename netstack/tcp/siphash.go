package tcp

import (
	"encoding/binary"
	"math/bits"
)

// sipHash24 is SipHash-2-4 of p with the key k0, k1 (Aumasson and Bernstein, INDOCRYPT 2012): a
// pseudorandom function for short inputs. It does not allocate, and takes tens of ns for 40 bytes.
func sipHash24(k0, k1 uint64, p []byte) uint64 {
	s := sipState{
		k0 ^ 0x736f6d6570736575, // "somepseudorandomlygeneratedbytes", big-endian
		k1 ^ 0x646f72616e646f6d,
		k0 ^ 0x6c7967656e657261,
		k1 ^ 0x7465646279746573,
	}
	last := uint64(len(p)) << 56
	for ; len(p) >= 8; p = p[8:] {
		s.compress(binary.LittleEndian.Uint64(p))
	}
	for i, b := range p {
		last |= uint64(b) << (8 * i)
	}
	s.compress(last)
	s.v2 ^= 0xff
	for range 4 {
		s.round()
	}
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3
}

type sipState struct {
	v0, v1, v2, v3 uint64
}

// compress absorbs one word in two rounds.
func (s *sipState) compress(m uint64) {
	s.v3 ^= m
	s.round()
	s.round()
	s.v0 ^= m
}

func (s *sipState) round() {
	v0, v1, v2, v3 := s.v0, s.v1, s.v2, s.v3
	v0 += v1
	v2 += v3
	v1 = bits.RotateLeft64(v1, 13) ^ v0
	v3 = bits.RotateLeft64(v3, 16) ^ v2
	v0 = bits.RotateLeft64(v0, 32)
	v2 += v1
	v0 += v3
	v1 = bits.RotateLeft64(v1, 17) ^ v2
	v3 = bits.RotateLeft64(v3, 21) ^ v0
	v2 = bits.RotateLeft64(v2, 32)
	s.v0, s.v1, s.v2, s.v3 = v0, v1, v2, v3
}
