package tun

import (
	"bytes"
	"encoding/binary"
	"testing"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// tunPayload returns n bytes that differ from their neighbours.
func tunPayload(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

// tunTCP returns a TCP packet with timestamps. Its checksum field has only the pseudo-header's sum,
// as with NeedsCsum.
func tunTCP(t *testing.T, v6 bool, flags uint8, payload []byte) []byte {
	t.Helper()
	const tcpLen = 32
	ipLen := header.IPv4MinimumSize
	if v6 {
		ipLen = header.IPv6MinimumSize
	}
	b := make([]byte, ipLen+tcpLen+len(payload))
	if v6 {
		header.IPv6(b).Encode(&header.IPv6Fields{
			PayloadLength: uint16(tcpLen + len(payload)), TransportProtocol: header.TCPProtocolNumber, HopLimit: 64,
			SrcAddr: tcpip.AddrFrom16([16]byte{0: 0xfd, 15: 1}), DstAddr: tcpip.AddrFrom16([16]byte{0: 0xfd, 15: 2}),
		})
	} else {
		ip := header.IPv4(b)
		ip.Encode(&header.IPv4Fields{
			TotalLength: uint16(len(b)), ID: 0xfffe, TTL: 64, Protocol: uint8(header.TCPProtocolNumber),
			SrcAddr: tcpip.AddrFrom4([4]byte{10, 0, 0, 1}), DstAddr: tcpip.AddrFrom4([4]byte{10, 0, 0, 2}),
		})
		ip.SetChecksum(^ip.CalculateChecksum())
	}
	tcp := header.TCP(b[ipLen:])
	tcp.Encode(&header.TCPFields{SrcPort: 1, DstPort: 2, SeqNum: 0xffffff00, AckNum: 9, DataOffset: tcpLen, WindowSize: 99})
	tcp[tcpFlags] = flags
	copy(tcp[20:], []byte{1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8})
	copy(tcp[tcpLen:], payload)
	h, err := parseHeaders(b, len(b))
	if err != nil {
		t.Fatal(err)
	}
	tcp.SetChecksum(pseudoSum(b, &h, len(b)-ipLen))
	return b
}

// tunPacket makes an arrived packet of views of the given sizes and of the bytes that remain.
func tunPacket(b []byte, g stack.GSO, sizes ...int) *stack.PacketBuffer {
	var buf buffer.Buffer
	for _, n := range sizes {
		n = min(n, len(b))
		if n > 0 {
			buf.Append(buffer.NewViewWithData(b[:n]))
		}
		b = b[n:]
	}
	if len(b) > 0 {
		buf.Append(buffer.NewViewWithData(b))
	}
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buf})
	pkt.GSOOptions = g
	return pkt
}

func tunOctets(pkt *stack.PacketBuffer) []byte {
	b := pkt.ToBuffer()
	defer b.Release()
	return b.Flatten()
}

// tunVerify fails the test if a checksum of the packet is wrong.
func tunVerify(t *testing.T, b []byte) headers {
	t.Helper()
	h, err := parseHeaders(b, len(b))
	if err != nil {
		t.Fatal(err)
	}
	if h.total != len(b) {
		t.Fatalf("packet of %d bytes says that it has %d", len(b), h.total)
	}
	buf := buffer.MakeWithData(b)
	defer buf.Release()
	if !verify(&buf, b, &h) {
		t.Fatalf("a checksum of the packet is wrong: % x", b[:h.len])
	}
	return h
}

func TestSplitSuperSegment(t *testing.T) {
	for _, test := range []struct {
		name string
		v6   bool
		n    int
		want []int
	}{
		{"three and a bit", false, 3*1448 + 5, []int{1448, 1448, 1448, 5}},
		{"even", false, 2 * 1448, []int{1448, 1448}},
		{"IPv6", true, 1428 + 1, []int{1428, 1}},
		{"the largest", false, 65535 - 52, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			mss := 1448
			kind := stack.GSOTCPv4
			if test.v6 {
				mss, kind = 1428, stack.GSOTCPv6
			}
			payload := tunPayload(test.n)
			b := tunTCP(t, test.v6, tcpCWR|tcpPSH|tcpFIN|0x10, payload)
			pkt := tunPacket(b, stack.GSO{Type: kind, NeedsCsum: true, CsumOffset: tcpChecksum, MSS: uint16(mss)}, 128, 1999)
			defer pkt.DecRef()
			pkt.Hash = 77

			outs := split(pkt)
			if test.want != nil && len(outs) != len(test.want) {
				t.Fatalf("split into %d packets, want %d", len(outs), len(test.want))
			}
			var got []byte
			for i, out := range outs {
				o := tunOctets(out)
				h := tunVerify(t, o)
				if n := len(o) - h.len; (test.want != nil && n != test.want[i]) || n > mss {
					t.Errorf("packet %d has %d bytes of payload", i, n)
				}
				tcp := header.TCP(o[h.ipLen:])
				if seq, want := tcp.SequenceNumber(), uint32(0xffffff00)+uint32(len(got)); seq != want {
					t.Errorf("packet %d has SEG.SEQ %d, want %d", i, seq, want)
				}
				want := uint8(0x10)
				if i == 0 {
					want |= tcpCWR
				}
				if i == len(outs)-1 {
					want |= tcpPSH | tcpFIN
				}
				if tcp[tcpFlags] != want {
					t.Errorf("packet %d has flags %#x, want %#x", i, tcp[tcpFlags], want)
				}
				if id, want := header.IPv4(o).ID(), uint16(0xfffe+i); !test.v6 && id != want {
					t.Errorf("packet %d has ID %d, want %d", i, id, want)
				}
				if out.Hash != 77 || out.GSOOptions.Type != stack.GSONone {
					t.Errorf("packet %d has hash %d and GSO type %d, want 77 and 0", i, out.Hash, out.GSOOptions.Type)
				}
				got = append(got, o[h.len:]...)
				out.DecRef()
			}
			if !bytes.Equal(got, payload) {
				t.Error("the segments do not add up to the payload")
			}
			if !bytes.Equal(tunOctets(pkt), b) {
				t.Error("the super-segment was changed")
			}
		})
	}
}

