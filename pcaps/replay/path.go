package replay

import (
	"sort"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp/ledger"
	"tcpwheel/wheel"
)

// path is one direction between the ends of a run. It decides the fate of each packet.
type path struct {
	run   *run
	flow  int
	trace *PathTrace

	last  wheel.Time     // the latest arrival of data
	away  int            // packets on their way
	index int            // of packets with data
	high  int64          // the end of all that was ever sent
	sent  []transmission // in order; not what is acknowledged, unless the run measures
	acked int64          // all before that was, unless the run measures
	acks  []ackSeen      // when its bytes were acknowledged, if the run measures
	spare []*inFlight    // have arrived
}

// transmission is a packet with data in a run.
type transmission struct {
	at, arrives wheel.Time
	start, end  int64
	try         int
	lost        bool
	spurious    bool          // its bytes had arrived, or were on their way
	filledIn    bool          // the capture does not show its fate
	blind       time.Duration // see PathTrace.blind
}

// carry implements carrier: an end has sent a packet.
func (r *run) carry(now wheel.Time, e *end, o *outgoing) { r.paths[e.side].carry(now, o) }

// arrive hands an end a packet.
func (r *run) arrive(now wheel.Time, to int, o *outgoing) {
	if p := r.paths[to]; r.measures {
		p.noteACK(now, o.ack)
	} else {
		p.forget(o.ack)
	}
	r.ends[to].receive(now, &o.header, o.bytes)
}

// forget forgets what was acknowledged when an ACK of all before a place arrived at the sender.
func (p *path) forget(ack int64) {
	p.acked = max(p.acked, ack)
	for len(p.sent) > 0 && p.sent[0].end <= p.acked {
		p.sent = p.sent[1:]
	}
}

// ackSeen is when all before a place was acknowledged.
type ackSeen struct {
	at    wheel.Time
	place int64
}

// noteACK notes that an ACK arrived at the sender of this direction.
func (p *path) noteACK(now wheel.Time, ack int64) {
	if n := len(p.acks); ack > 0 && (n == 0 || p.acks[n-1].place < ack) {
		p.acks = append(p.acks, ackSeen{now, ack})
	}
}

// ackedAt returns when all before a place was acknowledged, by ACKs of ever more, and whether it
// was.
func ackedAt(acks []ackSeen, place int64) (wheel.Time, bool) {
	i := sort.Search(len(acks), func(i int) bool { return acks[i].place >= place })
	if i == len(acks) {
		return 0, false
	}
	return acks[i].at, true
}

func (p *path) carry(now wheel.Time, o *outgoing) {
	// A packet is logged when it passes the point of capture: at its arrival if that is there.
	s := p.run.captured
	half := s.Ends[p.flow].Half
	event := Event{At: now.Add(half / 2), Flow: p.flow, Flags: o.header.Flags, Start: uint64(o.start), End: uint64(o.end), Ack: uint64(max(o.ack, 0))}
	atArrival := half > 0 && s.Ends[1-p.flow].Half == 0
	logs := p.run.options.log
	if logs && !atArrival {
		p.run.outcome.log = append(p.run.outcome.log, event)
	}
	// An ACK without data overtakes nothing, and holds up nothing: what follows has times of its
	// own.
	at := max(now.Add(p.trace.Base), p.last)
	switch {
	case o.end > o.start:
		x := p.judge(now, o.start, o.end, o.try)
		p.sent = append(p.sent, x)
		p.run.outcome.add(&x)
		if x.lost {
			return
		}
		at = max(x.arrives, now)
	case p.run.options.Key != ByIndex && within(p.trace.ACKLossSpans, now):
		return
	}
	if logs && atArrival {
		event.At = at
		p.run.outcome.log = append(p.run.outcome.log, event)
	}
	p.away++
	p.run.net.StartTimer(p.take(o).timer, at)
}

// inFlight is a packet on its path. When it has arrived, it serves for another packet.
type inFlight struct {
	path   *path
	packet outgoing
	timer  wheel.Timer
}

