package tun

import (
	"encoding/binary"
	"math"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

const (
	// RFC 791 §3.2: "Every internet module must be able to forward a datagram of 68 octets"
	minMTU = 68
	maxMTU = 65535
)

// tooBig returns the ICMP error that a router sends for a packet of split larger than mtu, or nil
// if it must send none: for a packet that may be fragmented, for an unreadable one, and for ICMP
// errors. The router has no address of its own; the error comes from the packet's destination.
// Fragmentation is not emulated: such packets are dropped.
func tooBig(pkt *stack.PacketBuffer, mtu int) *stack.PacketBuffer {
	ip := pkt.NetworkHeader().Slice()
	if len(ip) == 0 {
		return nil
	}
	all := pkt.ToView()
	defer all.Release()
	var b []byte
	if pkt.NetworkProtocolNumber == header.IPv4ProtocolNumber {
		b = fragmentationNeeded(all.AsSlice(), len(ip), mtu)
	} else {
		b = packetTooBig(all.AsSlice(), mtu)
	}
	if b == nil {
		return nil
	}
	out := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(b)})
	out.NetworkProtocolNumber = pkt.NetworkProtocolNumber
	return out
}

// fragmentationNeeded makes an error of at most 576 bytes. RFC 1191 §4: the MTU of the next hop is
// "in the low-order 16 bits of the ICMP header field that is labelled 'unused'".
func fragmentationNeeded(b []byte, ipLen, mtu int) []byte {
	const most = 576 - header.IPv4MinimumSize - header.ICMPv4MinimumSize
	ip := header.IPv4(b)
	if ip.Flags()&header.IPv4FlagDontFragment == 0 {
		return nil
	}
	if ip.TransportProtocol() == header.ICMPv4ProtocolNumber && len(b) > ipLen {
		// RFC 1122 §3.2.2: an error "MUST NOT be sent as the result of receiving: an ICMP error message".
		if t := header.ICMPv4Type(b[ipLen]); t != header.ICMPv4Echo && t != header.ICMPv4EchoReply {
			return nil
		}
	}
	quote := b[:min(len(b), most)]
	out := make([]byte, header.IPv4MinimumSize+header.ICMPv4MinimumSize, header.IPv4MinimumSize+header.ICMPv4MinimumSize+len(quote))
	icmp := out[header.IPv4MinimumSize:]
	icmp[0], icmp[1] = byte(header.ICMPv4DstUnreachable), byte(header.ICMPv4FragmentationNeeded)
	binary.BigEndian.PutUint16(icmp[6:], uint16(min(mtu, math.MaxUint16)))
	out = append(out, quote...)
	icmp = out[header.IPv4MinimumSize:]
	checksum.Put(icmp[2:], ^checksum.Checksum(icmp, 0))
	reply := header.IPv4(out)
	reply.Encode(&header.IPv4Fields{
		TotalLength: uint16(len(out)), TTL: 64, Protocol: uint8(header.ICMPv4ProtocolNumber),
		SrcAddr: ip.DestinationAddress(), DstAddr: ip.SourceAddress(),
	})
	reply.SetChecksum(^reply.CalculateChecksum())
	return out
}

// packetTooBig quotes "as much of invoking packet as possible without the ICMPv6 packet exceeding
// the minimum IPv6 MTU" (RFC 4443 §3.2).
func packetTooBig(b []byte, mtu int) []byte {
	const most = header.IPv6MinimumMTU - header.IPv6MinimumSize - header.ICMPv6PacketTooBigMinimumSize
	ip := header.IPv6(b)
	if ip.NextHeader() == uint8(header.ICMPv6ProtocolNumber) && len(b) > header.IPv6MinimumSize && b[header.IPv6MinimumSize] < 128 {
		return nil // RFC 4443 §2.4 (e): not for an ICMPv6 error message
	}
	quote := b[:min(len(b), most)]
	out := make([]byte, header.IPv6MinimumSize+header.ICMPv6PacketTooBigMinimumSize, header.IPv6MinimumMTU)
	out = append(out, quote...)
	icmp := header.ICMPv6(out[header.IPv6MinimumSize:])
	icmp.SetType(header.ICMPv6PacketTooBig)
	icmp.SetMTU(uint32(mtu))
	header.IPv6(out).Encode(&header.IPv6Fields{
		PayloadLength: uint16(len(icmp)), TransportProtocol: header.ICMPv6ProtocolNumber, HopLimit: 64,
		SrcAddr: ip.DestinationAddress(), DstAddr: ip.SourceAddress(),
	})
	icmp.SetChecksum(header.ICMPv6Checksum(header.ICMPv6ChecksumParams{
		Header: icmp, Src: ip.DestinationAddress(), Dst: ip.SourceAddress(),
	}))
	return out
}
