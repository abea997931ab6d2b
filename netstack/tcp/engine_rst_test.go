package tcp

import (
	"net/netip"
	"testing"
)

func TestStraySegmentsAreReset(t *testing.T) {
	for _, test := range []struct {
		name string
		in   *Packet
		want string
	}{
		// RFC 9293 §3.10.7.1: "If the ACK bit is off, sequence number zero is used,
		// <SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>"
		{"SYN", engineSegment(SYN, 1000, 0, 0), "R. 0:0 ack 1001"},
		{"SYN with data", engineSegment(SYN, 1000, 0, 100), "R. 0:0 ack 1101"},
		{"FIN without ACK", engineSegment(FIN, 1000, 0, 5), "R. 0:0 ack 1006"},
		{"no flags, numbers at the turn", engineSegment(0, 0xffffffff, 0, 10), "R. 0:0 ack 9"},
		// RFC 9293 §3.10.7.1: "If the ACK bit is on, <SEQ=SEG.ACK><CTL=RST>"
		{"ACK", engineSegment(ACK, 1000, 5000, 0), "R 5000:5000"},
		{"SYN-ACK", engineSegment(SYN|ACK, 1000, 5000, 0), "R 5000:5000"},
		{"data and FIN", engineSegment(FIN|PSH|ACK, 1000, 5000, 10), "R 5000:5000"},
		// RFC 9293 §3.10.7.1: "An incoming segment containing a RST is discarded."
		{"RST", engineSegment(RST, 1000, 0, 0), ""},
		{"RST with ACK", engineSegment(RST|ACK, 1000, 5000, 0), ""},
	} {
		e := newTestEngine(t, nil)
		s, v := e.Input(0, test.in)
		if s != nil || v != (Disposition{}) {
			t.Errorf("%s: taken by %v with %v, want no connection", test.name, s, v)
		}
		if got := engineTexts(e); got != test.want {
			t.Errorf("%s: answered by %q, want %q", test.name, got, test.want)
		}
		c := e.Counters()
		if want := uint64(len(e.Packets())); c.InSegs != 1 || c.OutRsts != want || c.OutSegs != want {
			t.Errorf("%s: InSegs %d, OutRsts %d, OutSegs %d, want 1, %d, %d", test.name, c.InSegs, c.OutRsts, c.OutSegs, want, want)
		}
		for _, p := range e.Packets() {
			if p.Src != engineServer || p.Dst != engineClient || p.Header.SrcPort != 80 || p.Header.DstPort != 40000 || p.Socket != nil {
				t.Errorf("%s: from %v to %v, ports %d to %d, want back to where it came from",
					test.name, p.Src, p.Dst, p.Header.SrcPort, p.Header.DstPort)
			}
		}
		engineCheck(t, e)
	}
}

func TestSegmentsToAListener(t *testing.T) {
	for _, test := range []struct {
		name string
		in   *Packet
		want string
	}{
		// RFC 9293 §3.10.7.2: "An incoming RST should be ignored."
		{"RST", engineSegment(RST, 1000, 0, 0), ""},
		{"RST with SYN", engineSegment(RST|SYN, 1000, 0, 0), ""},
		// RFC 9293 §3.10.7.2: "Any acknowledgment is bad if it arrives on a connection still in the
		// LISTEN state."
		{"ACK", engineSegment(ACK, 1000, 5000, 0), "R 5000:5000"},
		{"SYN-ACK", engineSegment(SYN|ACK, 1000, 5000, 0), "R 5000:5000"},
		{"RST with ACK", engineSegment(RST|ACK, 1000, 5000, 0), ""},
		{"neither SYN, RST nor ACK", engineSegment(FIN|PSH, 1000, 0, 10), ""},
	} {
		e := newTestEngine(t, nil)
		engineListen(t, e, ListenConfig{Backlog: 1})
		if s, _ := e.Input(0, test.in); s != nil {
			t.Errorf("%s: made a connection", test.name)
		}
		if got := engineTexts(e); got != test.want {
			t.Errorf("%s: answered by %q, want %q", test.name, got, test.want)
		}
		engineCheck(t, e)
	}
}

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