// take returns an inFlight for a packet.
func (p *path) take(o *outgoing) *inFlight {
	if n := len(p.spare); n > 0 {
		f := p.spare[n-1]
		p.spare = p.spare[:n-1]
		f.packet = *o
		return f
	}
	f := &inFlight{path: p, packet: *o}
	f.timer = p.run.net.NewTimer(f)
	return f
}

// Expire implements sim.Handler. The packet arrives.
func (f *inFlight) Expire(now wheel.Time) {
	p := f.path
	p.away--
	p.run.arrive(now, 1-p.flow, &f.packet)
	p.spare = append(p.spare, f)
}

// near is how far from the captured time a transmission may leave and still take as long as the
// captured one.
func (p *path) near() time.Duration { return max(p.trace.Base/4, sameInstant) }

// judge decides the fate of data that leaves now.
func (p *path) judge(now wheel.Time, start, end int64, try int) transmission {
	x := transmission{at: now, start: start, end: end, try: try}
	t := p.trace.try(start, try)
	p.index++
	known := false
	switch p.run.options.Key {
	case ByRange:
		if x.lost, known = p.trace.mostlyLost(start, end, try); !known {
			x.filledIn = true
			x.lost, known = p.lostThen(now, nil)
		}
	case ByTime:
		x.lost, known = p.lostThen(now, t)
	case ByIndex:
		if known = p.index <= len(p.trace.LostByIndex); known {
			x.lost = p.trace.LostByIndex[p.index-1]
		}
	}
	if !known {
		x.filledIn = true
		x.lost = p.draw(start, try)
		if p.run.horizon == 0 {
			p.run.horizon = now
		}
	}
	x.blind = p.trace.blind(now)
	p.findSpurious(&x)
	p.high = max(p.high, end)
	p.findArrival(&x, t)
	return x
}

// findSpurious finds whether the bytes of a retransmission had arrived, or were on their way.
func (p *path) findSpurious(x *transmission) {
	if x.end <= p.acked {
		x.spurious = true
		return
	}
	for i := len(p.sent) - 1; i >= 0 && x.start < p.high; i-- {
		o := &p.sent[i]
		if o.start > x.start || o.end < x.end {
			continue
		}
		if x.spurious = !o.lost; x.spurious || o.try == 1 {
			return // none of it left before its first transmission
		}
	}
}

// findArrival finds when a transmission arrives, for which the capture may have t.
func (p *path) findArrival(x *transmission, t *Try) {
	if t != nil && t.Fate == ledger.Delivered && x.at.Sub(t.Sent).Abs() <= p.near() {
		x.arrives = x.at.Add(t.Delay)
		if x.at.Sub(t.Sent).Abs() <= sameInstant {
			x.arrives = max(t.Sent.Add(t.Delay), x.at) // so that small errors do not add up
		}
	} else {
		x.arrives = x.at.Add(interpolate(p.trace.Delays, x.at, p.trace.Base))
		t = nil
	}
	if t != nil && t.Late {
		return
	}
	x.arrives = max(x.arrives, p.last)
	if !x.lost {
		p.last = x.arrives
	}
}

// lostThen reports whether nothing arrived that left at that time, if the capture shows it. A
// captured transmission of the same bytes speaks for itself if it left about then: else a
// retransmission that leaves a little sooner than in the capture would be lost in the span that the
// captured one has ended.
func (p *path) lostThen(now wheel.Time, t *Try) (lost, known bool) {
	if t != nil && t.Fate != ledger.Unknown && now.Sub(t.Sent).Abs() <= p.near() {
		return t.Fate == ledger.Lost, true
	}
	if within(p.trace.LossSpans, now) {
		return true, true
	}
	d := p.trace.Delays
	return false, len(d) > 0 && now <= d[len(d)-1].Sent.Add(p.near())
}

// draw decides by chance. The same transmission draws the same under each policy.
func (p *path) draw(start int64, try int) bool {
	x := uint64(start)*0x9e3779b97f4a7c15 + uint64(try)*0xbf58476d1ce4e5b9 + uint64(p.flow) + 1
	return float64(sim.Mix64(x)>>11)/(1<<53) < p.trace.chance()
}
