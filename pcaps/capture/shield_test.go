package capture

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// shielded are all decoders of gopacket that this package calls: for segments, and for Describe.
// Those of what a segment or datagram carries, such as sFlow, are out of reach: NextDecoder ends the
// decoding.
var shielded = []gopacket.LayerType{
	layers.LayerTypeGeneve, layers.LayerTypeGTPv1U, layers.LayerTypeRadioTap, layers.LayerTypeDot11, layers.LayerTypeGRE,
	layers.LayerTypeVXLAN, layers.LayerTypeERSPANII, layers.LayerTypeLLC, layers.LayerTypeSNAP, layers.LayerTypePPP, layers.LayerTypePPPoE,
	layers.LayerTypeMPLS, layers.LayerTypeFDDI,
	layers.LayerTypeEthernet, layers.LayerTypeDot1Q, layers.LayerTypeLoopback, layers.LayerTypeLinuxSLL, layers.LayerTypeIPv4, layers.LayerTypeIPv6,
	layers.LayerTypeICMPv4, layers.LayerTypeICMPv6, layers.LayerTypeUDP, layers.LayerTypeTCP,
}

// TestShield gives each decoder of gopacket 1.1.19 headers made to break it: every length of equal
// bytes, random ones, and headers whose length fields promise more than there is. No panic passes,
// no decoder calls another, and none allocates more than some KB for a header. It is why the
// advisory GHSA-8mcr-459q-5mx2 does not reach this package.
func TestShield(t *testing.T) {
	const most = 16 << 10 // bytes for a header
	for _, kind := range shielded {
		t.Run(kind.String(), func(t *testing.T) {
			h := newHeaders()
			h.reuse(&layers.IPv4{}, &layers.IPv6{}, &layers.UDP{}, &layers.TCP{})
			rng := rand.New(rand.NewPCG(1, uint64(kind)))
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			before, n, decoded := m.TotalAlloc, uint64(0), 0
			try := func(b []byte) {
				if l, err := h.decode(kind, b); err == nil && l != nil {
					decoded++
				}
				n++
			}
			for _, fill := range []byte{0, 1, 0x45, 0x60, 0x7f, 0x80, 0xff} {
				b := make([]byte, 2*viewed)
				for i := range b {
					b[i] = fill
				}
				for size := range 80 {
					try(b[:size])
				}
				try(b)
			}
			for range 20_000 {
				b := make([]byte, rng.IntN(120))
				for i := range b {
					if b[i] = byte(rng.Uint32()); rng.IntN(4) == 0 {
						b[i] = 0xff
					}
				}
				try(b)
			}
			runtime.ReadMemStats(&m)
			if each := (m.TotalAlloc - before) / n; each > most {
				t.Errorf("%d bytes allocated for a header, want at most %d", each, most)
			}
			if decoded == 0 {
				t.Errorf("no header of %d was decoded", n)
			}
		})
	}
}
