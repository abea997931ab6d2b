package tcp

import "testing"

func TestEffectiveMSS(t *testing.T) {
	ts := Options{HasTimestamps: true}
	sack := Options{HasTimestamps: true, NumSACK: 3}
	for _, tt := range []struct {
		name                         string
		peer                         uint16
		mtu, ipHeader, options, want int
	}{
		{"Ethernet, IPv4", 1460, 1500, ipv4HeaderLen, 0, 1460},
		{"Ethernet, IPv6", 1440, 1500, ipv6HeaderLen, 0, 1440},
		{"the peer's link is narrower", 536, 1500, ipv4HeaderLen, 0, 536},
		{"the path is narrower", 8960, 1400, ipv4HeaderLen, 0, 1360},
		// RFC 9293 §3.7.1: options reduce the data of the segments that have them, and of no
		// others.
		{"timestamps", 1460, 1500, ipv4HeaderLen, ts.encodedLen(), 1448},
		{"timestamps and three blocks", 1460, 1500, ipv4HeaderLen, sack.encodedLen(), 1420},
		{"a narrow peer's options come off too", 536, 1500, ipv4HeaderLen, ts.encodedLen(), 524},
		{"IP options of 8 bytes", 1460, 1500, ipv4HeaderLen, ts.encodedLen() + 8, 1440},
		{"64 is as small as it says", 64, 1500, ipv4HeaderLen, ts.encodedLen(), 52},
		{"peer that announces 1", 1, 1500, ipv4HeaderLen, 0, MinMSS},
		{"peer that announces 0", 0, 1500, ipv4HeaderLen, maxOptionsLen, 8},
		{"no path", 1460, 0, ipv6HeaderLen, maxOptionsLen, 8},
		{"more options than there are", 0, 0, ipv6HeaderLen, 100, 1},
		{"loopback", 65495, 65536, ipv4HeaderLen, ts.encodedLen(), 65483},
	} {
		if got := effectiveMSS(tt.peer, tt.mtu, tt.ipHeader, tt.options); got != tt.want {
			t.Errorf("%s: EffectiveMSS(%d, %d, %d, %d) = %d, want %d", tt.name, tt.peer, tt.mtu, tt.ipHeader, tt.options, got, tt.want)
		}
	}
}

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

func TestDefaultAndAdvertisedMSS(t *testing.T) {
	// RFC 9293 §3.7.1: without an MSS Option it is 536 for IPv4 and 1220 for IPv6 (MUST-15).
	if defaultMSS(false) != 536 || defaultMSS(true) != 1220 {
		t.Errorf("DefaultMSS = %d, %d, want 536, 1220", defaultMSS(false), defaultMSS(true))
	}
	for _, tt := range []struct {
		mtu, ipHeader int
		want          uint16
	}{
		{1500, ipv4HeaderLen, 1460}, {1500, ipv6HeaderLen, 1440}, {9000, ipv4HeaderLen, 8960},
		{65536, ipv4HeaderLen, 65496}, {1 << 20, ipv6HeaderLen, 65535}, {68, ipv4HeaderLen, MinMSS}, {0, ipv4HeaderLen, MinMSS},
	} {
		if got := advertisedMSS(tt.mtu, tt.ipHeader); got != tt.want {
			t.Errorf("AdvertisedMSS(%d, %d) = %d, want %d", tt.mtu, tt.ipHeader, got, tt.want)
		}
	}
}
