package tun

import (
	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/bufpool"
)

// pieceSizes are the views that a packet is read into: its headers into one of their own, so that a stack which looks at
// them or clones the packet never copies payload, and the payload into views that double, so that a small packet does
// not hold much memory. Together they have room for the largest packet there is, IPv6 with 65535 octets behind its header.
var pieceSizes = [...]int{maxHeaders, 2048, 4096, 8192, 16384, 32768, 4096}

// receiver reads packets. Its zero value is ready for use.
type receiver struct {
	vnet  [vnetSize]byte
	views [len(pieceSizes)]*buffer.View // what is not taken yet
	iov   [1 + len(pieceSizes)][]byte   // vnet, and views as octets
}

// pieces returns where to read the next packet into.
func (r *receiver) pieces() [][]byte {
	r.iov[0] = r.vnet[:]
	for i, v := range r.views {
		if v != nil {
			break // a packet takes views from the front
		}
		v = bufpool.Get(pieceSizes[i]) // all that is shown of it will have been read
		r.views[i], r.iov[1+i] = v, v.AsSlice()
	}
	return r.iov[:]
}

// verdict is what packet thinks of what it has read.
type verdict uint8

const (
	delivered verdict = iota
	malformed
	badChecksum
)

// packet makes a packet of the n octets that were read into pieces. Its headers are verified, and its checksums unless
// the kernel vouches for them.
func (r *receiver) packet(n int) (*stack.PacketBuffer, verdict) {
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

// take returns the first n octets that were read, without a copy.
func (r *receiver) take(n int) (b buffer.Buffer) {
	for i := 0; n > 0; i++ {
		v := r.views[i]
		if n < v.Size() {
			v.CapLength(n)
		}
		n -= v.Size()
		_ = b.Append(v) // never fails: v is ours alone
		r.views[i] = nil
	}
	return b
}

// release gives the views back.
func (r *receiver) release() {
	for i, v := range r.views {
		if v != nil {
			bufpool.Put(v)
			r.views[i] = nil
		}
	}
}
