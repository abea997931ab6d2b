package interop

import (
	"sync"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/nested"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/tun"
)

// middlebox is a firewall and a router on the path. Packets with direction There come from the
// stack above it.
type middlebox struct {
	nested.Endpoint
	wait sync.WaitGroup // for ICMP messages in flight

	mu      sync.Mutex
	drop    func(d tun.Direction, pkt *stack.PacketBuffer) bool
	mtu     int // larger packets are dropped, with an ICMP error; 0 is no limit
	tooBig  int // packets above mtu
	refused int // packets that drop matched
}

func newMiddlebox(below stack.LinkEndpoint) *middlebox {
	m := &middlebox{}
	m.Endpoint.Init(below, m)
	return m
}

// setDrop makes the middlebox drop packets for which f is true; nil drops none.
func (m *middlebox) setDrop(f func(d tun.Direction, pkt *stack.PacketBuffer) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop = f
}

// dropAll makes it drop everything.
func (m *middlebox) dropAll() {
	m.setDrop(func(tun.Direction, *stack.PacketBuffer) bool { return true })
}

func (m *middlebox) setMTU(mtu int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mtu = mtu
}

// counts returns how many packets were too big, and how many were dropped otherwise.
func (m *middlebox) counts() (tooBig, refused int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tooBig, m.refused
}

func (m *middlebox) WritePackets(pkts stack.PacketBufferList) (int, tcpip.Error) {
	for _, pkt := range pkts.AsSlice() {
		if m.passes(tun.There, pkt) {
			var one stack.PacketBufferList
			one.PushBack(pkt)
			if _, err := m.Endpoint.WritePackets(one); err != nil {
				return 0, err
			}
		}
	}
	return pkts.Len(), nil
}

func (m *middlebox) DeliverNetworkPacket(proto tcpip.NetworkProtocolNumber, pkt *stack.PacketBuffer) {
	if m.passes(tun.Back, pkt) {
		m.Endpoint.DeliverNetworkPacket(proto, pkt)
	}
}

// passes reports whether a packet goes on. The segments of a super-segment count separately.
func (m *middlebox) passes(d tun.Direction, pkt *stack.PacketBuffer) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.drop != nil && m.drop(d, pkt) {
		m.refused++
		return false
	}
	if m.mtu == 0 {
		return true
	}
	b := pkt.ToBuffer()
	defer b.Release()
	view, ok := b.PullUp(0, min(int(b.Size()), 100))
	if !ok {
		return true
	}
	head := view.AsSlice()
	ipLen := header.IPv6MinimumSize
	if head[0]>>4 == 4 {
		ipLen = int(header.IPv4(head).HeaderLength())
	}
	size := int(b.Size())
	if g := &pkt.GSOOptions; g.Type != stack.GSONone && g.MSS > 0 && len(head) >= ipLen+header.TCPMinimumSize {
		size = min(size, ipLen+int(header.TCP(head[ipLen:]).DataOffset())+int(g.MSS))
	}
	if size <= m.mtu {
		return true
	}
	m.tooBig++
	answer := tooBig4(head, m.mtu)
	if head[0]>>4 == 6 {
		answer = tooBig6(head, m.mtu)
	}
	m.wait.Add(1)
	go func() { // the sender may hold locks
		defer m.wait.Done()
		m.report(d, answer)
	}()
	return false
}

// report sends an ICMP message back to the source of packets of a direction.
func (m *middlebox) report(d tun.Direction, message []byte) {
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(message)})
	defer pkt.DecRef()
	pkt.NetworkProtocolNumber = header.IPv4ProtocolNumber
	if message[0]>>4 == 6 {
		pkt.NetworkProtocolNumber = header.IPv6ProtocolNumber
	}
	if d == tun.There {
		m.Endpoint.DeliverNetworkPacket(pkt.NetworkProtocolNumber, pkt)
		return
	}
	var one stack.PacketBufferList
	one.PushBack(pkt)
	_, _ = m.Endpoint.WritePackets(one)
}

// tcpOf returns a copy of a packet's segment, or nil.
func tcpOf(pkt *stack.PacketBuffer) header.TCP {
	b := pkt.ToBuffer()
	defer b.Release()
	ip := b.Flatten()
	size := header.IPv4MinimumSize
	if pkt.NetworkProtocolNumber == header.IPv6ProtocolNumber {
		size = header.IPv6MinimumSize
	}
	if len(ip) < size+header.TCPMinimumSize {
		return nil
	}
	return ip[size:]
}

// has matches packets with a flag, in either direction.
func has(flag header.TCPFlags) func(tun.Direction, *stack.PacketBuffer) bool {
	return func(_ tun.Direction, pkt *stack.PacketBuffer) bool {
		h := tcpOf(pkt)
		return h != nil && h.Flags().Contains(flag)
	}
}

// tooBig4 is the message of RFC 1191 §4 about a packet that begins with head, to its source.
func tooBig4(head []byte, mtu int) []byte {
	quote := head[:min(len(head), header.IPv4MinimumSize+8)]
	b := make([]byte, header.IPv4MinimumSize+header.ICMPv4MinimumSize+len(quote))
	of := header.IPv4(head)
	header.IPv4(b).Encode(&header.IPv4Fields{
		TotalLength: uint16(len(b)), TTL: 64, Protocol: uint8(header.ICMPv4ProtocolNumber),
		SrcAddr: of.DestinationAddress(), DstAddr: of.SourceAddress(),
	})
	header.IPv4(b).SetChecksum(^header.IPv4(b).CalculateChecksum())
	icmp := header.ICMPv4(b[header.IPv4MinimumSize:])
	icmp.SetType(header.ICMPv4DstUnreachable)
	icmp.SetCode(header.ICMPv4FragmentationNeeded)
	icmp.SetMTU(uint16(mtu))
	copy(icmp[header.ICMPv4MinimumSize:], quote)
	icmp.SetChecksum(^checksum.Checksum(icmp, 0))
	return b
}

// tooBig6 is the message of RFC 4443 §3.2.
func tooBig6(head []byte, mtu int) []byte {
	b := make([]byte, header.IPv6MinimumSize+header.ICMPv6PacketTooBigMinimumSize+len(head))
	of := header.IPv6(head)
	header.IPv6(b).Encode(&header.IPv6Fields{
		PayloadLength: uint16(len(b) - header.IPv6MinimumSize), TransportProtocol: header.ICMPv6ProtocolNumber, HopLimit: 64,
		SrcAddr: of.DestinationAddress(), DstAddr: of.SourceAddress(),
	})
	icmp := header.ICMPv6(b[header.IPv6MinimumSize:])
	icmp.SetType(header.ICMPv6PacketTooBig)
	icmp.SetMTU(uint32(mtu))
	copy(icmp[header.ICMPv6PacketTooBigMinimumSize:], head)
	icmp.SetChecksum(header.ICMPv6Checksum(header.ICMPv6ChecksumParams{
		Header: icmp, Src: of.DestinationAddress(), Dst: of.SourceAddress(),
	}))
	return b
}
