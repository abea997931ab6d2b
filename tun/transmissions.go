package tun

import (
	"encoding/binary"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/ledger"
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
	first  uint32 // sequence number of offset 0
	next   int64  // highest offset seen, plus one
	syns   uint32
	passed []ledger.Set // the bytes that have passed at least once, at least twice, and so on
}

const (
	maxStreams = 1 << 16 // beyond this, the oldest stream is forgotten
	maxRanges  = 1 << 12 // per stream: beyond this, the lowest half is forgotten
)

// annotate sets p's Start, End and Attempt from pkt, a packet of split. All are 0 for a packet
// without TCP data. A SYN without data has an empty range and the number of its transmission.
func (ts *transmissions) annotate(pkt *stack.PacketBuffer, p *sim.Packet) {
	b := pkt.TransportHeader().Slice()
	if pkt.TransportProtocolNumber != header.TCPProtocolNumber || len(b) < header.TCPMinimumSize {
		return
	}
	flags, seq := header.TCPFlags(b[tcpFlags]), binary.BigEndian.Uint32(b[4:])
	length := int64(pkt.Data().Size())
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
	start := tcp.Seq(seq - s.first).Unwrap(s.next)
	if start < 0 {
		return // before the first byte seen
	}
	p.Start, p.End = uint64(start), uint64(start+length)
	p.Attempt = s.pass(ledger.Range{Start: start, End: start + length})
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

// pass records that bytes pass. It returns the transmission number of the byte among them that has
// passed most often.
func (s *stream) pass(r ledger.Range) (attempt uint32) {
	s.next = max(s.next, r.End)
	for parts := []ledger.Range{r}; len(parts) > 0; attempt++ {
		if int(attempt) == len(s.passed) {
			s.passed = append(s.passed, nil)
		}
		before := &s.passed[attempt]
		var again []ledger.Range
		for _, p := range parts {
			again = append(again, before.Common(p)...)
			before.Add(p)
		}
		parts = again
	}
	ranges, most := 0, ledger.Set(nil)
	for _, set := range s.passed {
		if ranges += len(set); len(set) > len(most) {
			most = set
		}
	}
	if ranges > maxRanges {
		pos := most[len(most)/2].End
		for i := range s.passed {
			s.passed[i].Forget(pos)
		}
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