// TestSplitCompletesChecksums: split completes the checksum of a single packet as a network card
// does.
func TestSplitCompletesChecksums(t *testing.T) {
	udp := make([]byte, 20+8+5)
	ip := header.IPv4(udp)
	ip.Encode(&header.IPv4Fields{TotalLength: 33, TTL: 64, Protocol: 17,
		SrcAddr: tcpip.AddrFrom4([4]byte{10, 0, 0, 1}), DstAddr: tcpip.AddrFrom4([4]byte{10, 0, 0, 2})})
	ip.SetChecksum(^ip.CalculateChecksum())
	copy(udp[20:], []byte{0, 1, 0, 2, 0, 13, 0, 0, 'h', 'e', 'l', 'l', 'o'})
	h, err := parseHeaders(udp, len(udp))
	if err != nil {
		t.Fatal(err)
	}
	checksum.Put(udp[26:], pseudoSum(udp, &h, 13))
	for _, test := range []struct {
		name string
		b    []byte
		gso  stack.GSO
	}{
		{"TCP", tunTCP(t, false, 0x10, tunPayload(77)), stack.GSO{Type: stack.GSOTCPv4, CsumOffset: tcpChecksum, MSS: 1448}},
		{"TCP without payload", tunTCP(t, true, 0x10, nil), stack.GSO{Type: stack.GSOTCPv6, CsumOffset: tcpChecksum}},
		{"UDP", udp, stack.GSO{Type: stack.GSOTCPv4, CsumOffset: udpChecksum}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.gso.NeedsCsum = true
			pkt := tunPacket(test.b, test.gso, 7, 30)
			defer pkt.DecRef()
			outs := split(pkt)
			defer outs[0].DecRef()
			if len(outs) != 1 {
				t.Fatalf("split into %d packets, want 1", len(outs))
			}
			tunVerify(t, tunOctets(outs[0]))
		})
	}
}

// TestChecksumOfZeroIsAllOnes uses RFC 768: "If the computed checksum is zero, it is transmitted as
// all ones."
func TestChecksumOfZeroIsAllOnes(t *testing.T) {
	for _, test := range []struct {
		transport tcpip.TransportProtocolNumber
		want      uint16
	}{{header.UDPProtocolNumber, 0xffff}, {header.TCPProtocolNumber, 0}} {
		b := make([]byte, 40)
		b[20] = 0xff
		b[21] = 0xff
		h := headers{net: header.IPv4ProtocolNumber, transport: test.transport, ipLen: 20, len: 40}
		complete(b, &h, 6, 0)
		if got := binary.BigEndian.Uint16(b[26:]); got != test.want {
			t.Errorf("protocol %d: checksum %#x, want %#x", test.transport, got, test.want)
		}
	}
}

// TestVerifyFindsAFlippedBit flips each bit of a packet that a checksum covers.
func TestVerifyFindsAFlippedBit(t *testing.T) {
	pkt := tunPacket(tunTCP(t, false, 0x10, tunPayload(9)),
		stack.GSO{Type: stack.GSOTCPv4, NeedsCsum: true, CsumOffset: tcpChecksum, MSS: 1448})
	defer pkt.DecRef()
	outs := split(pkt)
	defer outs[0].DecRef()
	good := tunOctets(outs[0])
	tunVerify(t, good)
	for bit := range 8 * len(good) {
		b := bytes.Clone(good)
		b[bit/8] ^= 0x80 >> (bit % 8)
		h, err := parseHeaders(b, len(b))
		if err != nil || h.transport != header.TCPProtocolNumber || h.total != len(good) {
			continue // detected at once, or no TCP packet any more
		}
		buf := buffer.MakeWithData(b)
		if verify(&buf, b, &h) {
			t.Errorf("bit %d of byte %d flipped, and the checksums are right", bit%8, bit/8)
		}
		buf.Release()
	}
}
