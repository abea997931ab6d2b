package netstack

import (
	"net/netip"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// segment is a segment that has arrived.
type segment struct {
	header tcp.Header
	at     wheel.Time // when it arrived
	len    uint32     // octets of payload
	ce     bool
	pkt    *stack.PacketBuffer // with a reference of the segment's own, nil if its payload is not kept

	// Of a SYN that ended a connection in TIME-WAIT: the least initial sequence number of the answer.
	afterTimeWait bool
	leastISS      tcp.Seq
}

// fault is what is wrong with a packet.
type fault uint8

const (
	faultless fault = iota
	malformed
	badChecksum
)

// parse reads the headers of a packet and checks the checksum, unless the link has. The packet is not kept, and only its headers are
// touched before it may be cloned.
func (s *segment) parse(pkt *stack.PacketBuffer) fault {
	raw := pkt.TransportHeader().Slice()
	h, n, err := tcp.ParseHeader(raw)
	if n == 0 {
		_ = err // an option that is malformed does not matter: n is 0 for everything else
		return malformed
	}
	data := pkt.Data().Size()
	ip := pkt.Network()
	if !pkt.RXChecksumValidated && !header.TCP(raw).IsChecksumValid(ip.SourceAddress(), ip.DestinationAddress(), pkt.Data().Checksum(), uint16(data)) {
		return badChecksum
	}
	tos, _ := ip.TOS()
	s.header, s.len, s.ce = h, uint32(data), tos&3 == 3
	return faultless
}

func (s *segment) inbound() tcp.Inbound {
	return tcp.Inbound{Header: &s.header, Len: s.len, CE: s.ce}
}

// seqLen is SEG.LEN.
func (s *segment) seqLen() uint32 {
	return tcp.Arrival{Seq: s.header.Seq, Len: s.len, SYN: s.header.Flags.Has(tcp.SYN), FIN: s.header.Flags.Has(tcp.FIN)}.SegLen()
}

// release gives the packet back.
func (s *segment) release() {
	if s.pkt != nil {
		s.pkt.DecRef()
		s.pkt = nil
	}
}

// end returns an address and port as the engine has them.
func end(a tcpip.Address, port uint16) netip.AddrPort {
	switch a.BitLen() {
	case header.IPv4AddressSizeBits:
		return netip.AddrPortFrom(netip.AddrFrom4(a.As4()), port)
	case header.IPv6AddressSizeBits:
		return netip.AddrPortFrom(netip.AddrFrom16(a.As16()), port)
	}
	return netip.AddrPort{}
}

// refuse answers a segment that is for no connection.
func (p *protocol) refuse(id stack.TransportEndpointID, s *segment, pkt *stack.PacketBuffer) {
	h := &s.header
	switch {
	case h.Flags.Has(tcp.RST):
		// RFC 9293 §3.10.7.1: "An incoming segment containing a RST is discarded."
	case h.Flags.Has(tcp.ACK):
		// RFC 9293 §3.10.7.1: "If the ACK bit is on, <SEQ=SEG.ACK><CTL=RST>"
		p.answer(pkt, id, tcp.Header{Seq: h.Ack, Flags: tcp.RST}, stack.DefaultTOS)
	default:
		// RFC 9293 §3.10.7.1: "If the ACK bit is off, sequence number zero is used,
		// <SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>"
		p.answer(pkt, id, tcp.Header{Ack: h.Seq.Add(s.seqLen()), Flags: tcp.RST | tcp.ACK}, stack.DefaultTOS)
	}
}

// answer sends a segment of no connection back to where pkt came from, and reports whether it has left.
func (p *protocol) answer(pkt *stack.PacketBuffer, id stack.TransportEndpointID, h tcp.Header, tos uint8) bool {
	r, err := p.stack.FindRoute(pkt.NICID, id.LocalAddress, id.RemoteAddress, pkt.NetworkProtocolNumber, false)
	if err != nil {
		return false
	}
	defer r.Release()
	h.SrcPort, h.DstPort = id.LocalPort, id.RemotePort
	out := stack.NewPacketBuffer(stack.PacketBufferOptions{ReserveHeaderBytes: h.HeaderLen() + int(r.MaxHeaderLength())})
	defer out.DecRef()
	return p.write(r, out, &h, stack.GSO{}, stack.NetworkHeaderParams{Protocol: ProtocolNumber, TTL: r.DefaultTTL(), TOS: tos})
}

// HandlePacket implements stack.TransportEndpoint: a segment arrives. It is stamped here, before it waits for anything.
func (e *Endpoint) HandlePacket(id stack.TransportEndpointID, pkt *stack.PacketBuffer) {
	seg := segment{at: e.p.now()}
	stats := &e.p.stats
	switch seg.parse(pkt) {
	case malformed:
		stats.InvalidSegmentsReceived.Increment()
		e.stats.more().ReceiveErrors.MalformedPacketsReceived.Increment()
		return
	case badChecksum:
		stats.ChecksumErrors.Increment()
		e.stats.more().ReceiveErrors.ChecksumErrors.Increment()
		return
	}
	stats.ValidSegmentsReceived.Increment()
	e.stats.segmentReceived()
	if seg.header.Flags.Has(tcp.RST) {
		stats.ResetsReceived.Increment()
	}
	if l := e.listening(); l != nil {
		e.listenInput(l, id, &seg, pkt)
		return
	}
	if seg.len > 0 || seg.header.Flags.Has(tcp.SYN) {
		seg.pkt = pkt.IncRef()
	}
	e.deliver(&seg)
}

// bulkSegment is how many octets make a segment one of a bulk flow: the link has joined what came together.
const bulkSegment = pieceSize / 2

// deliver hands a segment to the connection. Those of a bulk flow, and the ACKs that let more of it go, are worked off by the crew: others
// wait for what the caller will read next, and what comes meanwhile is acknowledged together.
func (e *Endpoint) deliver(seg *segment) {
	bulk := e.bulk.Load() || e.p.parallel && seg.len >= bulkSegment
	if !bulk && e.work.CompareAndSwap(0, 1) {
		e.run(seg)
		return
	}
	e.inMu.Lock()
	in := e.box()
	// As in gVisor, octets beyond the receive buffer do not wait either.
	full := len(in.segments) >= maxInbox || seg.len > 0 && int64(in.octets) > e.ops.GetReceiveBufferSize()
	if !full {
		in.octets += seg.len
		in.segments = append(in.segments, *seg)
	}
	e.inMu.Unlock()
	if full {
		seg.release()
		e.p.stack.Stats().DroppedPackets.Increment()
		e.stats.more().ReceiveErrors.SegmentQueueDropped.Increment()
		return
	}
	if bulk {
		e.hand()
	} else {
		e.kick()
	}
}
