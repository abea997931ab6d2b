package tcp

import "testing"

// TestEffectiveMSSFits checks that no packet exceeds the path MTU, and no segment the peer's MSS,
// unless these are below the minimum.
func TestEffectiveMSSFits(t *testing.T) {
	for mtu := 576; mtu <= 9000; mtu += 13 {
		for peer := MinMSS; peer <= 9000; peer += 97 {
			for options := 0; options <= maxOptionsLen; options += 4 {
				n := effectiveMSS(uint16(peer), mtu, ipv4HeaderLen, options)
				packet := ipv4HeaderLen + HeaderLen + options + n
				if packet > mtu || packet > ipv4HeaderLen+HeaderLen+peer || packet != min(mtu, 40+peer) {
					t.Fatalf("EffectiveMSS(%d, %d, 20, %d) = %d: a packet of %d bytes, want %d", peer, mtu, options, n,
						packet, min(mtu, 40+peer))
				}
			}
		}
	}
}
