package tun

import (
	"encoding/binary"
	"slices"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
)

// transmissions counts, for one direction, how often each byte of each TCP stream has passed. The
// loss model sim.LostRanges needs the bytes of a packet and the number of their transmission. It is
// not safe for concurrent use.
//
// Offset 0 of a stream is the byte after the SYN; the FIN counts as a byte. A SYN with another
// sequence number begins a new stream. Without a SYN, offset 0 is the first byte seen.
type transmissions struct {
	streams map[streamKey]*stream
	order   []streamKey // oldest first, to forget the oldest
}

type streamKey struct {
	src, dst         tcpip.Address
	srcPort, dstPort uint16
}

// stream is one direction of one connection.
type stream struct {
	first uint32 // sequence number of offset 0
	next  uint64 // highest offset seen, plus one
	syns  uint32
	spans []byteSpan // sorted and disjoint; adjacent spans differ in sent
}

// byteSpan is a range of bytes that have passed equally often.
type byteSpan struct {
	from, to uint64
	sent     uint32
}

const (
	maxStreams = 1 << 16 // beyond this, the oldest stream is forgotten
	maxSpans   = 1 << 12 // per stream: beyond this, the lowest half is forgotten
)

// annotate sets p's Start, End and Attempt from pkt, a packet of split. All are 0 for a packet
// without TCP data. A SYN without data has an empty range and the number of its transmission.
func (ts *transmissions) annotate(pkt *stack.PacketBuffer, p *sim.Packet) {
	b := pkt.TransportHeader().Slice()
	if pkt.TransportProtocolNumber != header.TCPProtocolNumber || len(b) < header.TCPMinimumSize {
		return
	}
	flags, seq := header.TCPFlags(b[tcpFlags]), binary.BigEndian.Uint32(b[4:])
	length := uint64(pkt.Data().Size())
	if flags.Contains(header.TCPFlagFin) {
		length++
	}
	isSyn := flags.Contains(header.TCPFlagSyn)
	if length == 0 && !isSyn {
		return
	}
	key, ok := keyOf(pkt)
	if !ok {
		return
	}
	s := ts.streams[key]
	switch {
	case isSyn && (s == nil || s.first != seq+1):
		s = ts.add(key, seq+1)
	case s == nil:
		s = ts.add(key, seq)
	}
	if isSyn {
		s.syns++
		p.Attempt = s.syns
		if length == 0 {
			return
		}
		seq++ // of data on a SYN
	}
	start := tcp.Seq(seq - s.first).Unwrap(int64(s.next))
	if start < 0 {
		return // before the first byte seen
	}
	p.Start, p.End = uint64(start), uint64(start)+length
	p.Attempt = s.pass(p.Start, p.End)
}

// add begins a stream.
func (ts *transmissions) add(key streamKey, first uint32) *stream {
	if ts.streams == nil {
		ts.streams = make(map[streamKey]*stream)
	}
	if ts.streams[key] == nil {
		if len(ts.order) == maxStreams {
			delete(ts.streams, ts.order[0])
			ts.order = ts.order[1:]
		}
		ts.order = append(ts.order, key)
	}
	s := &stream{first: first}
	ts.streams[key] = s
	return s
}

// pass records that the bytes [start, end) pass. It returns the transmission number of the byte
// among them that has passed most often.
func (s *stream) pass(start, end uint64) (attempt uint32) {
	s.next = max(s.next, end)
	i, _ := slices.BinarySearchFunc(s.spans, start, func(o byteSpan, start uint64) int {
		if o.to <= start {
			return -1
		}
		return 1
	})
	j := i
	var parts []byteSpan
	if n := len(s.spans); i == n && (n == 0 || s.spans[n-1].to != start || s.spans[n-1].sent != 1) {
		s.spans = append(s.spans, byteSpan{start, end, 1})
		return s.forget(1)
	} else if i == n {
		s.spans[n-1].to = end
		return 1
	}
	if i > 0 { // may merge with the first part
		i--
		parts = append(parts, s.spans[i])
	}
	at := start
	for ; j < len(s.spans) && s.spans[j].from < end; j++ {
		o := s.spans[j]
		if o.from < at {
			parts = append(parts, byteSpan{o.from, at, o.sent})
			o.from = at
		}
		if at < o.from {
			parts = append(parts, byteSpan{at, o.from, 1})
			attempt = max(attempt, 1)
		}
		at = min(o.to, end)
		parts = append(parts, byteSpan{o.from, at, o.sent + 1})
		attempt = max(attempt, o.sent+1)
		if at < o.to {
			parts = append(parts, byteSpan{at, o.to, o.sent})
		}
	}
	if at < end {
		parts = append(parts, byteSpan{at, end, 1})
		attempt = max(attempt, 1)
	}
	if j < len(s.spans) {
		parts = append(parts, s.spans[j])
		j++
	}
	s.spans = slices.Replace(s.spans, i, j, merged(parts)...)
	return s.forget(attempt)
}

// merged joins adjacent spans that have passed equally often.
func merged(parts []byteSpan) []byteSpan {
	out := parts[:0]
	for _, p := range parts {
		if last := len(out) - 1; last >= 0 && out[last].to == p.from && out[last].sent == p.sent {
			out[last].to = p.to
		} else {
			out = append(out, p)
		}
	}
	return out
}

// forget keeps the spans within their bound. It returns attempt.
func (s *stream) forget(attempt uint32) uint32 {
	if len(s.spans) > maxSpans {
		s.spans = slices.Delete(s.spans, 0, maxSpans/2)
	}
	return attempt
}

// keyOf returns the addresses and ports of a packet of split.
func keyOf(pkt *stack.PacketBuffer) (k streamKey, ok bool) {
	network, transport := pkt.NetworkHeader().Slice(), pkt.TransportHeader().Slice()
	if len(network) == 0 || len(transport) < 4 {
		return k, false
	}
	if pkt.NetworkProtocolNumber == header.IPv4ProtocolNumber {
		ip := header.IPv4(network)
		k.src, k.dst = ip.SourceAddress(), ip.DestinationAddress()
	} else {
		ip := header.IPv6(network)
		k.src, k.dst = ip.SourceAddress(), ip.DestinationAddress()
	}
	k.srcPort, k.dstPort = binary.BigEndian.Uint16(transport), binary.BigEndian.Uint16(transport[2:])
	return k, true
}
