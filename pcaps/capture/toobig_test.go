package capture

import (
	"net/netip"
	"testing"
)

// TestTooBig reads the segment that an ICMP error quotes, of both IP versions, and ignores other
// errors.
func TestTooBig(t *testing.T) {
	quote4, quote6 := hello()[:28], hello6()[:48]
	for _, test := range []struct {
		name string
		data []byte
		want TooBig
		ok   bool
	}{
		{"fragmentation needed", ip4(1, endA, here4, join([]byte{3, 4, 0, 0}, be16(0, 1400), quote4)),
			TooBig{Number: 1, Src: netip.AddrPortFrom(here4, 40000), Dst: netip.AddrPortFrom(there4, 80), Seq: 1000, MTU: 1400}, true},
		{"packet too big", ip6(58, endA6, here6, join([]byte{2, 0, 0, 0}, be16(0, 1280), quote6)),
			TooBig{Number: 1, Src: netip.AddrPortFrom(here6, 40000), Dst: netip.AddrPortFrom(there6, 80), Seq: 1000, MTU: 1280}, true},
		{"host unreachable", ip4(1, endA, here4, join([]byte{3, 1, 0, 0}, be16(0, 0), quote4)), TooBig{}, false},
		{"cut quote", ip4(1, endA, here4, join([]byte{3, 4, 0, 0}, be16(0, 1400), quote4[:24])), TooBig{}, false},
		{"echo", ip4(1, endA, here4, repeat(0, 8)), TooBig{}, false},
	} {
		var got []TooBig
		d := &decoder{p: &Packet{}, tooBig: func(e TooBig) { got = append(got, e) }}
		if why := d.decode(101, &record{number: 1, data: test.data, length: uint32(len(test.data))}); why != ICMP {
			t.Errorf("%s: %v, want %v", test.name, why, ICMP)
		}
		if test.ok != (len(got) == 1) || test.ok && got[0] != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}
