package track

import (
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// Rexmit is a packet whose octets were sent before.
type Retransmission struct {
	Packet      int64
	FirstPacket int64      // the packet that had its first octet before, the first one if there were several; 0 if none was captured
	Seen        wheel.Time // by the capture
	Sent        wheel.Time // by the sender's clock
	PrevSent    wheel.Time // when they were sent last before, by that
	Bytes       int        // with SYN and FIN
	Seq         tcp.Seq    // of the first

	Kind    Kind
	GoBack  bool // the timer had expired before, and what was in flight then follows (only RTO)
	ByTimer bool // it was silence that caused it, and not an ACK

	Spurious Verdict
	Evidence Evidence

	start, end int64
	ts         uint32
	hasTS      bool
	seen       bool // an earlier transmission was captured
	tellsTime  bool // its TSval differs from that of the transmission before
	answered   bool // the first ACK of its octets has come
	paid       bool // by a DSACK
	proved     bool // ACKs had shown that an earlier transmission was lost, before the one that acknowledged it
	byModel    kindsByModel
	ambiguous  bool // the kind is what the best model says
}

// judge sets a verdict if its evidence is better than what there was.
func (r *Retransmission) judge(v Verdict, e Evidence) {
	if e > r.Evidence {
		r.Spurious, r.Evidence = v, e
	}
}

// again takes in octets below what was sent before: a retransmission, unless they only come late.
func (f *Flow) again(p *capture.Packet, at, now wheel.Time, start, end int64, probe bool) {
	h := &p.Header
	f.hasten(now, at, start, &h.Options)
	from := max(start, f.una)
	if m := &f.missed; start >= m.start && end <= m.end && (now.Sub(m.at) < lateStamp || start == m.start && f.idents.follows(identOf(p))) {
		if start == m.start {
			m.start = end
		}
		f.UnseenBytes -= min(end-start, f.UnseenBytes)
		f.Bytes += max(min(from, end)-start, 0) // the others are still missing
		f.tell(Late, p.Number, now, at, start, end, nil)
		f.arrivedLate(p, at, from, end)
		return
	}
	first, last := f.book.cut(from, max(end, from))
	if first < last {
		if s := f.book.at(first); s.missing && f.overtaken(s, first, p, now) {
			f.Reordered++
			f.tell(Late, p.Number, now, at, start, end, nil)
			f.arrivedLate(p, at, from, end)
			return
		}
	}
	if f.isLateOriginal(first, last, h) {
		f.tell(Late, p.Number, now, at, start, end, nil)
		f.original(start, end)
		return
	}
	f.Retransmissions++
	r := &Retransmission{
		Packet: p.Number, Seen: now, Sent: at, Bytes: int(end - start), Seq: h.Seq, start: start, end: end,
		ts: h.Options.TSVal, hasTS: h.Options.HasTimestamps,
	}
	for i := first; i < last; i++ {
		s := f.book.at(i)
		r.seen = r.seen || s.txs > 0
		if i == first {
			r.PrevSent, r.FirstPacket = s.sent, s.number
			if s.missing && s.after != 0 && (s.tail || at.Sub(s.sent) < f.leastRTT()-f.leastRTT()/8) {
				r.PrevSent = s.after // it was sent before what showed that it is missing, by far
			}
			r.tellsTime = r.hasTS && s.hasTS && s.ts != r.ts && !s.missing
		}
	}
	if first == last { // it is acknowledged already, but its sender did not know it then
		r.PrevSent, r.seen = at, true
		if s := f.past.find(start); s != nil {
			r.PrevSent, r.seen = s.sent, s.txs > 0
			r.FirstPacket = s.number
			r.proved = s.proved
			s.sent = at
		}
	}
	if probe {
		r.Kind, r.ByTimer = Probe, true
	} else {
		f.explain(r, first, last, h)
	}
	f.join(r, first, last)
	f.tell(Retransmitted, p.Number, now, at, start, end, r)
	f.touch(first, last, p, at)
	v := &f.view
	v.resent, v.cause = at, r.Kind
	if r.ByTimer {
		v.timed, v.fresh = at, true
		if r.Kind == RTO && !r.GoBack {
			v.lossy, v.recover = true, f.max
		}
		v.probed = v.probed || r.Kind == TLP
	}
}

// lateStamp is how much later than its ACK a packet may be captured, where several queues are captured at once.
const lateStamp = 5 * time.Millisecond

// touch notes a transmission of segments.
func (f *Flow) touch(first, last int, p *capture.Packet, at wheel.Time) {
	for i := first; i < last; i++ {
		s := f.book.at(i)
		if s.missing {
			s.missing, s.late = false, true
			f.Bytes += s.end - s.start
			if p.Header.Flags.Has(tcp.FIN) && s.end == f.finEnd {
				f.Bytes--
			}
			s.firstTS, s.id = p.Header.Options.TSVal, identOf(p)
			if s.number == 0 {
				s.number = p.Number
			}
		}
		s.place = placeOf(p)
		s.sent, s.ts, s.hasTS = at, p.Header.Options.TSVal, p.Header.Options.HasTimestamps
		if s.txs < 1<<15 {
			s.txs++
		}
	}
}

// arrivedLate fills what was missing with a first transmission.
func (f *Flow) arrivedLate(p *capture.Packet, at wheel.Time, start, end int64) {
	first, last := f.book.cut(start, max(end, start))
	for i := first; i < last; i++ {
		if s := f.book.at(i); s.missing {
			s.missing, s.txs, s.number, s.id = false, 1, p.Number, identOf(p)
			s.sent = min(s.sent, at) // before what stands behind it
			s.first = s.sent
			s.ts, s.firstTS, s.hasTS = p.Header.Options.TSVal, p.Header.Options.TSVal, p.Header.Options.HasTimestamps
			f.Bytes += s.end - s.start
		}
	}
}

// overtaken reports whether a packet that fills a gap was sent before what showed the gap, and only came later: its timestamp or its
// identification is older, or, where these do not tell, it came too soon to be an answer to what is missing.
func (f *Flow) overtaken(s *segment, i int, p *capture.Packet, now wheel.Time) bool {
	shown := s // with the stamps of what showed that it is missing, unless an ACK did
	for behind := i + 1; s.id == 0 && !s.hasTS && shown.number == 0 && behind < min(f.book.len(), i+64); behind++ {
		shown = f.book.at(behind)
	}
	if p.Header.Options.HasTimestamps && shown.hasTS {
		if d := int32(p.Header.Options.TSVal - shown.firstTS); d != 0 {
			return d < 0
		}
	}
	if order := f.idents.order(identOf(p), shown.id); order != 0 {
		return order < 0
	}
	least := f.leastRTT()
	return now.Sub(s.seen) < max(least-least/8, lateStamp/5)
}

// isLateOriginal reports whether a packet is older than what was seen of its octets: the original, overtaken by its retransmission.
func (f *Flow) isLateOriginal(first, last int, h *tcp.Header) bool {
	if first >= last || !h.Options.HasTimestamps {
		return false
	}
	s := f.book.at(first)
	return s.hasTS && s.number > 0 && int32(h.Options.TSVal-s.ts) < 0
}

// original judges the retransmission that has overtaken its original.
func (f *Flow) original(start, end int64) {
	f.Reordered++
	for i := len(f.rexmits) - 1; i >= 0; i-- {
		if r := f.rexmits[i]; r.start < end && start < r.end {
			r.judge(Spurious, ByCapture)
			return
		}
	}
}
