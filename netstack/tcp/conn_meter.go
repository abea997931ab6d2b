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
	spent [sendLimits]time.Duration
	since wheel.Time // when limit began
	limit sendLimit

	// A delivery rate is measured over one segment of each round trip, as tcp_rate.c does over each
	// segment.
	sampling   bool       // a sample is under way
	idleSample bool       // the application limited the sender when the segment was sent
	end        Seq        // of the segment
	sentAt     wheel.Time // when it was sent
	ackedFrom  wheel.Time // the last delivery before that
	sentFrom   wheel.Time // when that was sent
	delivered  uint64     // bytes delivered by then

	deliveredAt wheel.Time // the last delivery
	idleUntil   uint64     // limited by the application until this many bytes are delivered

	distance    uint32 // the most bytes by which later segments overtook one
	overtakings uint32 // ACKs that showed reordering

	bytes       uint64 // delivery rate: so many bytes
	interval    time.Duration
	idleLimited bool // bytes and interval were limited by the application
}

// deliveredBytes returns how many bytes of the stream the peer is known to have.
func (c *Conn) deliveredBytes() uint64 { return c.acked + uint64(c.fl.sent.Sacked().Bytes) }

// meterSent begins a delivery rate sample with a segment of new data that ends at end, unless one
// is under way. A sample of several segments sent at once is that of the last. It must be called
// before the segment is in flight.
func (c *Conn) meterSent(now wheel.Time, end Seq) {
	m := c.meter
	if m == nil {
		m = &sendMeter{since: now, idleUntil: 1} // as in Linux, the first sample counts as limited
		c.meter = m
	}
	if m.sampling {
		if m.sentAt == now {
			m.end = end
		}
		return
	}
	from := m.sentAt
	if c.fl.sent.Len() == 0 {
		from, m.deliveredAt = now, now
	}
	m.sampling, m.idleSample, m.end = true, m.idleUntil > 0, end
	m.sentAt, m.sentFrom, m.ackedFrom, m.delivered = now, from, m.deliveredAt, c.deliveredBytes()
}

// meterRetransmit ends a sample whose segment is retransmitted.
func (c *Conn) meterRetransmit(seq, end Seq) {
	if m := c.meter; m != nil && m.sampling && seq.Before(m.end) && m.end.AtOrBefore(end) {
		m.sampling = false
	}
}

// meterAck ends a sample whose segment has been delivered. a.delivered is above 0.
func (c *Conn) meterAck(now wheel.Time, a *ackFacts) {
	m := c.meter
	if m == nil {
		return
	}
	total := c.deliveredBytes()
	m.deliveredAt = now
	if total > m.idleUntil {
		m.idleUntil = 0
	}
	if !m.sampling || c.sndUna.Before(m.end) && !(a.sacked > 0 && c.sackedAt(m.end-1)) {
		return
	}
	m.sampling = false
	// The faster of sending and acknowledging does not count: ACKs are bundled, and queues hold
	// segments back.
	bytes, interval := total-min(total, m.delivered), max(m.sentAt.Sub(m.sentFrom), now.Sub(m.ackedFrom))
	if least, ok := c.rec.rack.MinRTT(); interval <= 0 || ok && interval < least {
		return
	}
	// A sample that the application limited counts only if it is faster.
	if !m.idleSample || m.interval == 0 || float64(bytes)*float64(m.interval) >= float64(m.bytes)*float64(interval) {
		m.bytes, m.interval, m.idleLimited = bytes, interval, m.idleSample
	}
}

// sackedAt reports whether the segment in flight with sequence number seq is SACKed.
func (c *Conn) sackedAt(seq Seq) bool {
	id := c.fl.sent.Find(seq)
	return id != 0 && c.fl.sent.seg(id).Sacked()
}

// updateMeter notes what limits the sender from now on, at the end of output. The cases are those
// of Linux's tcp_write_xmit and tcp_cwnd_validate.
func (c *Conn) updateMeter(now wheel.Time) {
	m := c.meter
	if m == nil {
		if c.queued() == 0 && c.fl.sent.Len() == 0 {
			return
		}
		m = &sendMeter{since: now, idleUntil: 1}
		c.meter = m
	}
	if c.rec.appLimited && !c.fl.use.full {
		m.idleUntil = c.deliveredBytes() + uint64(c.pipe())
	}
	limit := limitOther
	switch {
	case c.fl.sent.Len() == 0 && c.allSent():
		limit = limitNone
	case c.rec.rwndHeld:
		limit = limitWindow
	case c.writerWaits && c.queued() == 0 && !c.cwndLimited():
		limit = limitBuffer
	}
	if limit != m.limit {
		m.spent[m.limit] += now.Sub(m.since)
		m.limit, m.since = limit, now
	}
}

// maxReordering is Linux's tcp_max_reordering, segments.
const maxReordering = 300

// noteReordering counts an ACK that delivers a segment that others overtook.
func (c *Conn) noteReordering(a *ackFacts, o *Output) {
	if a.reordered {
		o.Counters.TCPSACKReorder++
		c.meter.distance = max(c.meter.distance, a.distance)
		c.meter.overtakings++
	}
}

// fillInfo sets the fields of an Info that m measures.
func (m *sendMeter) fillInfo(now wheel.Time, i *Info) {
	spent := m.spent
	spent[m.limit] += max(now.Sub(m.since), 0)
	i.RwndLimited, i.SndbufLimited = spent[limitWindow], spent[limitBuffer]
	i.Reordering = min(max(i.Reordering, uint32((uint64(m.distance)+uint64(i.SndMSS)-1)/uint64(i.SndMSS))), maxReordering)
	i.ReorderingSeen = m.overtakings
	i.BusyTime = spent[limitOther] + i.RwndLimited + i.SndbufLimited
	if m.interval > 0 {
		i.DeliveryRate = uint64(8 * float64(m.bytes) / m.interval.Seconds())
		i.DeliveryRateAppLimited = m.idleLimited
	}
}

// SetWriterWaits says whether the application waits for room in the send buffer, for
// Info.SndbufLimited. It takes effect with the next call.
func (c *Conn) SetWriterWaits(waits bool) { c.writerWaits = waits }
