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

// packet is one packet to send: a segment, or several consecutive ones for the link to segment.
type packet struct {
	first   int    // index in out.Segments
	mss     uint32 // payload bytes of each segment but the last
	payload buffer.Buffer
}

// packetParams holds what the packets of a step need besides the route.
type packetParams struct {
	id       stack.TransportEndpointID
	ttl, tos uint8
	df       bool
	mark     uint32
	gso      stack.GSO
	owner    tcpip.PacketOwner

	experiment uint16 // value of the IP experiment option; 0 for none

	rcvUsed, rcvSize int // bytes in the receive buffer, and its size
}

// packetParams returns the parameters for the next packets.
func (e *Endpoint) packetParams() packetParams {
	w := packetParams{id: e.info.ID, tos: e.opts.tos, df: e.opts.setsDF(), mark: e.ops.GetMark(), gso: e.gso(), owner: e.opts.owner}
	w.rcvUsed, w.rcvSize = int(e.rcvUsed), int(e.ops.GetReceiveBufferSize())
	if r := e.route; r != nil {
		w.ttl, w.experiment = e.opts.timeToLive(r), e.experiment(r)
	}
	return w
}

// setRoute sets the route and takes over the reference.
func (l *outLink) setRoute(r *stack.Route, experiment uint16) {
	l.route = r
	if r.HasHostGSOCapability() && experiment == 0 { // links expect IP headers without options
		l.maxGSO = r.GSOMaxSize()
	}
}

// experiment returns the value of the IP experiment option of packets on a route. It is
// 0 unless the program has set one and the NIC takes part.
func (e *Endpoint) experiment(r *stack.Route) uint16 {
	v := e.ops.GetExperimentOptionValue()
	if v == 0 {
		return 0
	}
	nic, err := e.p.stack.GetNICByID(r.OutgoingNIC())
	if err != nil || !nic.GetExperimentIPOptionEnabled() {
		return 0
	}
	return v
}

// gso returns the offload options of the connection's packets, without the MSS.
func (l *outLink) gso() (g stack.GSO) {
	if l.maxGSO == 0 || l.route == nil {
		return g
	}
	g = stack.GSO{
		Type: stack.GSOTCPv4, L3HdrLen: header.IPv4MinimumSize,
		NeedsCsum: true, CsumOffset: header.TCPChecksumOffset, MaxSize: l.maxGSO,
	}
	if isIPv6(l.route) {
		g.Type, g.L3HdrLen = stack.GSOTCPv6, header.IPv6MinimumSize
	}
	return g
}

// path returns what the engine must know of the route.
func (l *outLink) path(experiment uint16) tcp.Path {
	const most = 1 << 16
	v6 := isIPv6(l.route)
	mtu := l.route.MTU() + header.IPv4MinimumSize // the stack's MTU excludes the IP header
	if v6 {
		mtu = l.route.MTU() + header.IPv6MinimumSize
	}
	if experiment != 0 {
		if mtu -= header.IPv4OptionExperimentLength; v6 {
			mtu -= header.IPv6ExperimentHdrLength - header.IPv4OptionExperimentLength
		}
	}
	return tcp.Path{MTU: int(min(mtu, most)), IPv6: v6}
}

// maxPacketPayload returns how many bytes of payload the link takes in one packet for it to
// segment. It is 0 without GSO.
func (l *outLink) maxPacketPayload() uint32 {
	if l.maxGSO == 0 {
		return 0
	}
	const headers = header.IPv6MinimumSize + tcp.MaxHeaderLen
	return min(l.maxGSO, math.MaxUint16) - headers
}

