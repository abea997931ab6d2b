package tun

import (
	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/bufpool"
)

// pieceSizes are the sizes of the views that a packet is read into. The headers get a view of their
// own, so a stack that reads them or clones the packet never copies payload. The payload views
// double in size, so a small packet holds little memory. Together they hold the largest packet
// possible: an IPv6 header and 65535 bytes.
var pieceSizes = [...]int{maxHeaders, 2048, 4096, 8192, 16384, 32768, 4096}

// receiver reads packets. Its zero value is ready to use.
type receiver struct {
	vnet  [vnetSize]byte
	views [len(pieceSizes)]*buffer.View // nil where the last packet took the view
	iov   [1 + len(pieceSizes)][]byte   // the vnet header, then the views as byte slices
}

// buffers returns where to read the next packet.
func (r *receiver) buffers() [][]byte {
	r.iov[0] = r.vnet[:]
	for i, v := range r.views {
		if v != nil {
			break // packets take views from the front
		}
		v = bufpool.Get(pieceSizes[i]) // not cleared: only bytes that were read are shown
		r.views[i], r.iov[1+i] = v, v.AsSlice()
	}
	return r.iov[:]
}

// disposition says what receive does with a packet.
type disposition uint8

const (
	delivered disposition = iota
	malformed
	badChecksum
)

// packet makes a packet of the n bytes in the buffers. It checks the headers, and the checksums
// unless the kernel vouches for them.
func (r *receiver) packet(n int) (*stack.PacketBuffer, disposition) {
	n -= vnetSize
	if n <= 0 {
		return nil, malformed
	}
	first := r.views[0].AsSlice()
	first = first[:min(n, len(first))]
	h, err := parseHeaders(first, n)
	if err != nil {
		return nil, malformed
	}
	v := decodeVnet(&r.vnet)
	gso, err := v.gso(&h)
	if err != nil {
		return nil, malformed
	}
	b := r.take(n)
	if v.flags&(vnetNeedsCsum|vnetDataValid) == 0 && !verify(&b, first, &h) {
		b.Release()
		return nil, badChecksum
	}
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: b})
	pkt.NetworkProtocolNumber = h.net
	pkt.GSOOptions = gso
	return pkt, delivered
}

// take returns the first n bytes that were read, without a copy.
func (r *receiver) take(n int) (b buffer.Buffer) {
	for i := 0; n > 0; i++ {
		v := r.views[i]
		if n < v.Size() {
			v.CapLength(n)
		}
		n -= v.Size()
		_ = b.Append(v) // cannot fail: v has no other owner
		r.views[i] = nil
	}
	return b
}

// release returns the views to the pool.
func (r *receiver) release() {
	for i, v := range r.views {
		if v != nil {
			bufpool.Put(v)
			r.views[i] = nil
		}
	}
}
