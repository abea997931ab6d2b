package tun

import (
	"testing"

	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

func TestVnetHeaderOnTheWire(t *testing.T) {
	h := vnetHeader{flags: 1, gsoType: 4, hdrLen: 0x0248, gsoSize: 0x0594, csumStart: 0x0128, csumOffset: 16}
	want := [vnetSize]byte{1, 4, 0x48, 0x02, 0x94, 0x05, 0x28, 0x01, 16, 0}
	var b [vnetSize]byte
	if h.encode(&b); b != want {
		t.Errorf("encode(%+v) = % x, want % x", h, b, want)
	}
	if got := decodeVnet(&b); got != h {
		t.Errorf("decodeVnet(% x) = %+v, want %+v", b, got, h)
	}
}

// TestVnetOfGSOOptions encodes GSOOptions in a header and reads them back.
func TestVnetOfGSOOptions(t *testing.T) {
	csum := stack.GSO{Type: stack.GSOTCPv4, NeedsCsum: true, CsumOffset: 16, L3HdrLen: 20}
	super := csum
	super.MSS = 1448
	v6 := stack.GSO{Type: stack.GSOTCPv6, NeedsCsum: true, CsumOffset: 16, L3HdrLen: 40, MSS: 1428}
	for _, test := range []struct {
		name  string
		v6    bool
		flags uint8
		n     int
		g     stack.GSO
		want  vnetHeader
		back  stack.GSO
	}{
		{"nothing", false, 0x10, 100, stack.GSO{}, vnetHeader{}, stack.GSO{}},
		{"GSO in software", false, 0x10, 1448, stack.GSO{Type: stack.GSOGvisor, MSS: 1448}, vnetHeader{}, stack.GSO{}},
		{"checksum", false, 0x10, 1448, super, vnetHeader{1, 0, 52, 0, 20, 16}, csum},
		{"super-segment", false, 0x10, 1449, super, vnetHeader{1, 1, 52, 1448, 20, 16}, super},
		{"super-segment with CWR", false, 0x90, 1449, super, vnetHeader{1, 0x81, 52, 1448, 20, 16}, super},
		{"super-segment, IPv6", true, 0x10, 60000, v6, vnetHeader{1, 4, 72, 1428, 40, 16}, v6},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := tunTCP(t, test.v6, test.flags, make([]byte, test.n))
			h, err := parseHeaders(b, len(b))
			if err != nil {
				t.Fatal(err)
			}
			v := vnetOf(&test.g, &h, len(b))
			if v != test.want {
				t.Fatalf("vnetOf = %+v, want %+v", v, test.want)
			}
			back, err := v.gso(&h)
			if err != nil || back != test.back {
				t.Errorf("gso = %+v, %v, want %+v", back, err, test.back)
			}
		})
	}
}

func TestVnetThatCannotBeTrue(t *testing.T) {
	b := tunTCP(t, false, 0x10, make([]byte, 3000))
	h, err := parseHeaders(b, len(b))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		v    vnetHeader
	}{
		{"checksum before the transport header", vnetHeader{flags: 1, csumStart: 10, csumOffset: 16}},
		{"checksum in the payload", vnetHeader{flags: 1, csumStart: 20, csumOffset: 31}},
		{"segments of nothing", vnetHeader{flags: 1, gsoType: 1, csumStart: 20, csumOffset: 16}},
		{"the other IP version", vnetHeader{flags: 1, gsoType: 4, gsoSize: 1448, csumStart: 20, csumOffset: 16}},
		{"UDP", vnetHeader{flags: 1, gsoType: 5, gsoSize: 1448, csumStart: 20, csumOffset: 16}},
	} {
		if g, err := test.v.gso(&h); err == nil {
			t.Errorf("%s: gso = %+v, want an error", test.name, g)
		} else {
			t.Logf("%s: %v", test.name, err)
		}
	}
}

func TestParseHeadersBehindExtensions(t *testing.T) {
	tcp := tunTCP(t, true, 0x10, tunPayload(10))[header.IPv6MinimumSize:]
	pack := func(next uint8, ext ...byte) []byte {
		b := make([]byte, header.IPv6MinimumSize, 200)
		header.IPv6(b).Encode(&header.IPv6Fields{PayloadLength: uint16(len(ext) + len(tcp)), HopLimit: 1})
		b[6] = next
		return append(append(b, ext...), tcp...)
	}
	hop := []byte{60, 0, 1, 4, 0, 0, 0, 0} // hop-by-hop, then destination options, then TCP
	dst := []byte{6, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	for _, test := range []struct {
		name      string
		b         []byte
		transport uint32
		ipLen     int
	}{
		{"none", pack(6), 6, 40},
		{"two", pack(0, append(append([]byte(nil), hop...), dst...)...), 6, 40 + 8 + 16},
		{"fragment", pack(44, 6, 0, 0, 0, 0, 0, 0, 1), 0, 40},
		{"longer than the packet", pack(60, 6, 200, 1, 4, 0, 0, 0, 0), 0, 40},
	} {
		h, err := parseHeaders(test.b, len(test.b))
		if err != nil || uint32(h.transport) != test.transport || h.ipLen != test.ipLen {
			t.Errorf("%s: transport %d at %d, %v, want %d at %d", test.name, h.transport, h.ipLen, err, test.transport, test.ipLen)
		}
	}
}

func FuzzParseHeaders(f *testing.F) {
	f.Add([]byte{1, 1, 52, 0, 10, 0, 20, 0, 16, 0}, []byte{0x45, 0, 0, 40})
	f.Add([]byte{1, 4, 72, 0, 10, 0, 40, 0, 16, 0}, append([]byte{0x60, 0, 0, 0, 0, 40, 0}, make([]byte, 80)...))
	whole := append([]byte{0x45, 0, 0, 60, 0, 0, 0x40, 0, 1, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2}, make([]byte, 40)...)
	whole[32] = 0x50 // five words of TCP header
	f.Add(make([]byte, vnetSize), whole)
	f.Fuzz(func(t *testing.T, vnet, b []byte) {
		h, err := parseHeaders(b, len(b))
		if err != nil {
			return
		}
		if h.ipLen > h.len || h.len > h.total || h.total > len(b) {
			t.Fatalf("parseHeaders(% x) = %+v", b, h)
		}
		if len(vnet) < vnetSize {
			return
		}
		v := decodeVnet((*[vnetSize]byte)(vnet))
		g, err := v.gso(&h)
		if err != nil {
			return
		}
		pkt := tunPacket(b, g, 60)
		defer pkt.DecRef()
		n := 0
		for _, out := range split(pkt) {
			n += len(tunOctets(out)) - h.len
			if report := tooBig(out, minMTU); report != nil {
				report.DecRef()
			}
			out.DecRef()
		}
		if h.len <= maxHeaders && n != h.total-h.len {
			t.Fatalf("%d bytes of payload were split into %d", h.total-h.len, n)
		}
	})
}
