package tun

import (
	"encoding/binary"
	"fmt"

	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// vnetHeader precedes each packet of the device: struct virtio_net_hdr of
// include/uapi/linux/virtio_net.h.
type vnetHeader struct {
	flags      uint8
	gsoType    uint8
	hdrLen     uint16 // bytes of all headers; from the kernel a hint, which may be too large
	gsoSize    uint16 // payload of each segment
	csumStart  uint16 // offset where the checksummed bytes begin
	csumOffset uint16 // offset of the checksum, from csumStart
}

// vnetSize is the size of an encoded vnetHeader, without num_buffers.
const vnetSize = 10

// Constants of virtio_net.h.
const (
	vnetNeedsCsum = 1 // flags: the checksum covers only the pseudo-header
	vnetDataValid = 2 // flags: the checksum was verified

	vnetNone  = 0 // gsoType
	vnetTCPv4 = 1
	vnetTCPv6 = 4
	vnetECN   = 0x80 // a bit of gsoType: the first segment has CWR
)

// encode writes h to b in little-endian order, which Open requests from the kernel.
func (h *vnetHeader) encode(b *[vnetSize]byte) {
	b[0], b[1] = h.flags, h.gsoType
	binary.LittleEndian.PutUint16(b[2:], h.hdrLen)
	binary.LittleEndian.PutUint16(b[4:], h.gsoSize)
	binary.LittleEndian.PutUint16(b[6:], h.csumStart)
	binary.LittleEndian.PutUint16(b[8:], h.csumOffset)
}

// decodeVnet reads what encode writes.
func decodeVnet(b *[vnetSize]byte) vnetHeader {
	return vnetHeader{
		flags: b[0], gsoType: b[1],
		hdrLen:     binary.LittleEndian.Uint16(b[2:]),
		gsoSize:    binary.LittleEndian.Uint16(b[4:]),
		csumStart:  binary.LittleEndian.Uint16(b[6:]),
		csumOffset: binary.LittleEndian.Uint16(b[8:]),
	}
}

// vnetOf returns the header of an outgoing packet of that size: the work that its GSOOptions leave
// to the kernel.
func vnetOf(g *stack.GSO, h *headers, size int) (v vnetHeader) {
	if g.Type != stack.GSOTCPv4 && g.Type != stack.GSOTCPv6 {
		return v
	}
	if g.NeedsCsum {
		v.flags = vnetNeedsCsum
		v.csumStart = uint16(h.ipLen)
		v.csumOffset = g.CsumOffset
	}
	v.hdrLen = uint16(h.len)
	if size-h.len > int(g.MSS) {
		v.gsoSize = g.MSS
		v.gsoType = vnetTCPv4
		if g.Type == stack.GSOTCPv6 {
			v.gsoType = vnetTCPv6
		}
		if h.cwr {
			v.gsoType |= vnetECN
		}
	}
	return v
}

// gso returns the GSOOptions of an arrived packet with headers h, or an error if they contradict
// the headers.
func (v *vnetHeader) gso(h *headers) (g stack.GSO, err error) {
	if v.flags&vnetNeedsCsum != 0 {
		if int(v.csumStart) != h.ipLen || int(v.csumStart)+int(v.csumOffset)+2 > h.len {
			return g, fmt.Errorf("tun: checksum at %d+%d, want it in the transport header at %d to %d",
				v.csumStart, v.csumOffset, h.ipLen, h.len)
		}
		g.NeedsCsum = true
		g.CsumOffset = v.csumOffset
	}
	g.L3HdrLen = uint16(h.ipLen)
	switch kind := v.gsoType &^ vnetECN; {
	case kind == vnetNone:
		if !g.NeedsCsum {
			return stack.GSO{}, nil
		}
	case kind != vnetTCPv4 && kind != vnetTCPv6:
		return g, fmt.Errorf("tun: segmentation offload of type %d, want %d or %d", kind, vnetTCPv4, vnetTCPv6)
	case (kind == vnetTCPv4) != (h.net == header.IPv4ProtocolNumber) || h.transport != header.TCPProtocolNumber:
		return g, fmt.Errorf("tun: segmentation offload of type %d for protocol %d in packet type %#x",
			kind, h.transport, h.net)
	case v.gsoSize == 0:
		return g, fmt.Errorf("tun: segmentation offload with segments of 0 bytes")
	default:
		g.MSS = v.gsoSize
	}
	g.Type = stack.GSOTCPv4
	if h.net == header.IPv6ProtocolNumber {
		g.Type = stack.GSOTCPv6
	}
	return g, nil
}
