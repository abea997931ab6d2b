package netstack

import (
	"net/netip"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// segment is a received segment.
type segment struct {
	header  tcp.Header
	arrived wheel.Time // arrival time
	len     uint32     // payload bytes
	ce      bool
	pkt     *stack.PacketBuffer // owns a reference; nil if the payload is not kept

	leastISS      tcp.Seq // of a SYN that ended TIME-WAIT: the lower bound of the answer's ISS
	refusedReopen bool    // of a SYN for which TIME-WAIT does not end: no listener takes it
}

// fault says what is wrong with a packet.
type fault uint8

const (
	noFault fault = iota
	malformed
	badChecksum
)

// parse reads the packet's headers and checks the checksum, unless the link has checked it. It does
// not keep the packet, and touches only headers: clones may share the payload.
func (s *segment) parse(pkt *stack.PacketBuffer) fault {
	raw := pkt.TransportHeader().Slice()
	h, n, err := tcp.ParseHeader(raw)
	if n == 0 {
		// A malformed option does not matter; n is 0 for every other error.
		_ = err
		return malformed
	}
	data := pkt.Data().Size()
	ip := pkt.Network()
	if !pkt.RXChecksumValidated && !header.TCP(raw).IsChecksumValid(ip.SourceAddress(), ip.DestinationAddress(), pkt.Data().Checksum(), uint16(data)) {
		return badChecksum
	}
	tos, _ := ip.TOS()
	s.header, s.len, s.ce = h, uint32(data), tos&3 == 3
	return noFault
}

func (s *segment) inbound() tcp.Inbound {
	return tcp.Inbound{Header: &s.header, Len: s.len, CE: s.ce}
}

// isSYN reports whether the segment is a SYN without ACK and RST.
func (s *segment) isSYN() bool {
	return s.header.Flags&(tcp.SYN|tcp.ACK|tcp.RST) == tcp.SYN
}

// release releases the packet.
func (s *segment) release() {
	if s.pkt != nil {
		s.pkt.DecRef()
		s.pkt = nil
	}
}

// addrPort converts an address and a port to the engine's type.
func addrPort(a tcpip.Address, port uint16) netip.AddrPort {
	switch a.BitLen() {
	case header.IPv4AddressSizeBits:
		return netip.AddrPortFrom(netip.AddrFrom4(a.As4()), port)
	case header.IPv6AddressSizeBits:
		return netip.AddrPortFrom(netip.AddrFrom16(a.As16()), port)
	}
	return netip.AddrPort{}
}

// resetStray answers a segment that belongs to no connection.
func (p *protocol) resetStray(nic tcpip.NICID, net tcpip.NetworkProtocolNumber, id stack.TransportEndpointID, s *segment) {
	in := s.inbound()
	if rst, ok := tcp.StrayReset(&in); ok {
		p.count(func(c *tcp.Counters) { c.OutRsts++ })
		p.reply(nic, net, id, rst, stack.NetworkHeaderParams{TOS: stack.DefaultTOS})
	}
}

// reply sends a segment that no connection counts, and reports success: see send.
func (p *protocol) reply(nic tcpip.NICID, net tcpip.NetworkProtocolNumber, id stack.TransportEndpointID, h tcp.Header, ip stack.NetworkHeaderParams) bool {
	p.count(func(c *tcp.Counters) { c.OutSegs++ })
	return p.send(nic, net, id, h, ip)
}

// send sends a segment that no endpoint sends, and reports success. nic is 0 or the NIC to send
// from. ip has all but the protocol; a TTL of 0 is the route's default.
func (p *protocol) send(nic tcpip.NICID, net tcpip.NetworkProtocolNumber, id stack.TransportEndpointID, h tcp.Header, ip stack.NetworkHeaderParams) bool {
	r, err := p.stack.FindRoute(nic, id.LocalAddress, id.RemoteAddress, net, false)
	if err != nil {
		return false
	}
	defer r.Release()
	h.SrcPort, h.DstPort = id.LocalPort, id.RemotePort
	out := stack.NewPacketBuffer(stack.PacketBufferOptions{ReserveHeaderBytes: h.HeaderLen() + int(r.MaxHeaderLength()) + header.IPv6ExperimentHdrLength})
	defer out.DecRef()
	if ip.Protocol = ProtocolNumber; ip.TTL == 0 {
		ip.TTL = r.DefaultTTL()
	}
	return p.write(r, out, &h, stack.GSO{}, ip)
}

// HandlePacket implements stack.TransportEndpoint. It takes the segment's arrival time before any
// lock.
func (e *Endpoint) HandlePacket(id stack.TransportEndpointID, pkt *stack.PacketBuffer) {
	seg := segment{arrived: e.p.now()}
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
	e.p.countReceived(&seg)
	if l := e.listening(); l != nil {
		if e.p.timeWaits.input(&id, &seg, seg.isSYN() && l.hasRoom()) {
			return
		}
		e.stats.segmentReceived()
		l.input(id, &seg, pkt)
		return
	}
	e.stats.segmentReceived()
	if seg.len > 0 || seg.header.Flags.Has(tcp.SYN) {
		seg.pkt = pkt.IncRef()
	}
	e.deliver(&seg)
}

// bulkSegment is the payload, in bytes, from which on a segment counts as part of a bulk flow: the
// link has joined several.
const bulkSegment = pieceSize / 2

// deliver hands a segment to the connection. The worker pool processes segments of bulk flows, and
// the ACKs that release more of them: other connections wait for the caller's next packet, and
// segments that arrive meanwhile are acknowledged together.
func (e *Endpoint) deliver(seg *segment) {
	bulk := e.bulk.Load() || e.p.parallel && seg.len >= bulkSegment
	if !bulk && e.work.CompareAndSwap(0, 1) {
		if e.run(seg) {
			e.p.workers.add(e)
		}
		return
	}
	e.inboxMu.Lock()
	in := e.lockedInbox()
	// As in gVisor, waiting payload is limited to the receive buffer.
	full := len(in.segments) >= maxInboxSegments || seg.len > 0 && int64(in.bytes) > e.ops.GetReceiveBufferSize()
	if !full {
		in.bytes += seg.len
		in.segments = append(in.segments, *seg)
	}
	e.inboxMu.Unlock()
	if full {
		seg.release()
		e.p.stack.Stats().DroppedPackets.Increment()
		e.stats.more().ReceiveErrors.SegmentQueueDropped.Increment()
		return
	}
	if bulk {
		e.kickAsync()
	} else {
		e.kick()
	}
}
