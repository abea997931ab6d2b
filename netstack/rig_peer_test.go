package netstack

import (
	"encoding/binary"
	"time"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// rigPeer is one port of the peer.
type rigPeer struct {
	r      *rig
	port   uint16 // the peer's
	here   uint16 // the stack's
	iss    uint32
	snd    uint32 // next sequence number to send, from iss
	theirs uint32 // the stack's initial sequence number, once known
	known  bool
	nxt    uint32 // next sequence number expected, from theirs
	sent   int    // segments from the stack
	all    []header.TCP
	last   header.TCP
	packet []byte // the IP packet that contains last
	bare   bool   // SYNs have no options
	sack   bool   // SYNs permit SACK
	stamps bool   // segments have timestamps
	late   uint32 // added to their echoes
	wnd    uint16 // 0 is 65535
	shut   bool   // the window is 0 instead, except in SYNs
}

func (r *rig) peer(port uint16) *rigPeer {
	p := r.peers[port]
	if p == nil {
		p = &rigPeer{r: r, port: port, here: rigPort, iss: rigISS}
		r.peers[port] = p
	}
	return p
}

// send sends the stack a segment, with sequence numbers from the initial ones.
func (p *rigPeer) send(flags header.TCPFlags, seq, ack uint32, n int) {
	p.raw(flags, p.iss+seq, p.theirs+ack, make([]byte, n), 0)
}

// raw is send with absolute numbers; bad is added to the checksum.
func (p *rigPeer) raw(flags header.TCPFlags, seq, ack uint32, data []byte, bad uint16) {
	r := p.r
	var opts []byte
	if flags.Contains(header.TCPFlagSyn) && !p.bare {
		opts = []byte{header.TCPOptionMSS, 4, 1460 >> 8, 1460 & 255}
		if p.sack {
			opts = append(opts, header.TCPOptionSACKPermitted, 2, header.TCPOptionNOP, header.TCPOptionNOP)
		}
	}
	if p.stamps {
		opts = append(opts, header.TCPOptionNOP, header.TCPOptionNOP, header.TCPOptionTS, header.TCPOptionTSLength)
		opts = binary.BigEndian.AppendUint32(opts, uint32(time.Duration(r.clock.Time()).Milliseconds()))
		opts = binary.BigEndian.AppendUint32(opts, p.echo()+p.late)
	}
	if !flags.Contains(header.TCPFlagAck) {
		ack = 0
	}
	wnd := p.wnd
	if wnd == 0 {
		wnd = 65535
	}
	if p.shut && !flags.Contains(header.TCPFlagSyn) {
		wnd = 0
	}
	size := header.TCPMinimumSize + len(opts)
	b := make([]byte, header.IPv4MinimumSize+size+len(data))
	ip := header.IPv4(b)
	ip.Encode(&header.IPv4Fields{
		TotalLength: uint16(len(b)), TTL: 64, Protocol: uint8(header.TCPProtocolNumber), SrcAddr: rigThere, DstAddr: rigHere,
	})
	ip.SetChecksum(^ip.CalculateChecksum())
	seg := header.TCP(b[header.IPv4MinimumSize:])
	seg.Encode(&header.TCPFields{
		SrcPort: p.port, DstPort: p.here, SeqNum: seq, AckNum: ack, DataOffset: uint8(size), Flags: flags, WindowSize: wnd,
	})
	copy(seg[header.TCPMinimumSize:], opts)
	copy(seg[size:], data)
	sum := header.PseudoHeaderChecksum(header.TCPProtocolNumber, rigThere, rigHere, uint16(len(seg)))
	seg.SetChecksum(^seg.CalculateChecksum(checksum.Combine(sum, checksum.Checksum(data, 0))) + bad)
	r.inject(b)
}

// echo returns the timestamp of the last segment from the stack.
func (p *rigPeer) echo() uint32 {
	if p.last == nil {
		return 0
	}
	if p.last.Flags().Contains(header.TCPFlagSyn) {
		return header.ParseSynOptions(p.last.Options(), p.last.Flags().Contains(header.TCPFlagAck)).TSVal
	}
	return p.last.ParsedOptions().TSVal
}

func (r *rig) inject(b []byte) {
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(b)})
	r.link.InjectInbound(ipv4.ProtocolNumber, pkt)
	pkt.DecRef()
	r.drain()
}

// The next segments in order.
func (p *rigPeer) syn() {
	p.send(header.TCPFlagSyn, 0, 0, 0)
	p.snd = 1
}
func (p *rigPeer) synAck() {
	p.send(header.TCPFlagSyn|header.TCPFlagAck, 0, 1, 0)
	p.snd = 1
}
func (p *rigPeer) ack() { p.send(header.TCPFlagAck, p.snd, p.nxt, 0) }
func (p *rigPeer) data(n int) {
	p.send(header.TCPFlagAck, p.snd, p.nxt, n)
	p.snd += uint32(n)
}
func (p *rigPeer) fin() {
	p.send(header.TCPFlagFin|header.TCPFlagAck, p.snd, p.nxt, 0)
	p.snd++
}
func (p *rigPeer) rst() { p.send(header.TCPFlagRst, p.snd, 0, 0) }

// icmp sends an ICMP message about the last segment from the stack.
func (p *rigPeer) icmp(code header.ICMPv4Code, mtu uint16) {
	quote := p.packet[:min(len(p.packet), 60)]
	b := make([]byte, header.IPv4MinimumSize+header.ICMPv4MinimumSize+len(quote))
	ip := header.IPv4(b)
	ip.Encode(&header.IPv4Fields{
		TotalLength: uint16(len(b)), TTL: 64, Protocol: uint8(header.ICMPv4ProtocolNumber), SrcAddr: rigThere, DstAddr: rigHere,
	})
	ip.SetChecksum(^ip.CalculateChecksum())
	m := header.ICMPv4(b[header.IPv4MinimumSize:])
	m.SetType(header.ICMPv4DstUnreachable)
	m.SetCode(code)
	m.SetMTU(mtu)
	copy(m[header.ICMPv4MinimumSize:], quote)
	m.SetChecksum(header.ICMPv4Checksum(m, 0))
	p.r.inject(b)
}