// buildPackets turns the output's segments into packets: it attaches the payloads from the send
// queue and joins segments that the link can segment again.
func (st *step) buildPackets() {
	st.packets = st.packets[:0]
	segs := st.out.Segments
	most := st.e.maxPacketPayload()
	for i := 0; i < len(segs); {
		first := &segs[i]
		mss, n, j := segmentSize(first), first.Len, i+1
		for first.Len > 0 && j < len(segs) && n+segs[j].Len <= most && n%mss == 0 && canJoin(first, &segs[j-1], &segs[j]) {
			n += segs[j].Len
			j++
		}
		pk := packet{first: i, mss: mss}
		if n > 0 {
			pk.payload = st.e.snd.window(first.Offset, n)
		}
		last := &segs[j-1]
		if j > i+1 {
			first.Header.Flags |= last.Header.Flags & (tcp.PSH | tcp.FIN)
		}
		st.packets = append(st.packets, pk)
		i = j
	}
}

// segmentSize returns the payload bytes of each segment in s but the last.
func segmentSize(s *tcp.Outgoing) uint32 {
	if s.MSS != 0 {
		return s.MSS
	}
	return s.Len
}

// canJoin reports whether b can join a packet that begins with first and ends with a. Their headers
// may differ in the sequence number only, and the segments have one length. The last one may be
// shorter and carry PSH and FIN.
func canJoin(first, a, b *tcp.Outgoing) bool {
	const ends = tcp.PSH | tcp.FIN
	h, g := &first.Header, &b.Header
	return b.Len > 0 && (b.MSS == segmentSize(first) || b.MSS == 0 && b.Len <= segmentSize(first)) && b.Offset == a.Offset+uint64(a.Len) &&
		a.Header.Flags&ends == 0 && h.Flags == g.Flags&^ends && h.Flags&(tcp.SYN|tcp.RST|tcp.URG|tcp.CWR) == 0 &&
		h.Ack == g.Ack && h.Window == g.Window && first.ECT == b.ECT && h.Options == g.Options
}

// transmit sends the packets that buildPackets made. The caller holds the baton and no lock.
func (st *step) transmit() {
	r, params := st.route, &st.params
	for i := range st.packets {
		pk := &st.packets[i]
		seg := &st.out.Segments[pk.first]
		h := &seg.Header
		h.SrcPort, h.DstPort = params.id.LocalPort, params.id.RemotePort
		if r == nil {
			pk.payload.Release()
			continue
		}
		size := pk.payload.Size()
		out := stack.NewPacketBuffer(stack.PacketBufferOptions{
			ReserveHeaderBytes: h.HeaderLen() + int(r.MaxHeaderLength()) + header.IPv6ExperimentHdrLength,
			Payload:            pk.payload,
			Mark:               params.mark,
		})
		pk.payload = buffer.Buffer{}
		out.Owner = st.packetOwner(i, params)
		gso := params.gso
		if h.Flags.Has(tcp.SYN) {
			gso = stack.GSO{} // as in gVisor
		}
		if gso.Type != stack.GSONone {
			// As in gVisor, all other packets have GSO options: they also request the checksum.
			if gso.MSS = uint16(min(pk.mss, math.MaxUint16)); size == 0 {
				gso.MSS = math.MaxUint16
			}
		}
		ip := stack.NetworkHeaderParams{
			Protocol: ProtocolNumber, TTL: params.ttl, TOS: params.tos, DF: params.df, ExperimentOptionValue: params.experiment,
		}
		if seg.ECT {
			ip.TOS |= 2 // RFC 3168 §5: ECT(0)
		}
		st.e.stats.countSent(h, params.rcvUsed, params.rcvSize)
		if st.e.p.write(r, out, h, gso, ip) {
			st.e.stats.segmentSent()
		} else {
			st.e.stats.more().SendErrors.SegmentSendToNetworkFailed.Increment()
			if h.Flags.Has(tcp.SYN) {
				st.e.stats.more().SendErrors.SynSendToNetworkFailed.Increment()
			}
		}
		out.DecRef()
	}
}

// flowHash spreads connections over the queues of a link. All packets of a connection share a
// queue.
func flowHash(local, remote uint16) uint32 {
	h := (uint32(local)<<16 | uint32(remote)) * 0x9e3779b1 // Knuth's multiplicative hash
	return h ^ h>>16
}

// write prepends the header and sends the packet. It reports success.
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
		th.SetChecksum(sum) // of the pseudo-header; the link adds the rest
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
