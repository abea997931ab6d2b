package netstack

import (
	"math"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/tcp"
)

// packet is what leaves in one piece: a segment, or several that follow each other, for the link to cut.
type packet struct {
	first   int    // among the output's segments
	mss     uint32 // the octets of each segment but the last
	payload buffer.Buffer
}

// way is what packets need beside the route.
type way struct {
	id       stack.TransportEndpointID
	ttl, tos uint8
	df       bool
	mark     uint32
	gso      stack.GSO
	owner    tcpip.PacketOwner

	rcvUsed, rcvSize int // octets in the receive buffer, and that it has room for
}

// way returns what the next packets need.
func (e *Endpoint) way() way {
	w := way{id: e.info.ID, tos: e.opts.tos, df: e.opts.setsDF(), mark: e.ops.GetMark(), gso: e.gso(), owner: e.opts.owner}
	w.rcvUsed, w.rcvSize = e.rcvUsed, int(e.ops.GetReceiveBufferSize())
	if r := e.route; r != nil {
		w.ttl = e.opts.timeToLive(r)
	}
	return w
}

// setRoute gives the connection a route, whose reference it takes.
func (e *Endpoint) setRoute(r *stack.Route) {
	e.route = r
	if r.HasHostGSOCapability() {
		e.gsoMax = r.GSOMaxSize()
	}
}

// gso returns what the link is to do with packets, but for the length of their segments.
func (e *Endpoint) gso() (g stack.GSO) {
	if e.gsoMax == 0 || e.route == nil {
		return g
	}
	g = stack.GSO{
		Type: stack.GSOTCPv4, L3HdrLen: header.IPv4MinimumSize,
		NeedsCsum: true, CsumOffset: header.TCPChecksumOffset, MaxSize: e.gsoMax,
	}
	if isIPv6(e.route) {
		g.Type, g.L3HdrLen = stack.GSOTCPv6, header.IPv6MinimumSize
	}
	return g
}

// path is what the engine has to know of the route.
func (e *Endpoint) path() tcp.Path {
	// The stack's MTU is without IP's header.
	const most = 1 << 16
	if isIPv6(e.route) {
		return tcp.Path{MTU: int(min(e.route.MTU()+header.IPv6MinimumSize, most)), IPv6: true}
	}
	return tcp.Path{MTU: int(min(e.route.MTU()+header.IPv4MinimumSize, most))}
}

// mostInOne is how many octets of payload the link takes in one packet of several segments, 0 if it takes none such.
func (e *Endpoint) mostInOne() uint32 {
	if e.gsoMax == 0 {
		return 0
	}
	const headers = header.IPv6MinimumSize + tcp.MaxHeaderLen
	return min(e.gsoMax, math.MaxUint16) - headers
}

// gather takes the payloads of what is to be sent out of the send queue, and joins segments that the link can cut. Of ACKs that follow
// each other, as when a pass has taken many segments in, only the last leaves.
func (e *Endpoint) gather(p *pass) {
	p.packets = p.packets[:0]
	segs := p.out.Segments
	if len(segs) > 0 {
		if h := &segs[len(segs)-1].Header; h.Flags&(tcp.ACK|tcp.RST) == tcp.ACK {
			e.last = lastSent{ack: h.Ack, recent: h.Options.TSEcr, stamped: h.Options.HasTimestamps}
			e.last.nxt = h.Seq.Add(tcp.Arrival{Len: segs[len(segs)-1].Len, SYN: h.Flags.Has(tcp.SYN), FIN: h.Flags.Has(tcp.FIN)}.SegLen())
		}
	}
	most := e.mostInOne()
	for i := 0; i < len(segs); {
		s := &segs[i]
		if i+1 < len(segs) && len(p.causes) == 0 && superseded(s, &segs[i+1]) {
			// RFC 7323 §4.3: an ACK of several segments echoes the timestamp of the earliest.
			segs[i+1].Header.Options.TSEcr = s.Header.Options.TSEcr
			p.out.Counters.OutSegs--
			i++
			continue
		}
		mss, n, j := cut(s), s.Len, i+1
		for s.Len > 0 && j < len(segs) && n+segs[j].Len <= most && n%mss == 0 && follows(s, &segs[j-1], &segs[j]) {
			n += segs[j].Len
			j++
		}
		pk := packet{first: i, mss: mss}
		if n > 0 {
			pk.payload = e.snd.window(s.Offset, n)
		}
		last := &segs[j-1]
		if j > i+1 {
			s.Header.Flags |= last.Header.Flags & (tcp.PSH | tcp.FIN)
		}
		p.packets = append(p.packets, pk)
		i = j
	}
}

