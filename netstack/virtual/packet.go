package virtual

import (
	"bytes"
	"encoding/binary"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/tcp"
)

// Packet is a packet of IPv4, most often a segment.
type Packet struct {
	Segment bool       // it is one; else the fields of one are 0
	Header  tcp.Header // of the segment
	// Start, End is the place of its octets in the stream: octet 0 is the one behind the SYN. They are the same if it
	// has none.
	Start, End uint64

	Size uint32 // octets, those of the IP header included
	Tag  int64  // whatever the Wire writes there in Send, for Arrive to read

	Bytes []byte // all of it, from the IP header on, for reading only
}

// flowKey is one direction of a connection.
type flowKey struct{ from, to uint16 }

// stream is what has passed of a flow.
type stream struct {
	first tcp.Seq // sequence number of octet 0
	next  uint64  // behind the last octet that has passed
}

// direction is one way of the wire.
type direction struct {
	net      *Net
	index    int
	from, to *channel.Endpoint
	streams  map[flowKey]*stream
}

// WriteNotify implements channel.Notification.
func (w *direction) WriteNotify() {
	for pkt := w.from.Read(); pkt != nil; pkt = w.from.Read() {
		view := pkt.ToView()
		p := &Packet{Bytes: bytes.Clone(view.AsSlice())}
		view.Release()
		pkt.DecRef()
		w.parse(p)
		if took, ok := w.net.wire.Send(w.net.Now(), w.index, p); ok {
			w.net.Clock.AfterFunc(took, func() { w.forward(p) })
		}
	}
}

// forward has a packet pass the switch, if there is one.
func (w *direction) forward(p *Packet) {
	relay, ok := w.net.wire.(Relay)
	if !ok {
		w.arrive(p)
		return
	}
	if took, ok := relay.Forward(w.net.Now(), w.index, p); ok {
		w.net.Clock.AfterFunc(took, func() { w.arrive(p) })
	}
}

// arrive hands a packet to the stack at the other end.
func (w *direction) arrive(p *Packet) {
	if !w.net.wire.Arrive(w.net.Now(), w.index, p) {
		return
	}
	in := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(p.Bytes)})
	defer in.DecRef()
	w.to.InjectInbound(header.IPv4ProtocolNumber, in)
}

// parse fills in what is known of a packet.
func (w *direction) parse(p *Packet) {
	b := p.Bytes
	p.Size = uint32(len(b))
	if len(b) < 20 || b[0]>>4 != 4 || b[9] != 6 {
		return
	}
	n, total := 4*int(b[0]&15), int(binary.BigEndian.Uint16(b[2:]))
	if n < 20 || total < n || total > len(b) {
		return
	}
	h, size, err := tcp.ParseHeader(b[n:total])
	if err != nil {
		return
	}
	p.Segment, p.Header = true, h
	k := flowKey{h.SrcPort, h.DstPort}
	s := w.streams[k]
	if h.Flags.Has(tcp.SYN) || s == nil {
		first := h.Seq
		if h.Flags.Has(tcp.SYN) {
			first++
		}
		if s == nil || s.first != first {
			s = &stream{first: first}
			w.streams[k] = s
		}
	}
	// The octet nearest to the last one that has this sequence number.
	seq := h.Seq
	if h.Flags.Has(tcp.SYN) {
		seq++
	}
	length := uint64(total - n - size)
	start := int64(s.next) + int64(int32(uint32(seq)-uint32(s.first)-uint32(s.next)))
	if start < 0 || length == 0 {
		return
	}
	p.Start, p.End = uint64(start), uint64(start)+length
	s.next = max(s.next, p.End)
}
