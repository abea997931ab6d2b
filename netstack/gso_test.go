package netstack

import (
	"math"
	"sync"
	"testing"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/nested"
	"gvisor.dev/gvisor/pkg/tcpip/link/pipe"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// cutter is a link with segmentation and checksum offload. It segments packets as a device does,
// and checks them.
type cutter struct {
	nested.Endpoint
	t   *testing.T
	mtu int

	mu           sync.Mutex
	packets, cut int  // packets received, and segments sent
	whole        bool // deliver packets whole, like a device with receive offload
}

func (c *cutter) SupportedGSO() stack.SupportedGSO { return stack.HostGSOSupported }
func (c *cutter) GSOMaxSize() uint32               { return 65536 }
func (c *cutter) Capabilities() stack.LinkEndpointCapabilities {
	caps := c.Endpoint.Capabilities()&^stack.CapabilityResolutionRequired | stack.CapabilityTXChecksumOffload
	if c.whole {
		caps |= stack.CapabilityRXChecksumOffload
	}
	return caps
}

func (c *cutter) WritePackets(pkts stack.PacketBufferList) (int, tcpip.Error) {
	for i, pkt := range pkts.AsSlice() {
		if err := c.write(pkt); err != nil {
			return i, err
		}
	}
	return pkts.Len(), nil
}

func (c *cutter) write(pkt *stack.PacketBuffer) tcpip.Error {
	gso, size := pkt.GSOOptions, pkt.Data().Size()
	if pkt.TransportProtocolNumber != ProtocolNumber || c.whole {
		c.mu.Lock()
		c.packets++
		c.mu.Unlock()
		return c.pass(pkt)
	}
	if header.TCP(pkt.TransportHeader().Slice()).Flags().Contains(header.TCPFlagSyn) {
		if gso != (stack.GSO{}) {
			c.t.Errorf("a SYN with options %+v, want none, as gVisor's", gso)
		}
		gso.MSS = math.MaxUint16
	} else if gso.Type == stack.GSONone || !gso.NeedsCsum || gso.CsumOffset != header.TCPChecksumOffset {
		c.t.Errorf("a packet with options %+v, want GSO and checksum offload", gso)
	}
	if size <= int(gso.MSS) && pkt.Size() > c.mtu {
		c.t.Errorf("a packet of %d bytes without GSO over an MTU of %d", pkt.Size(), c.mtu)
	}
	ip, raw := pkt.NetworkHeader().Slice(), pkt.TransportHeader().Slice()
	data := pkt.Data().AsRange().ToSlice()
	c.mu.Lock()
	c.packets++
	c.mu.Unlock()
	seq := header.TCP(raw).SequenceNumber()
	flags := header.TCP(raw).Flags()
	for off := 0; off < len(data) || off == 0; off += int(gso.MSS) {
		end := min(off+int(gso.MSS), len(data))
		out := stack.NewPacketBuffer(stack.PacketBufferOptions{ReserveHeaderBytes: len(ip) + len(raw) + int(c.MaxHeaderLength())})
		out.NetworkProtocolNumber = pkt.NetworkProtocolNumber
		v := append([]byte(nil), data[off:end]...)
		h := header.TCP(out.TransportHeader().Push(len(raw)))
		copy(h, raw)
		h.SetSequenceNumber(seq + uint32(off))
		if end < len(data) {
			h.SetFlags(uint8(flags &^ (header.TCPFlagFin | header.TCPFlagPsh)))
		}
		n := out.NetworkHeader().Push(len(ip))
		copy(n, ip)
		var src, dst tcpip.Address
		if pkt.NetworkProtocolNumber == header.IPv4ProtocolNumber {
			h4 := header.IPv4(n)
			h4.SetTotalLength(uint16(len(ip) + len(raw) + len(v)))
			h4.SetChecksum(0)
			h4.SetChecksum(^h4.CalculateChecksum())
			src, dst = h4.SourceAddress(), h4.DestinationAddress()
		} else {
			h6 := header.IPv6(n)
			h6.SetPayloadLength(uint16(len(raw) + len(v)))
			src, dst = h6.SourceAddress(), h6.DestinationAddress()
		}
		h.SetChecksum(0)
		sum := header.PseudoHeaderChecksum(ProtocolNumber, src, dst, uint16(len(raw)+len(v)))
		h.SetChecksum(^h.CalculateChecksum(checksum.Combine(sum, checksum.Checksum(v, 0))))
		out.Data().AppendView(viewWith(v))
		if out.Size() > c.mtu {
			c.t.Errorf("a segment of %d bytes over an MTU of %d", out.Size(), c.mtu)
		}
		c.mu.Lock()
		c.cut++
		c.mu.Unlock()
		err := c.pass(out)
		out.DecRef()
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *cutter) pass(pkt *stack.PacketBuffer) tcpip.Error {
	var one stack.PacketBufferList
	one.PushBack(pkt)
	_, err := c.Endpoint.WritePackets(one)
	return err
}

// TestSegmentationOffload sends over links that segment packets. Consecutive segments leave in one
// packet, and the engine still tracks each. In the second half packets arrive unsegmented.
func TestSegmentationOffload(t *testing.T) {
	for _, whole := range []bool{false, true} {
		families(t, func(t *testing.T, v6 bool) {
			la, lb := pipe.New("", "", 1500)
			cut := &cutter{t: t, mtu: 1500, whole: whole}
			cut.Endpoint.Init(la, cut)
			back := &cutter{t: t, mtu: 1500, whole: whole}
			back.Endpoint.Init(lb, back)
			n := &pairNet{t: t}
			n.a, n.b = newSideOn(t, verified, cut, 1), newSideOn(t, verified, back, 2)
			t.Cleanup(func() {
				n.a.stack.Destroy()
				n.b.stack.Destroy()
			})
			a, b := n.connect(v6)
			exchange(t, a, b, 2<<20)
			cut.mu.Lock()
			defer cut.mu.Unlock()
			if !whole && cut.cut <= cut.packets {
				t.Errorf("%d packets for %d segments, want fewer packets", cut.packets, cut.cut)
			}
		})
	}
}
