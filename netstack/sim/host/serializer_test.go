package host

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
)

func serializerWorld(t *testing.T, a, b string) *World {
	t.Helper()
	w, err := NewWorld(sim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	w.addrs = []netip.Addr{netip.MustParseAddr(a), netip.MustParseAddr(b)}
	return w
}

func serializerDatagram(ipLen uint32) *Datagram {
	d := &Datagram{From: 0, To: 1, Body: Body{
		Header: tcp.Header{SrcPort: 1000, DstPort: 80, Seq: 7, Ack: 9, Flags: tcp.ACK | tcp.PSH, Window: 500,
			Options: tcp.Options{HasTimestamps: true, TSVal: 3, TSEcr: 4}},
		Offset: 1 << 33, Len: 5,
	}}
	d.ECN = sim.ECT0
	d.Size = ipLen + uint32(d.Body.Header.HeaderLen()) + d.Body.Len
	return d
}

func TestSerialize(t *testing.T) {
	for _, test := range []struct {
		a, b  string
		ipLen uint32
	}{{"10.0.0.1", "10.0.0.2", 20}, {"fd00::1", "fd00::2", 40}} {
		w := serializerWorld(t, test.a, test.b)
		d := serializerDatagram(test.ipLen)
		got := w.Serializer().Serialize([]byte("before"), d)[len("before"):]
		if len(got) != int(d.Size) {
			t.Errorf("%s: %d bytes, want Size, %d", test.a, len(got), d.Size)
		}
		segment := got[test.ipLen:]
		if !tcp.ValidChecksum(w.addrs[0], w.addrs[1], segment) {
			t.Errorf("%s: bad TCP checksum in %x", test.a, segment)
		}
		if test.ipLen == ipv4Len && (tcp.Sum{}).Add(got[:ipv4Len]).Checksum() != 0 {
			t.Errorf("bad IP checksum in %x", got[:ipv4Len])
		}
		h, n, err := tcp.ParseHeader(segment)
		h.Checksum = 0
		if err != nil || h != d.Body.Header {
			t.Errorf("%s: header %+v, %v, want %+v", test.a, h, err, d.Body.Header)
		}
		for i, o := range segment[n:] {
			if want := streamByte(d.Body.Offset + uint64(i)); o != want {
				t.Errorf("%s: byte %d is %#x, want %#x", test.a, i, o, want)
			}
		}
	}
}

// effectByHand flips the bit in the packet itself and examines it as a host would.
func effectByHand(w *World, packet []byte, ipv6 bool, bit uint32) flipEffect {
	packet[bit/8] ^= 0x80 >> (bit % 8)
	defer func() { packet[bit/8] ^= 0x80 >> (bit % 8) }()
	src, dst, segment, ecn := w.addrs[0], w.addrs[1], packet[20:], packet[1]&3
	if ipv6 {
		segment, ecn = packet[40:], packet[1]>>4&3
		switch length := int(binary.BigEndian.Uint16(packet[4:])); {
		case packet[0]>>4 != 6, packet[6] != 6, netip.AddrFrom16([16]byte(packet[24:40])) != dst:
			return droppedByIP
		case length != len(segment):
			return droppedByTCP // the pseudo-header has another length
		}
		src = netip.AddrFrom16([16]byte(packet[8:24]))
	} else if (tcp.Sum{}).Add(packet[:20]).Checksum() != 0 {
		return droppedByIP
	}
	switch {
	case !tcp.ValidChecksum(src, dst, segment):
		return droppedByTCP
	case ecn != byte(sim.ECT0):
		return changesECN
	}
	return noEffect
}

func TestHarmOf(t *testing.T) {
	for _, ipv6 := range []bool{false, true} {
		w, ipLen := serializerWorld(t, "10.0.0.1", "10.0.0.2"), uint32(ipv4Len)
		if ipv6 {
			w, ipLen = serializerWorld(t, "fd00::1", "fd00::2"), ipv6Len
		}
		d := serializerDatagram(ipLen)
		packet := w.Serializer().Serialize(nil, d)
		for bit := range 8 * d.Size {
			if got, want := effectOfFlip(ipv6, bit), effectByHand(w, packet, ipv6, bit); got != want {
				t.Errorf("harmOf(%v, %d) = %d, want %d", ipv6, bit, got, want)
			}
		}
	}
}
