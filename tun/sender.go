package tun

import (
	"sync"

	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// maxPieces is the most buffers that the kernel takes in one writev: IOV_MAX.
const maxPieces = 1024

// sender prepares a packet for writev without copying its payload.
type sender struct {
	vnet  [vnetSize]byte
	iov   [][]byte
	spill []byte // the bytes that do not fit maxPieces buffers
}

var senders = sync.Pool{New: func() any { return &sender{iov: make([][]byte, 0, 32)} }}

// buffers returns pkt's vnetHeader and bytes, the size of pkt, and whether it is a super-segment.
// The slices refer to pkt until release.
func (s *sender) buffers(pkt *stack.PacketBuffer) (iov [][]byte, size int, super bool) {
	s.iov = append(s.iov[:0], s.vnet[:])
	views, skip := pkt.AsViewList()
	for v := views.Front(); v != nil; v = v.Next() {
		b := v.AsSlice()
		if skip >= len(b) {
			skip -= len(b)
			continue
		}
		b = b[skip:]
		skip = 0
		size += len(b)
		if len(s.iov) < maxPieces-1 {
			s.iov = append(s.iov, b)
		} else {
			s.spill = append(s.spill, b...)
		}
	}
	if len(s.spill) > 0 {
		s.iov = append(s.iov, s.spill)
	}
	var v vnetHeader
	if pkt.GSOOptions.Type != stack.GSONone {
		h := outHeaders(pkt)
		v = vnetOf(&pkt.GSOOptions, &h, size)
	}
	v.encode(&s.vnet)
	return s.iov, size, v.gsoType != vnetNone
}

// outHeaders returns the ipLen, len and cwr of an outgoing packet.
func outHeaders(pkt *stack.PacketBuffer) (h headers) {
	transport := pkt.TransportHeader().Slice()
	h.len = pkt.HeaderSize()
	h.ipLen = h.len - len(transport)
	if len(transport) > tcpFlags {
		h.cwr = transport[tcpFlags]&tcpCWR != 0
	}
	return h
}

// release drops the references to the packet.
func (s *sender) release() {
	clear(s.iov)
	s.iov = s.iov[:0]
	s.spill = s.spill[:0]
}
