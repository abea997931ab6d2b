package tun

import (
	"encoding/binary"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// maxGSO is the size of the largest IP packet whose length fits the length field of either IP
// version.
const maxGSO = 65535

// split returns the packets that a wire carries for pkt: its segments if pkt is a super-segment,
// else pkt itself, with complete checksums. The packets share pkt's payload, have their headers
// set, and belong to the caller. A packet with unreadable headers comes back unchanged.
func split(pkt *stack.PacketBuffer) []*stack.PacketBuffer {
	all := pkt.ToBuffer()
	defer all.Release()
	size := int(all.Size())
	view, ok := all.PullUp(0, min(size, maxHeaders))
	if !ok {
		return []*stack.PacketBuffer{pkt.Clone()}
	}
	b := view.AsSlice()
	h, err := parseHeaders(b, size)
	if err != nil {
		return []*stack.PacketBuffer{pkt.Clone()}
	}
	head := b[:h.len]
	g := &pkt.GSOOptions
	payload := h.total - h.len
	if (g.Type != stack.GSOTCPv4 && g.Type != stack.GSOTCPv6) || g.MSS == 0 || payload <= int(g.MSS) ||
		h.transport != header.TCPProtocolNumber {
		out := wirePacket(pkt, &all, head, &h, 0, payload)
		if g.Type != stack.GSONone && g.NeedsCsum && h.ipLen+int(g.CsumOffset)+2 <= h.len {
			complete(out.head, &h, int(g.CsumOffset), sumFrom(&all, h.len, h.total))
		}
		return []*stack.PacketBuffer{out.pkt}
	}
	mss := int(g.MSS)
	outs := make([]*stack.PacketBuffer, 0, (payload+mss-1)/mss)
	for at := 0; at < payload; at += mss {
		n := min(mss, payload-at)
		out := wirePacket(pkt, &all, head, &h, at, n)
		segmentHeaders(out.head, &h, at, n, len(outs), at+n == payload)
		complete(out.head, &h, tcpChecksum, sumFrom(&all, h.len+at, h.len+at+n))
		outs = append(outs, out.pkt)
	}
	return outs
}

type wired struct {
	pkt  *stack.PacketBuffer
	head []byte // its own headers, writable
}

// wirePacket makes a packet of a copy of head and the payload bytes [at, at+n) of all.
func wirePacket(of *stack.PacketBuffer, all *buffer.Buffer, head []byte, h *headers, at, n int) wired {
	part := all.Clone()
	part.TrimFront(int64(len(head) + at))
	part.Truncate(int64(n))
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{ReserveHeaderBytes: len(head), Payload: part, Mark: of.Mark})
	transport := pkt.TransportHeader().Push(len(head) - h.ipLen)
	network := pkt.NetworkHeader().Push(h.ipLen)
	copy(transport, head[h.ipLen:])
	copy(network, head)
	pkt.NetworkProtocolNumber = h.net
	pkt.TransportProtocolNumber = h.transport
	pkt.Hash, pkt.Owner, pkt.EgressRoute, pkt.PktType = of.Hash, of.Owner, of.EgressRoute, of.PktType
	// NewPacketBuffer put both headers into one slice, in this order.
	return wired{pkt, network[:len(head):len(head)]}
}

// segmentHeaders turns the headers of a super-segment into those of its segment number index, which
// carries n bytes from at on. Of the checksum it computes only the pseudo-header's part.
func segmentHeaders(b []byte, h *headers, at, n, index int, last bool) {
	if h.net == header.IPv4ProtocolNumber {
		ip := header.IPv4(b)
		ip.SetTotalLength(uint16(h.len + n))
		ip.SetID(ip.ID() + uint16(index))
		ip.SetChecksum(0)
		ip.SetChecksum(^checksum.Checksum(ip[:ip.HeaderLength()], 0))
	} else {
		header.IPv6(b).SetPayloadLength(uint16(h.len - header.IPv6MinimumSize + n))
	}
	tcp := b[h.ipLen:]
	binary.BigEndian.PutUint32(tcp[4:], binary.BigEndian.Uint32(tcp[4:])+uint32(at))
	if !last {
		tcp[tcpFlags] &^= tcpFIN | tcpPSH
	}
	if index > 0 {
		// RFC 3168 §6.1.2: only the first segment after the reduction carries CWR
		tcp[tcpFlags] &^= tcpCWR
	}
	checksum.Put(tcp[tcpChecksum:], pseudoSum(b, h, h.len-h.ipLen+n))
}