// superseded reports whether nothing is lost if only b leaves of two segments that follow each other: both are mere ACKs, of which b
// acknowledges more, and neither tells of anything else.
func superseded(a, b *tcp.Outgoing) bool {
	h, g := &a.Header, &b.Header
	return a.Len == 0 && b.Len == 0 && h.Flags == tcp.ACK && g.Flags == tcp.ACK && g.Ack.After(h.Ack) && h.Seq == g.Seq &&
		h.Options.NumSACK == 0 && g.Options.NumSACK == 0 && a.ECT == b.ECT
}

// cut is how long the segments are that s stands for, but for the last one.
func cut(s *tcp.Outgoing) uint32 {
	if s.MSS != 0 {
		return s.MSS
	}
	return s.Len
}

// follows reports whether b can leave in one packet with first and those up to a, which is the one before it: the same header but for
// the sequence number, and segments of the same length. The last one may be shorter, and have PSH and FIN.
func follows(first, a, b *tcp.Outgoing) bool {
	const ends = tcp.PSH | tcp.FIN
	h, g := &first.Header, &b.Header
	return b.Len > 0 && (b.MSS == cut(first) || b.MSS == 0 && b.Len <= cut(first)) && b.Offset == a.Offset+uint64(a.Len) &&
		a.Header.Flags&ends == 0 && h.Flags == g.Flags&^ends && h.Flags&(tcp.SYN|tcp.RST|tcp.URG|tcp.CWR) == 0 &&
		h.Ack == g.Ack && h.Window == g.Window && first.ECT == b.ECT && h.Options == g.Options
}

// transmit sends what gather has found. It is called under the baton, without a lock.
func (e *Endpoint) transmit(p *pass, r *stack.Route, w way) {
	for i := range p.packets {
		pk := &p.packets[i]
		s := &p.out.Segments[pk.first]
		h := &s.Header
		h.SrcPort, h.DstPort = w.id.LocalPort, w.id.RemotePort
		if r == nil {
			pk.payload.Release()
			continue
		}
		size := pk.payload.Size()
		out := stack.NewPacketBuffer(stack.PacketBufferOptions{
			ReserveHeaderBytes: h.HeaderLen() + int(r.MaxHeaderLength()),
			Payload:            pk.payload,
			Mark:               w.mark,
		})
		pk.payload = buffer.Buffer{}
		out.Owner = p.owner(i, &w)
		gso := w.gso
		if gso.Type != stack.GSONone {
			// All packets have it, as gVisor's: it asks for the checksum, too.
			if gso.MSS = uint16(min(pk.mss, math.MaxUint16)); size == 0 {
				gso.MSS = math.MaxUint16
			}
		}
		params := stack.NetworkHeaderParams{Protocol: ProtocolNumber, TTL: w.ttl, TOS: w.tos, DF: w.df}
		if s.ECT {
			params.TOS |= 2 // RFC 3168 §5: ECT(0)
		}
		e.countSent(h, w.rcvUsed, w.rcvSize)
		if e.p.write(r, out, h, gso, params) {
			e.stats.segmentSent()
		} else {
			e.stats.more().SendErrors.SegmentSendToNetworkFailed.Increment()
			if h.Flags.Has(tcp.SYN) {
				e.stats.more().SendErrors.SynSendToNetworkFailed.Increment()
			}
		}
		out.DecRef()
	}
}

// flowHash is what links with several queues tell connections apart by: a packet stays in the queue of those before it.
func flowHash(local, remote uint16) uint32 {
	h := (uint32(local)<<16 | uint32(remote)) * 0x9e3779b1 // Knuth's multiplicative hash: the upper bits are mixed well
	return h ^ h>>16
}

// write puts the header before the payload and sends the packet.
func (p *protocol) write(r *stack.Route, out *stack.PacketBuffer, h *tcp.Header, gso stack.GSO, params stack.NetworkHeaderParams) bool {
	raw := out.TransportHeader().Push(h.HeaderLen())
	h.Checksum = 0
	h.AppendTo(raw[:0])
	out.TransportProtocolNumber = ProtocolNumber
	out.GSOOptions = gso
	out.Hash = flowHash(h.SrcPort, h.DstPort)
	sum := r.PseudoHeaderChecksum(ProtocolNumber, uint16(out.Size()))
	th := header.TCP(raw)
	switch {
	case gso.Type != stack.GSONone && gso.NeedsCsum:
		th.SetChecksum(sum) // of the pseudo-header: the link goes on from there
	case r.RequiresTXTransportChecksum():
		th.SetChecksum(^th.CalculateChecksum(checksum.Combine(sum, out.Data().Checksum())))
	}
	if err := r.WritePacket(params, out); err != nil {
		p.stats.SegmentSendErrors.Increment()
		return false
	}
	p.stats.SegmentsSent.Increment()
	if h.Flags.Has(tcp.RST) {
		p.stats.ResetsSent.Increment()
	}
	return true
}
