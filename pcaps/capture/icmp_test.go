package capture

import (
	"net/netip"
	"testing"
)

// TestICMPErrors reads the segment that an ICMP error quotes, of both IP versions. Other messages
// are ignored.
func TestICMPErrors(t *testing.T) {
	quote4, quote6 := hello()[:28], hello6()[:48]
	v4 := ICMPError{Number: 1, From: endA, Src: netip.AddrPortFrom(here4, 40000), Dst: netip.AddrPortFrom(there4, 80), Seq: 1000}
	v6 := ICMPError{Number: 1, From: endA6, Src: netip.AddrPortFrom(here6, 40000), Dst: netip.AddrPortFrom(there6, 80), Seq: 1000}
	tooBig := func(e ICMPError, mtu uint32) *ICMPError {
		e.TooBig, e.MTU = true, mtu
		return &e
	}
	message4 := func(kind, code byte, rest ...[]byte) []byte {
		return ip4(1, endA, here4, join([]byte{kind, code, 0, 0}, join(rest...)))
	}
	message6 := func(kind, code byte, rest ...[]byte) []byte {
		return ip6(58, endA6, here6, join([]byte{kind, code, 0, 0}, join(rest...)))
	}
	for _, test := range []struct {
		name string
		data []byte
		want *ICMPError
	}{
		{"fragmentation needed", message4(3, 4, be16(0, 1400), quote4), tooBig(v4, 1400)},
		{"packet too big", message6(2, 0, be16(0, 1280), quote6), tooBig(v6, 1280)},
		{"host unreachable", message4(3, 1, be16(0, 0), quote4), &v4},
		{"port unreachable, with MTU bits", message4(3, 3, be16(0, 1400), quote4), &v4},
		{"time to live exceeded", message4(11, 0, be16(0, 0), quote4), &v4},
		{"no route", message6(1, 0, be16(0, 0), quote6), &v6},
		{"hop limit exceeded", message6(3, 0, be16(0, 0), quote6), &v6},
		{"fragment reassembly time exceeded", message4(11, 1, be16(0, 0), quote4), nil},
		{"the other version's type", message4(1, 0, be16(0, 0), quote4), nil},
		{"the other version's quote", message4(3, 1, be16(0, 0), quote6), nil},
		{"no TCP", message4(3, 1, be16(0, 0), quote4[:9], []byte{17}, quote4[10:]), nil},
		{"IPv4 options cut", message4(3, 1, be16(0, 0), []byte{0x4f}, quote4[1:]), nil},
		{"cut quote", message4(3, 4, be16(0, 1400), quote4[:24]), nil},
		{"echo", message4(1, 0, repeat(0, 4)), nil},
	} {
		var got []ICMPError
		d := &decoder{p: &Packet{}, icmpError: func(e ICMPError) { got = append(got, e) }}
		if why := d.decode(101, &record{number: 1, data: test.data, length: uint32(len(test.data))}); why != ICMP {
			t.Errorf("%s: %v, want %v", test.name, why, ICMP)
		}
		if (test.want != nil) != (len(got) == 1) || test.want != nil && got[0] != *test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}
