package tail

import (
	"sync"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// watch observes the segments on the path, in both directions, and records what happened to each
// connection. Multiple goroutines may invoke its methods.
type watch struct {
	size uint64 // bytes of a response

	mu    sync.Mutex
	flows map[uint16]*watched // by the client's port
}

// watched is one connection.
type watched struct {
	iss           tcp.Seq
	next          uint64 // highest stream offset sent, plus one
	retransmitted int    // segments
	lost          int    // segments

	// Of the response that counts: its first transmission, the loss of its last byte, the
	// retransmission of that byte, and its arrival.
	first, dropped, resent, complete instant

	// the last ACK of new data of that response that arrived between dropped and resent
	lastAck instant
	acked   uint64 // the stream offset that it acknowledged

	waiting map[uint64]wheel.Time // arrival of the responses that are not acknowledged, by their end
	delays  []time.Duration       // from arrival to ACK, of the responses after the warm-up
}

// instant is a time that has come if ok.
type instant struct {
	at wheel.Time
	ok bool
}

// set records the first time.
func (i *instant) set(at wheel.Time) {
	if !i.ok {
		*i = instant{at, true}
	}
}

func newWatch(segments int) *watch {
	return &watch{size: uint64(segments) * segmentBytes, flows: make(map[uint16]*watched)}
}

// last is the stream offset of the byte that is lost once: the last of the response after the
// warm-up.
func (w *watch) last() uint64 { return (warm+1)*w.size - 1 }

// segment is a segment as the path sees it, with the offsets of its bytes in its stream.
type segment struct {
	header     tcp.Header
	start, end uint64
}

// empty reports whether a segment carries no data.
func (s *segment) empty() bool { return s.start == s.end }

const fin = tcp.FIN

// flow returns the connection of a segment. The caller holds the lock.
func (w *watch) flow(s *segment, fromServer bool) *watched {
	p := s.header.SrcPort
	if fromServer {
		p = s.header.DstPort
	}
	f := w.flows[p]
	if f == nil {
		f = &watched{waiting: make(map[uint64]wheel.Time)}
		w.flows[p] = f
	}
	return f
}

// offset returns the offset in the server's stream that an ACK names.
func (f *watched) offset(ack tcp.Seq) uint64 {
	return uint64((ack - f.iss - 1).Unwrap(int64(f.next)))
}

// sent records a segment that enters the path.
func (w *watch) sent(now wheel.Time, fromServer bool, s segment, lost bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.flow(&s, fromServer)
	switch {
	case !fromServer:
		f.acknowledged(now, w, s.header.Ack)
	case s.header.Flags.Has(tcp.SYN):
		f.iss = s.header.Seq
	case !s.empty():
		f.transmitted(now, w, &s, lost)
	}
}

func (f *watched) transmitted(now wheel.Time, w *watch, s *segment, lost bool) {
	if s.start < f.next {
		f.retransmitted++
		if w.hasLast(s) && f.dropped.ok {
			f.resent.set(now)
		}
	} else if s.start <= warm*w.size && warm*w.size < s.end {
		f.first.set(now)
	}
	if lost {
		f.lost++
		f.dropped.set(now)
	}
	f.next = max(f.next, s.end)
}

// hasLast reports whether a segment has the byte that is lost once.
func (w *watch) hasLast(s *segment) bool { return s.start <= w.last() && w.last() < s.end }

// loses reports whether a segment of the server is the one to lose: the first with that byte.
func (w *watch) loses(s segment) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hasLast(&s) && !w.flow(&s, true).dropped.ok
}

// arrived records a segment that leaves the path.
func (w *watch) arrived(now wheel.Time, fromServer bool, s segment) {
	if fromServer && s.empty() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.flow(&s, fromServer)
	if !fromServer {
		if ack := f.offset(s.header.Ack); f.dropped.ok && !f.resent.ok && ack > max(f.acked, warm*w.size) {
			f.lastAck, f.acked = instant{now, true}, ack
		}
		return
	}
	if w.hasLast(&s) {
		f.complete.set(now)
	}
	if s.end%w.size == 0 {
		f.waiting[s.end] = now
	}
}

// acknowledged records how long the ACKs took of the responses that have arrived.
func (f *watched) acknowledged(now wheel.Time, w *watch, ack tcp.Seq) {
	for end, at := range f.waiting {
		if f.offset(ack) >= end {
			delete(f.waiting, end)
			if end > warm*w.size {
				f.delays = append(f.delays, now.Sub(at))
			}
		}
	}
}
