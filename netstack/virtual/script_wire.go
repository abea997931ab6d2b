package virtual

import (
	"fmt"
	"net/netip"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/sim/script"
	"tcpwheel/netstack/tcp"
)

// pattern returns the byte at a position of a stream.
func pattern(at uint32) byte { return byte(at * 2654435761 >> 24) }

// fill fills b with the pattern from a position on.
func fill(b []byte, at uint32) {
	for i := range b {
		b[i] = pattern(at + uint32(i))
	}
}

// hasPattern reports whether b has the pattern from a position on.
func hasPattern(b []byte, at uint32) bool {
	for i := range b {
		if b[i] != pattern(at+uint32(i)) {
			return false
		}
	}
	return true
}

func (h *scriptHost) Input(a *script.Arrival) {
	f := h.flow(a.Dst, a.Src)
	raw := make([]byte, len(a.Header)+int(a.Len))
	copy(raw, a.Header)
	seg := header.TCP(raw)
	data := raw[len(a.Header):]
	first := seg.SequenceNumber()
	if seg.Flags().Contains(header.TCPFlagSyn) {
		f.received = append(f.received, tcp.Seq(first))
		first++
	}
	fill(data, first)
	src, dst := address(a.Src.Addr()), address(a.Dst.Addr())
	sum := header.PseudoHeaderChecksum(header.TCPProtocolNumber, src, dst, uint16(len(raw)))
	seg.SetChecksum(^checksum.Checksum(raw, sum))
	tos := uint8(0)
	if a.CE {
		tos = 3 // RFC 3168 §5
	}
	h.inject(src, dst, uint8(header.TCPProtocolNumber), tos, raw)
	h.refresh(a.Dst, a.Src)
}

// inject delivers an IP packet to the stack.
func (h *scriptHost) inject(src, dst tcpip.Address, protocol, tos uint8, payload []byte) {
	var b []byte
	if h.net == header.IPv6ProtocolNumber {
		b = make([]byte, header.IPv6MinimumSize, header.IPv6MinimumSize+len(payload))
		header.IPv6(b).Encode(&header.IPv6Fields{
			TrafficClass: tos, PayloadLength: uint16(len(payload)), TransportProtocol: tcpip.TransportProtocolNumber(protocol),
			HopLimit: 64, SrcAddr: src, DstAddr: dst,
		})
	} else {
		b = make([]byte, header.IPv4MinimumSize, header.IPv4MinimumSize+len(payload))
		h4 := header.IPv4(b)
		h4.Encode(&header.IPv4Fields{
			TOS: tos, TotalLength: uint16(len(b) + len(payload)), TTL: 64, Protocol: protocol, SrcAddr: src, DstAddr: dst,
		})
		h4.SetChecksum(^h4.CalculateChecksum())
	}
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(append(b, payload...))})
	h.link.InjectInbound(h.net, pkt)
	pkt.DecRef()
}

func (h *scriptHost) Packets() (all []tcp.Packet) {
	for pkt := h.link.Read(); pkt != nil; pkt = h.link.Read() {
		view := pkt.ToView()
		if p, ok := h.parse(view.AsSlice()); ok {
			all = append(all, p)
		}
		view.Release()
		pkt.DecRef()
	}
	return all
}

// parse reads a packet of the stack. It checks its checksum and its data. ok is false if it is not
// a segment.
func (h *scriptHost) parse(b []byte) (p tcp.Packet, ok bool) {
	var (
		src, dst tcpip.Address
		raw      []byte
		tos      uint8
		protocol tcpip.TransportProtocolNumber
	)
	if h.net == header.IPv6ProtocolNumber {
		ip := header.IPv6(b)
		src, dst, raw, protocol = ip.SourceAddress(), ip.DestinationAddress(), ip.Payload(), tcpip.TransportProtocolNumber(ip.NextHeader())
		tos, _ = ip.TOS()
	} else {
		ip := header.IPv4(b)
		src, dst, raw, protocol = ip.SourceAddress(), ip.DestinationAddress(), ip.Payload(), ip.TransportProtocol()
		tos, _ = ip.TOS()
	}
	if protocol != header.TCPProtocolNumber {
		return p, false
	}
	hdr, n, err := tcp.ParseHeader(raw)
	if err != nil {
		h.fail("a packet cannot be parsed: %v", err)
		return p, false
	}
	if sum := header.PseudoHeaderChecksum(header.TCPProtocolNumber, src, dst, uint16(len(raw))); checksum.Checksum(raw, sum) != 0xffff {
		h.fail("a packet has a wrong checksum")
	}
	p = tcp.Packet{
		Src: addrPort(src, hdr.SrcPort), Dst: addrPort(dst, hdr.DstPort), Header: hdr, Len: uint32(len(raw) - n), ECT: tos&3 == 2,
	}
	f := h.flow(p.Src, p.Dst)
	if hdr.Flags.Has(tcp.SYN) {
		f.sent = append(f.sent, hdr.Seq)
	}
	h.checkData("a packet", f.sent, raw[n:], func(syn tcp.Seq) uint32 { return uint32(hdr.Seq - syn - 1) })
	return p, true
}

