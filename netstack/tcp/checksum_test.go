package tcp

import (
	"math/rand/v2"
	"net/netip"
	"testing"
)

// plainChecksum computes the checksum as RFC 1071 §1 describes it: 16 bits at a time with
// end-around carry.
func plainChecksum(b []byte) uint16 {
	if len(b)%2 != 0 {
		b = append(b[:len(b):len(b)], 0)
	}
	var sum uint32
	for i := 0; i < len(b); i += 2 {
		sum += uint32(b[i])<<8 | uint32(b[i+1])
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// plainPseudoHeader lays the pseudo-header out as RFC 9293 §3.1 and RFC 8200 §8.1 draw it.
func plainPseudoHeader(src, dst netip.Addr, n int) []byte {
	b := append(src.AsSlice(), dst.AsSlice()...)
	if src.Is4() {
		return append(b, 0, 6, byte(n>>8), byte(n))
	}
	return append(b, byte(n>>24), byte(n>>16), byte(n>>8), byte(n), 0, 0, 0, 6)
}

var (
	addr4a = netip.MustParseAddr("192.0.2.1")
	addr4b = netip.MustParseAddr("255.255.255.254")
	addr6a = netip.MustParseAddr("2001:db8::1")
	addr6b = netip.MustParseAddr("ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe")
)

func TestChecksumAgreesWithTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for i := range 5000 {
		src, dst := addr4a, addr4b
		if i%2 == 0 {
			src, dst = addr6a, addr6b
		}
		b := make([]byte, rng.IntN(200))
		for j := range b {
			b[j] = byte(rng.Uint32())
			if i%3 == 0 {
				b[j] = 0xff // many carries
			}
		}
		want := plainChecksum(append(plainPseudoHeader(src, dst, len(b)), b...))
		if got := segmentChecksum(src, dst, b); got != want {
			t.Fatalf("segmentChecksum(%v, %v, %x) = %#04x, want %#04x", src, dst, b, got, want)
		}
		// The pieces may be split anywhere.
		sum := PseudoHeader(src, dst, len(b))
		for rest := b; len(rest) > 0; {
			n := rng.IntN(len(rest) + 1)
			sum, rest = sum.Add(rest[:n]), rest[n:]
		}
		if got := sum.Checksum(); got != want {
			t.Fatalf("checksum of %x in pieces = %#04x, want %#04x", b, got, want)
		}
	}
}

// TestChecksumExample is the example of RFC 1071 §3: these bytes sum to ddf2.
func TestChecksumExample(t *testing.T) {
	b := []byte{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}
	if got := ^(Sum{}).Add(b).Checksum(); got != 0xddf2 {
		t.Errorf("sum of %x = %#04x, want 0xddf2", b, got)
	}
}

func TestSetAndValidChecksum(t *testing.T) {
	// RFC 9293 §3.1: "The TCP checksum is never optional."
	rng := rand.New(rand.NewPCG(6, 6))
	for range 500 {
		h := randomHeader(rng)
		b := append(h.AppendTo(nil), "some payload of odd length."[rng.IntN(20):]...)
		for _, at := range [][2]netip.Addr{{addr4a, addr4b}, {addr6a, addr6b}} {
			SetChecksum(at[0], at[1], b)
			if !ValidChecksum(at[0], at[1], b) {
				t.Fatalf("the checksum of %x is not valid", b)
			}
			bit := rng.IntN(8 * len(b))
			b[bit/8] ^= 1 << (bit % 8)
			if ValidChecksum(at[0], at[1], b) {
				t.Fatalf("the checksum of %x is valid with bit %d flipped", b, bit)
			}
			b[bit/8] ^= 1 << (bit % 8)
		}
	}
}

func TestPseudoHeaderAddresses(t *testing.T) {
	mapped := netip.AddrFrom16(addr4a.As16())
	if PseudoHeader(mapped, addr4b, 20).Checksum() != PseudoHeader(addr4a, addr4b, 20).Checksum() {
		t.Errorf("%v does not count as %v", mapped, addr4a)
	}
	if got, want := PseudoHeader(mapped, addr6a, 20).Checksum(), plainChecksum(plainPseudoHeader(mapped, addr6a, 20)); got != want {
		t.Errorf("from %v to %v: %#04x, want %#04x", mapped, addr6a, got, want)
	}
	defer func() {
		if recover() == nil {
			t.Error("a segment from IPv4 to IPv6 has a pseudo-header, want a panic")
		}
	}()
	PseudoHeader(addr4a, addr6a, 20)
}

func BenchmarkChecksum(b *testing.B) {
	segment := make([]byte, 1460)
	b.SetBytes(int64(len(segment)))
	b.ReportAllocs()
	for b.Loop() {
		segmentChecksum(addr4a, addr4b, segment)
	}
}
