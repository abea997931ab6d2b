package up

import (
	"net/netip"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/internal/pcapng"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// Segment is a TCP segment at the stack's end of the link. It may hold several segments of a wire.
type Segment struct {
	Direction     pcapng.Direction
	Local, Remote netip.AddrPort
	Header        tcp.Header
	Size          uint32 // bytes of payload
}

// sequence returns how many sequence numbers the segment takes.
func (s *Segment) sequence() uint32 {
	n := s.Size
	if s.Header.Flags.Has(tcp.SYN) {
		n++
	}
	if s.Header.Flags.Has(tcp.FIN) {
		n++
	}
	return n
}

// parseSegment reads the headers of a packet. ok is false if it is no TCP segment, or a fragment of
// one.
func parseSegment(pkt *stack.PacketBuffer, d pcapng.Direction) (s Segment, ok bool) {
	b := firstView(pkt)
	if len(b) == 0 {
		return s, false
	}
	var src, dst netip.Addr
	var n int
	switch b[0] >> 4 {
	case 4:
		ip := header.IPv4(b)
		if len(b) < header.IPv4MinimumSize || ip.Protocol() != uint8(header.TCPProtocolNumber) || ip.More() || ip.FragmentOffset() != 0 {
			return s, false
		}
		n = int(ip.HeaderLength())
		src, dst = netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20]))
	case 6:
		if len(b) < header.IPv6MinimumSize || b[6] != uint8(header.TCPProtocolNumber) {
			return s, false
		}
		n = header.IPv6MinimumSize
		src, dst = netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40]))
	}
	if n == 0 || n > len(b) {
		return s, false
	}
	h, size, err := tcp.ParseHeader(b[n:])
	if err != nil || pkt.Size() < n+size {
		return s, false
	}
	from, to := netip.AddrPortFrom(src, h.SrcPort), netip.AddrPortFrom(dst, h.DstPort)
	s = Segment{Direction: d, Local: from, Remote: to, Header: h, Size: uint32(pkt.Size() - n - size)}
	if d == pcapng.Inbound {
		s.Local, s.Remote = to, from
	}
	return s, true
}

// firstView returns the beginning of a packet: its headers, unless they are in several views.
func firstView(pkt *stack.PacketBuffer) []byte {
	views, skip := pkt.AsViewList()
	for v := views.Front(); v != nil; v = v.Next() {
		if b := v.AsSlice(); len(b) > skip {
			return b[skip:]
		}
		skip -= v.Size()
	}
	return nil
}

// flows finds retransmissions and recoveries among the segments at the stack's end of the link. It
// works for any TCP. Multiple goroutines may invoke its methods.
type flows struct {
	mu  sync.Mutex
	all map[flowKey]*flow
}

type flowKey struct{ local, remote netip.AddrPort }

// flow is what the stack has sent on a connection.
type flow struct {
	iss  tcp.Seq // of its SYN, or the first sequence number seen
	next tcp.Seq // after the highest sequence number sent
	fin  bool    // was sent
	sent []sentSpan
}

// sentSpan is a range of sequence numbers in flight.
type sentSpan struct {
	start, end    tcp.Seq
	first         wheel.Time // its first transmission
	transmissions int
}

// Bounds of flows. Beyond them it forgets a connection, and does not recognise retransmissions.
const (
	maxFlows = 1 << 16
	maxSpans = 1 << 14
)

// recovery is the repair of a loss, as the sender sees it.
type recovery struct {
	end           tcp.Seq
	took          time.Duration // from the first transmission to the ACK
	transmissions int
}

// sending records a segment of the stack. It returns the number of the transmission, from 1, or 0
// for a segment without sequence numbers.
func (v *flows) sending(now wheel.Time, s *Segment) (transmission int) {
	k, n := flowKey{s.Local, s.Remote}, s.sequence()
	v.mu.Lock()
	defer v.mu.Unlock()
	if s.Header.Flags.Has(tcp.RST) {
		delete(v.all, k)
		return 0
	}
	if n == 0 {
		return 0
	}
	f := v.all[k]
	if f == nil || s.Header.Flags.Has(tcp.SYN) && s.Header.Seq != f.iss {
		f = v.add(k, s.Header.Seq)
	}
	f.fin = f.fin || s.Header.Flags.Has(tcp.FIN)
	return f.send(now, s.Header.Seq, s.Header.Seq.Add(n))
}

// add begins a flow. The caller holds the lock.
func (v *flows) add(k flowKey, iss tcp.Seq) *flow {
	if len(v.all) >= maxFlows {
		for any := range v.all {
			delete(v.all, any)
			break
		}
	}
	f := &flow{iss: iss, next: iss}
	v.all[k] = f
	return f
}

func (f *flow) send(now wheel.Time, start, end tcp.Seq) (transmission int) {
	transmission = 1
	if start.Before(f.next) {
		transmission = 2 // of bytes that are not in flight any more
		for i := range f.sent {
			if span := &f.sent[i]; span.start.Before(end) && start.Before(span.end) {
				span.transmissions++
				transmission = max(transmission, span.transmissions)
			}
		}
		start = f.next
	}
	if start.Before(end) && len(f.sent) < maxSpans {
		f.sent = append(f.sent, sentSpan{start, end, now, 1})
		f.next = end
	}
	return transmission
}

// acknowledged removes what a segment of the peer acknowledges, and returns the recoveries that it
// completes.
func (v *flows) acknowledged(now wheel.Time, s *Segment) (done []recovery) {
	k := flowKey{s.Local, s.Remote}
	v.mu.Lock()
	defer v.mu.Unlock()
	f := v.all[k]
	if f == nil {
		return nil
	}
	n := 0
	for ; s.Header.Flags.Has(tcp.ACK) && n < len(f.sent) && s.Header.Ack.AtOrAfter(f.sent[n].end); n++ {
		if span := f.sent[n]; span.transmissions > 1 {
			done = append(done, recovery{span.end, now.Sub(span.first), span.transmissions})
		}
	}
	f.sent = f.sent[n:]
	if s.Header.Flags.Has(tcp.RST) || f.fin && len(f.sent) == 0 {
		delete(v.all, k)
	}
	return done
}
