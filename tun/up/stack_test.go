package up

import (
	"net/netip"
	"testing"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// synTo returns a SYN packet of IPv4.
func synTo(from, to netip.AddrPort) *stack.PacketBuffer {
	const size = header.IPv4MinimumSize + header.TCPMinimumSize
	b := make([]byte, size)
	src, dst := tcpip.AddrFrom4(from.Addr().As4()), tcpip.AddrFrom4(to.Addr().As4())
	ip := header.IPv4(b)
	ip.Encode(&header.IPv4Fields{TotalLength: size, TTL: 64, Protocol: uint8(header.TCPProtocolNumber), SrcAddr: src, DstAddr: dst})
	ip.SetChecksum(^ip.CalculateChecksum())
	tcp := header.TCP(b[header.IPv4MinimumSize:])
	tcp.Encode(&header.TCPFields{SrcPort: from.Port(), DstPort: to.Port(), SeqNum: 1, DataOffset: header.TCPMinimumSize, Flags: header.TCPFlagSyn, WindowSize: 1000})
	tcp.SetChecksum(^tcp.CalculateChecksum(header.PseudoHeaderChecksum(header.TCPProtocolNumber, src, dst, header.TCPMinimumSize)))
	return stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(b)})
}

// TestForgedOwnAddress: SYNs from the link that bear an address of the stack as their source are
// dropped, from the port itself (LAND) and from others. Those of the kernel are answered.
func TestForgedOwnAddress(t *testing.T) {
	c := Config{Addrs: []netip.Prefix{netip.MustParsePrefix("10.7.0.2/24")}, HostAddrs: []netip.Prefix{netip.MustParsePrefix("10.7.0.1/24")}}
	link := channel.New(16, 1500, "")
	s, err := c.newStack(link, tcpip.NewStdClock(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Destroy()
	services, err := startServices(s, &c, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer services.close()
	to := netip.MustParseAddrPort("10.7.0.2:7")
	for from, want := range map[string]bool{"10.7.0.2:7": false, "10.7.0.2:4000": false, "10.7.0.1:4000": true} {
		pkt := synTo(netip.MustParseAddrPort(from), to)
		link.InjectInbound(header.IPv4ProtocolNumber, pkt)
		pkt.DecRef()
		answered := false
		for p := link.Read(); p != nil; p = link.Read() {
			answered = true
			p.DecRef()
		}
		if answered != want {
			t.Errorf("a SYN from %s is answered: %v, want %v", from, answered, want)
		}
	}
}
