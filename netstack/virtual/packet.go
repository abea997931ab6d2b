package virtual

import (
	"encoding/binary"

	"tcpwheel/netstack"
	"tcpwheel/netstack/tcp"
)

// Packet is an IPv4 or IPv6 packet, as a Wire sees it.
type Packet struct {
	Segment bool       // it is a TCP segment; otherwise Header, Start and End are zero
	Header  tcp.Header // of the segment
	// [Start, End) are the segment's bytes in its stream. Byte 0 follows the SYN. They are equal if
	// the segment carries no data.
	Start, End uint64

	Size uint32 // bytes, with the IP header
	Tag  int64  // set by the Wire in Send, for its own use

	Bytes []byte // the whole packet, read-only

	Causes []netstack.Cause // the timers that sent it: see netstack.Causes
}

// flowKey is one direction of a connection.
type flowKey struct {
	src, dst [16]byte // an IPv4 address takes the first four bytes
	from, to uint16
}

// streams finds the place of segments in their streams, by flow.
type streams map[flowKey]*stream

// flow returns the flow of a segment.
func (p *Packet) flow() flowKey {
	k := flowKey{from: p.Header.SrcPort, to: p.Header.DstPort}
	if b := p.Bytes; b[0]>>4 == 6 {
		copy(k.src[:], b[8:24])
		copy(k.dst[:], b[24:40])
	} else {
		copy(k.src[:], b[12:16])
		copy(k.dst[:], b[16:20])
	}
	return k
}

// stream is the part of a flow that has passed.
type stream struct {
	first tcp.Seq // sequence number of byte 0
	next  uint64  // after the last byte that has passed
}

// parse fills in the fields of a packet from its bytes.
func (all streams) parse(p *Packet) {
	b := p.Bytes
	p.Size = uint32(len(b))
	n, total := extent(b)
	if total < n || total > len(b) {
		return
	}
	h, size, err := tcp.ParseHeader(b[n:total])
	if err != nil {
		return
	}
	p.Segment, p.Header = true, h
	k := p.flow()
	s := all[k]
	if h.Flags.Has(tcp.SYN) || s == nil {
		first := h.Seq
		if h.Flags.Has(tcp.SYN) {
			first++
		}
		if s == nil || s.first != first {
			s = &stream{first: first}
			all[k] = s
		}
	}
	seq := h.Seq
	if h.Flags.Has(tcp.SYN) {
		seq++
	}
	length := uint64(total - n - size)
	start := (seq - s.first).Unwrap(int64(s.next))
	if start < 0 || length == 0 {
		return
	}
	p.Start, p.End = uint64(start), uint64(start)+length
	s.next = max(s.next, p.End)
}

// extent returns where the TCP segment in a packet begins and ends; total is less than n if there
// is none.
func extent(b []byte) (n, total int) {
	switch {
	case len(b) >= 20 && b[0]>>4 == 4 && b[9] == 6 && b[0]&15 >= 5:
		return 4 * int(b[0]&15), int(binary.BigEndian.Uint16(b[2:]))
	case len(b) >= 40 && b[0]>>4 == 6 && b[6] == 6:
		return 40, 40 + int(binary.BigEndian.Uint16(b[4:]))
	}
	return 1, 0
}