func addrPort(a tcpip.Address, port uint16) netip.AddrPort {
	ip, _ := netip.AddrFromSlice(a.AsSlice())
	return netip.AddrPortFrom(ip, port)
}

// checkData checks that data has the pattern at the position that follows from one of the SYNs.
func (h *scriptHost) checkData(what string, syns []tcp.Seq, data []byte, at func(syn tcp.Seq) uint32) {
	for _, syn := range syns {
		if hasPattern(data, at(syn)) {
			return
		}
	}
	if len(data) > 0 {
		h.fail("%s has %d bytes that are not those of its position", what, len(data))
	}
}

func (h *scriptHost) fail(format string, args ...any) {
	if h.fault == nil {
		h.fault = fmt.Errorf(format, args...)
	}
}

// icmpTypes are type and code of messages, for both IP versions.
var icmpTypes = [...]struct{ type4, code4, type6, code6 uint8 }{
	tcp.ICMPNetUnreachable:      {3, 0, 1, 0},
	tcp.ICMPHostUnreachable:     {3, 1, 1, 3},
	tcp.ICMPProtocolUnreachable: {3, 2, 4, 1},
	tcp.ICMPPortUnreachable:     {3, 3, 1, 4},
	tcp.ICMPProhibited:          {3, 13, 1, 1},
	tcp.ICMPTooBig:              {3, 4, 2, 0},
	tcp.ICMPTimeExceeded:        {11, 0, 3, 0},
	tcp.ICMPParameterProblem:    {12, 0, 4, 0},
	tcp.ICMPSourceQuench:        {4, 0, 4, 0},
}

// ICMP implements script.Host. The message comes from the remote end and quotes the header of the
// segment.
func (h *scriptHost) ICMP(local, remote netip.AddrPort, m tcp.ICMPError) {
	t := icmpTypes[m.Kind]
	src, dst := address(local.Addr()), address(remote.Addr())
	quoted := make([]byte, header.TCPMinimumSize)
	header.TCP(quoted).Encode(&header.TCPFields{
		SrcPort: local.Port(), DstPort: remote.Port(), SeqNum: uint32(m.Seq), DataOffset: header.TCPMinimumSize, Flags: header.TCPFlagAck,
	})
	if h.net == header.IPv6ProtocolNumber {
		b := make([]byte, header.ICMPv6MinimumSize+header.IPv6MinimumSize)
		header.IPv6(b[header.ICMPv6MinimumSize:]).Encode(&header.IPv6Fields{
			PayloadLength: uint16(len(quoted)), TransportProtocol: header.TCPProtocolNumber, HopLimit: 64, SrcAddr: src, DstAddr: dst,
		})
		b = append(b, quoted...)
		icmp := header.ICMPv6(b)
		icmp.SetType(header.ICMPv6Type(t.type6))
		icmp.SetCode(header.ICMPv6Code(t.code6))
		icmp.SetMTU(m.MTU)
		icmp.SetChecksum(header.ICMPv6Checksum(header.ICMPv6ChecksumParams{Header: icmp, Src: dst, Dst: src}))
		h.inject(dst, src, uint8(header.ICMPv6ProtocolNumber), 0, b)
		return
	}
	b := make([]byte, header.ICMPv4MinimumSize+header.IPv4MinimumSize)
	ip := header.IPv4(b[header.ICMPv4MinimumSize:])
	ip.Encode(&header.IPv4Fields{
		TotalLength: uint16(header.IPv4MinimumSize + len(quoted)), TTL: 64, Protocol: uint8(header.TCPProtocolNumber), SrcAddr: src, DstAddr: dst,
	})
	ip.SetChecksum(^ip.CalculateChecksum())
	b = append(b, quoted...)
	icmp := header.ICMPv4(b)
	icmp.SetType(header.ICMPv4Type(t.type4))
	icmp.SetCode(header.ICMPv4Code(t.code4))
	icmp.SetMTU(uint16(m.MTU))
	icmp.SetChecksum(header.ICMPv4Checksum(icmp, 0))
	h.inject(dst, src, uint8(header.ICMPv4ProtocolNumber), 0, b)
}
