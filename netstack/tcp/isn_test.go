package tcp

import (
	"math"
	"math/bits"
	"net/netip"
	"testing"
	"time"

	"tcpwheel/wheel"
)

var (
	secret = NewSecret([16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
	server = netip.MustParseAddrPort("192.0.2.1:80")
	client = netip.MustParseAddrPort("198.51.100.7:40000")
)

// otherEnds are all pairs that differ from server and client in one respect.
func otherEnds() [][2]netip.AddrPort {
	return [][2]netip.AddrPort{
		{netip.MustParseAddrPort("192.0.2.2:80"), client},
		{netip.MustParseAddrPort("192.0.2.1:81"), client},
		{server, netip.MustParseAddrPort("198.51.100.8:40000")},
		{server, netip.MustParseAddrPort("198.51.100.7:40001")},
		{client, server},
		{netip.MustParseAddrPort("[2001:db8::1]:80"), netip.MustParseAddrPort("[2001:db8::2]:40000")},
	}
}

func TestISNFollowsTheClock(t *testing.T) {
	// RFC 9293 §3.4.1: "ISN = M + F(localip, localport, remoteip, remoteport, secretkey)", where M
	// ticks every 64 ns.
	first := secret.ISN(0, server, client)
	for now, want := range map[wheel.Time]uint32{
		63: 0, 64: 1, 127: 1, 128: 2, wheel.Time(time.Second): 15_625_000,
		-1: 1<<32 - 1, -64: 1<<32 - 1, -65: 1<<32 - 2,
		64 << 32: 0, // after 275 s the numbers wrap
	} {
		if got := uint32(secret.ISN(now, server, client) - first); got != want {
			t.Errorf("ISN at %v is that at 0 plus %d, want %d", now, got, want)
		}
	}
	for now, want := range map[wheel.Time]int64{math.MaxInt64: (1<<63 - 1) / 64, math.MinInt64: -1 << 63 / 64} {
		if got := secret.ISN(now, server, client) - first; got != Seq(want) {
			t.Errorf("ISN at %d is that at 0 plus %d, want %d", now, got, Seq(want))
		}
	}
}

func TestISNDependsOnEachArgument(t *testing.T) {
	isns, offsets := map[Seq]bool{}, map[uint32]bool{}
	add := func(s Secret, l, r netip.AddrPort) {
		isns[s.ISN(0, l, r)], offsets[s.TimestampOffset(l, r)] = true, true
	}
	add(secret, server, client)
	for _, ends := range otherEnds() {
		add(secret, ends[0], ends[1])
	}
	for i := range 16 {
		key := [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
		key[i] ^= 0x80
		add(NewSecret(key), server, client)
	}
	if want := 1 + 6 + 16; len(isns) != want || len(offsets) != want {
		t.Errorf("%d different ISNs and %d offsets, want %d", len(isns), len(offsets), want)
	}
	// RFC 7323 §5.4: "The same function with a different secret key can be used to generate the
	// per-connection timestamp offset." One reveals nothing about the other.
	if uint32(secret.ISN(0, server, client)) == secret.TimestampOffset(server, client) {
		t.Error("ISN and timestamp offset are the same")
	}
	mapped := netip.AddrPortFrom(netip.AddrFrom16(server.Addr().As16()), server.Port())
	if secret.ISN(0, mapped, client) != secret.ISN(0, server, client) {
		t.Errorf("%v and %v have different ISNs", mapped, server)
	}
}

// TestISNBits checks that flipping one bit of a port flips each bit of the ISN half the time.
func TestISNBits(t *testing.T) {
	const trials = 4096
	var turned [32]int
	for port := range uint16(trials) {
		a := secret.ISN(0, server, netip.AddrPortFrom(client.Addr(), port))
		b := secret.ISN(0, server, netip.AddrPortFrom(client.Addr(), port^0x8000))
		for d := uint32(a ^ b); d != 0; d &= d - 1 {
			turned[bits.TrailingZeros32(d)]++
		}
	}
	for bit, n := range turned {
		if n < trials/2-5*32 || n > trials/2+5*32 { // 5 standard deviations of √(4096/4)
			t.Errorf("bit %d of the ISN turned in %d of %d cases, want about half", bit, n, trials)
		}
	}
}

func BenchmarkISN(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		secret.ISN(0, server, client)
	}
}
