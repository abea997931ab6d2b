package tail

import (
	"encoding/binary"
	"sync"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// watch is told what passes on the path, in both directions, and finds out what happened to each connection. Multiple
// goroutines may invoke its methods.
type watch struct {
	size uint64 // octets of a response

	mu    sync.Mutex
	flows map[uint16]*flow // by the client's port
}

// flow is one connection. Octets of the server's stream count from 0, the first behind its SYN.
type flow struct {
	iss   tcp.Seq
	next  uint64 // behind the last octet that was sent
	again int    // segments that hold octets which were sent before
	lost  int    // segments

	first, dropped, resent, complete instant // of the response that counts, and of its last octet
	heard                            instant // the last ACK of new data of it that arrived between dropped and resent
	acked                            uint64  // octets that it acknowledged

	waiting map[uint64]wheel.Time // responses that have arrived and are not acknowledged, by their end
	delays  []time.Duration       // of ACKs of responses behind the warm ones
}

// instant is one that has come if ok.
type instant struct {
	at wheel.Time
	ok bool
}

func (i *instant) set(at wheel.Time) {
	if !i.ok {
		*i = instant{at, true}
	}
}

func newWatch(segments int) *watch {
	return &watch{size: uint64(segments) * octets, flows: make(map[uint16]*flow)}
}

// last is the octet that is lost once: the last of the response behind the warm ones.
func (w *watch) last() uint64 { return (warm+1)*w.size - 1 }

// tailed is a segment as watch sees it.
type tailed struct {
	header tcp.Header
	len    uint32
}

// parse reads an IPv4 packet with a segment.
func parse(b []byte) (s tailed, ok bool) {
	if len(b) < 20 || b[0]>>4 != 4 || b[9] != 6 {
		return s, false
	}
	n, total := 4*int(b[0]&15), int(binary.BigEndian.Uint16(b[2:]))
	if n < 20 || total < n || total > len(b) {
		return s, false
	}
	h, size, err := tcp.ParseHeader(b[n:total])
	return tailed{h, uint32(total - n - size)}, err == nil
}

// flow returns the connection of a segment, with the lock held.
func (w *watch) flow(s *tailed, fromServer bool) *flow {
	p := s.header.SrcPort
	if fromServer {
		p = s.header.DstPort
	}
	f := w.flows[p]
	if f == nil {
		f = &flow{waiting: make(map[uint64]wheel.Time)}
		w.flows[p] = f
	}
	return f
}

// span returns which octets of the server's stream a segment of its has.
func (f *flow) span(s *tailed) (start, end uint64) {
	start = f.offset(s.header.Seq)
	return start, start + uint64(s.len)
}

// offset returns the octet with a sequence number: the nearest one to what was sent last.
func (f *flow) offset(seq tcp.Seq) uint64 {
	return f.next + uint64(int64(int32(uint32(seq)-uint32(f.iss)-1-uint32(f.next))))
}

// sent is called for each packet that enters the path.
func (w *watch) sent(now wheel.Time, fromServer bool, b []byte, lost bool) {
	s, ok := parse(b)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.flow(&s, fromServer)
	switch {
	case !fromServer:
		f.acknowledged(now, w, s.header.Ack)
	case s.header.Flags.Has(tcp.SYN):
		f.iss = s.header.Seq
	case s.len > 0:
		f.transmitted(now, w, &s, lost)
	}
}

func (f *flow) transmitted(now wheel.Time, w *watch, s *tailed, lost bool) {
	start, end := f.span(s)
	if start < f.next {
		f.again++
		if start <= w.last() && w.last() < end && f.dropped.ok {
			f.resent.set(now)
		}
	} else if start <= warm*w.size && warm*w.size < end {
		f.first.set(now)
	}
	if lost {
		f.lost++
		f.dropped.set(now)
	}
	f.next = max(f.next, end)
}

// arrived is called for each packet that leaves the path.
func (w *watch) arrived(now wheel.Time, fromServer bool, b []byte) {
	s, ok := parse(b)
	if !ok || fromServer && s.len == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.flow(&s, fromServer)
	if !fromServer {
		if ack := f.offset(s.header.Ack); f.dropped.ok && !f.resent.ok && ack > max(f.acked, warm*w.size) {
			f.heard, f.acked = instant{now, true}, ack
		}
		return
	}
	start, end := f.span(&s)
	if start <= w.last() && w.last() < end {
		f.complete.set(now)
	}
	if end%w.size == 0 {
		f.waiting[end] = now
	}
}

// acknowledged notes how long the ACKs of responses took that have arrived.
func (f *flow) acknowledged(now wheel.Time, w *watch, ack tcp.Seq) {
	for end, at := range f.waiting {
		if f.offset(ack) >= end {
			delete(f.waiting, end)
			if end > warm*w.size {
				f.delays = append(f.delays, now.Sub(at))
			}
		}
	}
}
