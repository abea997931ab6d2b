package tcp

import (
	"time"

	"tcpwheel/wheel"
)

// sendLimit is what limits a sender that has data. Its values are those of Linux's enum tcp_chrono.
type sendLimit uint8

const (
	limitNone   sendLimit = iota // nothing to send, nothing in flight
	limitOther                   // the congestion window, the pacer, or the application
	limitWindow                  // the peer's window
	limitBuffer                  // the send buffer: the application waits for room in it

	sendLimits
)

// sendMeter measures a sender for Info, as Linux's tcp_info does. Conn allocates it when data is
// first written.
type sendMeter struct {
	spent [sendLimits - 1]time.Duration // by each limit but limitNone
	since wheel.Time                    // when limit began

	rate        float32 // delivery rate, bits/s; 0 if unknown
	distance    uint32  // the most bytes by which later segments overtook one
	overtakings uint32  // ACKs that showed reordering
	limit       sendLimit
	idleLimited bool // rate was limited by the application
}

// rateSample measures a delivery rate over one segment of each round trip, as tcp_rate.c does over
// each segment.
type rateSample struct {
	on        bool       // a sample is under way
	idle      bool       // the application limited the sender when the segment was sent
	end       Seq        // of the segment
	sentAt    wheel.Time // when it was sent
	ackedFrom wheel.Time // the last delivery before that
	sentFrom  wheel.Time // when that was sent
	delivered uint64     // bytes delivered by then

	deliveredAt wheel.Time // the last delivery
	idleUntil   uint64     // limited by the application until this many bytes are delivered
}

// deliveredBytes returns how many bytes of the stream the peer is known to have.
func (snd *sender) deliveredBytes() uint64 {
	return snd.stats.acked + uint64(snd.fl.sent.Sacked().Bytes)
}

// sent begins a delivery rate sample with a segment of new data that ends at end, unless one
// is under way. A sample of several segments sent at once is that of the last. A sender with
// nothing in flight was limited by its application. sent must be called before the segment is
// in flight.
func (r *rateSample) sent(snd *sender, now wheel.Time, end Seq) {
	if snd.meter == nil {
		snd.meter = &sendMeter{since: now}
	}
	if r.on {
		if r.sentAt == now {
			r.end = end
		}
		return
	}
	from, total := r.sentAt, snd.deliveredBytes()
	if snd.fl.sent.Len() == 0 {
		from, r.deliveredAt, r.idleUntil = now, now, total+1
	}
	r.on, r.idle, r.end = true, r.idleUntil > 0, end
	r.sentAt, r.sentFrom, r.ackedFrom, r.delivered = now, from, r.deliveredAt, total
}

// retransmitted ends a sample whose segment is retransmitted.
func (r *rateSample) retransmitted(seq, end Seq) {
	if r.on && seq.Before(r.end) && r.end.AtOrBefore(end) {
		r.on = false
	}
}

// acked ends a sample whose segment has been delivered. a.delivered is above 0.
func (r *rateSample) acked(snd *sender, now wheel.Time, a *ackFacts) {
	if snd.meter == nil || snd.fl == &atRest {
		return
	}
	m := snd.meter
	total := snd.deliveredBytes()
	r.deliveredAt = now
	if total > r.idleUntil {
		r.idleUntil = 0
	}
	if !r.on || snd.una.Before(r.end) && !(a.sacked > 0 && snd.fl.sackedAt(r.end-1)) {
		return
	}
	r.on = false
	// The faster of sending and acknowledging does not count: ACKs are bundled, and queues hold
	// segments back.
	interval := max(r.sentAt.Sub(r.sentFrom), now.Sub(r.ackedFrom))
	if least, ok := snd.rack.MinRTT(); interval <= 0 || ok && interval < least {
		return
	}
	// A sample that the application limited counts only if it is faster.
	rate := float32(8 * float64(total-min(total, r.delivered)) / interval.Seconds())
	if !r.idle || rate >= m.rate {
		m.rate, m.idleLimited = rate, r.idle
	}
}

// updateMeter notes what limits the sender from now on, at the end of output. The cases are those
// of Linux's tcp_write_xmit and tcp_cwnd_validate.
func (snd *sender) updateMeter(now wheel.Time) {
	m := snd.meter
	if m == nil {
		if snd.queued() == 0 && snd.fl.sent.Len() == 0 {
			return
		}
		m = &sendMeter{since: now}
		snd.meter = m
	}
	if snd.held.app && !snd.fl.use.full && snd.fl != &atRest {
		snd.fl.rate.idleUntil = snd.deliveredBytes() + uint64(snd.pipe())
	}
	limit := limitOther
	switch {
	case snd.fl.sent.Len() == 0 && snd.allSent():
		limit = limitNone
	case snd.held.peer:
		limit = limitWindow
	case snd.writes.blocked && snd.opts.NotSentLowat == 0 && snd.queued() == 0 && !snd.fl.use.limits(snd):
		limit = limitBuffer
	}
	m.setLimit(now, limit)
}

// setLimit notes what limits the sender from now on.
func (m *sendMeter) setLimit(now wheel.Time, limit sendLimit) {
	if limit == m.limit {
		return
	}
	if m.limit != limitNone {
		m.spent[m.limit-1] += now.Sub(m.since)
	}
	m.limit, m.since = limit, now
}

// maxReordering is Linux's tcp_max_reordering, segments.
const maxReordering = 300

// noteReordering counts an ACK that delivers a segment that others overtook.
func (m *sendMeter) noteReordering(a *ackFacts, o *Output) {
	if a.reordered {
		o.Counters.TCPSACKReorder++
		m.distance = max(m.distance, a.distance)
		m.overtakings++
	}
}

// reorders reports whether the path reorders by more than duplicate ACKs tolerate.
func (m *sendMeter) reorders(mss uint32) bool { return m != nil && m.distance > dupThresh*mss }

// fillInfo sets the fields of an Info that m measures.
func (m *sendMeter) fillInfo(now wheel.Time, i *Info) {
	spent := m.spent
	if m.limit != limitNone {
		spent[m.limit-1] += max(now.Sub(m.since), 0)
	}
	i.RwndLimited, i.SndbufLimited = spent[limitWindow-1], spent[limitBuffer-1]
	i.Reordering = min(max(i.Reordering, uint32((uint64(m.distance)+uint64(i.SndMSS)-1)/uint64(i.SndMSS))), maxReordering)
	i.ReorderingSeen = m.overtakings
	i.BusyTime = spent[limitOther-1] + i.RwndLimited + i.SndbufLimited
	i.DeliveryRate, i.DeliveryRateAppLimited = uint64(m.rate), m.idleLimited
}
