package tcp

import (
	"net/netip"
	"testing"
)

func TestBadAddressesAreDiscarded(t *testing.T) {
	// RFC 9293 §3.9.2.3 (MUST-57): "A TCP implementation MUST silently discard an incoming SYN
	// segment that is addressed to a broadcast or multicast address", (MUST-63) and one from such a
	// source.
	for _, addr := range []string{"224.0.0.1", "255.255.255.255", "0.0.0.0", "::ffff:255.255.255.255", "::ffff:224.0.0.1", "ff02::1", "::"} {
		e := newTestEngine(t, nil)
		bad := netip.AddrPortFrom(netip.MustParseAddr(addr), 80)
		for _, all := range []string{"0.0.0.0:80", "[::]:80"} {
			if _, err := e.Listen(netip.MustParseAddrPort(all), ListenConfig{Backlog: 8}); err != nil {
				t.Fatal(err)
			}
		}
		good := engineClient
		if bad.Addr().Is6() {
			good = netip.MustParseAddrPort("[2001:db8::7]:40000")
		}
		for _, p := range []*Packet{
			{Src: good, Dst: bad, Header: Header{Flags: SYN}}, {Src: bad, Dst: netip.AddrPortFrom(good.Addr(), 80), Header: Header{Flags: SYN}},
			{Src: good, Dst: bad, Header: Header{Flags: ACK}},
		} {
			if s, _ := e.Input(0, p); s != nil || len(e.Packets()) != 0 {
				t.Errorf("%v to %v: answered by %q, want silence", p.Src, p.Dst, engineTexts(e))
			}
		}
	}
}
