package track

import (
	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// sendData handles the sequence space of p. at is when it was sent, now when it was captured.
func (f sending) sendData(p *capture.Packet, at, now wheel.Time) {
	h := &p.Header
	if !f.started {
		f.start(h.Seq)
		f.firstSeen, f.firstID = now, ipID(p)
		if p.SegLen() == 0 {
			return
		}
	}
	start, ok := f.plausible(h.Seq)
	if !ok {
		f.ignoreFact(Ignored)
		return
	}
	n := int64(p.SegLen())
	end := start + n
	if start == 0 && f.HasSYN && !h.Flags.Has(tcp.SYN) { // it has no SYN, whatever its number says
		if p.Len > 1 {
			start++
		} else if h.Flags.Has(tcp.FIN) {
			f.ignoreFact(Ignored)
			return
		}
	}
	if p.Len > 0 {
		f.DataPackets++
	}
	if f.isKeepalive(p, start) {
		f.keepalive(p, at, now, start, end)
		return
	}
	if n == 0 {
		if start > f.max && !f.isStale(h) && !p.Problems.Has(capture.BadChecksum) {
			f.addGap(p, start, at, now) // it is empty, but shows how much was sent before it
		} else if start == f.max {
			f.view.nothingMore = at
		}
		return
	}
	if f.isStale(h) {
		f.Stale++
		f.ignoreFact(Ignored)
		return
	}
	if p.Len > 0 && f.fin && start == f.finEnd-1 {
		f.refuteFIN()
	}
	if h.Flags.Has(tcp.FIN) {
		if f.resendsFIN(p, start, now) {
			f.finSeen, f.finACK = now, f.other().pos(h.Ack)
			f.ignoreFact(Acked)
			return
		}
		f.fin, f.finEnd, f.finSeen, f.finACK = true, end, now, f.other().pos(h.Ack)
	}
	probe := f.window.closed() && p.Len <= 1 && start >= f.seenUna && !h.Flags.HasAny(tcp.SYN|tcp.FIN)
	if probe {
		f.WindowProbes++
		f.emit(WindowProbe, p.Number, now, at, start, end, nil)
		if start >= f.max {
			f.holdProbe(p, at, now, start, end)
			return
		}
	}
	if h.Flags.Has(tcp.SYN) && f.answersSYN(p, start) {
		if f.conn.Facts != nil {
			f.conn.Facts.classify(SentNew, nil)
		}
		return
	}
	f.sendBytes(p, at, now, start, end, probe)
}

// sendBytes handles bytes that count: old ones, a gap before them, and new ones.
func (f sending) sendBytes(p *capture.Packet, at, now wheel.Time, start, end int64, probe bool) {
	if end > f.max && end > f.window.edge {
		hearing(f).deliverAllowing(end, now, at)
	}
	if start < f.max {
		f.sendOld(&oldBytes{p: p, at: at, now: now, start: start, end: min(end, f.max), probe: probe})
		start = f.max
	} else if start > f.max {
		f.addGap(p, start, at, now)
	}
	if end > start {
		f.sendNew(p, at, now, start, end)
	}
}

// holdProbe keeps the new byte of a window probe, which the receiver need not accept: see sendNew
// and acceptProbe.
func (w *Windows) holdProbe(p *capture.Packet, at, now wheel.Time, start, end int64) {
	o := &p.Header.Options
	w.probe = &outstanding{
		start: start, end: end, seen: now, firstSent: at, sent: at, packet: p.Number, id: ipID(p), captureSpot: captureSpot(p),
		firstTS: o.TSVal, ts: o.TSVal, hasTS: o.HasTimestamps, transmissions: 1, probe: true,
	}
}

// keepalive counts a keepalive, or a window probe of that form.
func (f sending) keepalive(p *capture.Packet, at, now wheel.Time, start, end int64) {
	kind := Keepalive
	if f.window.closed() {
		kind = WindowProbe
		f.WindowProbes++
	} else {
		f.Keepalives++
	}
	f.ignoreFact(kind)
	f.emit(kind, p.Number, now, at, start, end, nil)
}

// sendNew handles new data.
func (f sending) sendNew(p *capture.Packet, at, now wheel.Time, start, end int64) {
	h, v := &p.Header, &f.view
	if f.board.len() == 0 {
		v.flightBegan = at
	}
	if last := maxTime(v.newData, v.retransmitted); last != 0 && at.Sub(last) >= max(leastTimeout, f.RTT.Min) && f.other().view.newData <= last {
		f.afterSilence = end
	}
	f.pacing.note(f.Flow, at, end-start)
	f.ipIDs.newest = ipID(p)
	v.newData, v.moreWritten = at, !h.Flags.HasAny(tcp.PSH|tcp.FIN|tcp.SYN)
	f.emit(SentNew, p.Number, now, at, start, end, nil)
	if f.conn.cfg.Limits && p.Len > 0 {
		f.limitSent(at)
	}
	size := f.segmentSize()
	if n := int64(p.SegLen()); n > 3*size && f.conn.Handshake.SYN == 0 && !f.superSized() {
		size = n // this path uses segments of that size
	}
	f.Bytes += max(end-start-int64(p.SegLen()-p.Len), 0)
	o := &h.Options
	if f.probe != nil && f.probe.start == start {
		start = f.acceptProbe()
	}
	id, spot := ipID(p), captureSpot(p)
	for start < end {
		cut := min(start+size, end)
		if end-cut == 1 && h.Flags.Has(tcp.FIN) {
			cut = end // the FIN belongs to the last segment
		}
		s := f.board.push(f.conn.memory) // field by field: a copy of what was just stored is slow
		s.start, s.end, s.seen, s.firstSent, s.sent, s.packet = start, cut, now, at, at, p.Number
		s.id, s.captureSpot = id, spot
		s.firstTS, s.ts, s.hasTS, s.transmissions = o.TSVal, o.TSVal, o.HasTimestamps, 1
		start = cut
	}
	f.max = max(f.max, start)
	f.trim()
}

// acceptProbe makes the byte of the last window probe part of the flight and returns its end. The
// byte was sent twice, or may have been: no RTT is measured by it.
func (f *Flow) acceptProbe() int64 {
	s := f.probe
	f.probe = nil
	f.extend(*s)
	return s.end
}

// addGap records that bytes before start are missing: lost before the point of capture, late, or
// not captured.
func (f sending) addGap(p *capture.Packet, start int64, at, now wheel.Time) {
	f.emit(Missing, p.Number, now, at, f.max, start, nil)
	if f.timedOut(start, at) {
		f.view.afterTimeout, f.view.recover = true, start
	}
	after := maxTime(f.view.newData, f.view.nothingMore)
	f.extend(outstanding{
		start: f.max, end: start, seen: now, firstSent: at, sent: at, prevSeen: after, missing: true,
		id: ipID(p), firstTS: p.Header.Options.TSVal, hasTS: p.Header.Options.HasTimestamps,
		tailLike: f.view.moreWritten && at.Sub(after) > f.minRTT()/4,
	})
}

// timedOut reports whether the missing bytes below start were sent before a timeout. After a
// silence, a single segment came, and its ACK triggered data further ahead than that ACK allows. So
// the single segment was a retransmission of data never captured, and the missing bytes will be,
// too.
func (f sending) timedOut(start int64, at wheel.Time) bool {
	return f.lag() > 0 && start-f.max > 2*f.segmentSize() && f.afterSilence != 0 && f.afterSilence == f.max && f.una == f.max && at.Sub(f.view.unaMoved) <= f.answerTime()
}

// superSized reports whether packets above Ethernet's MTU must be super-packets. On loopback they
// need not.
func (f sending) superSized() bool { return !f.Src.Addr().IsLoopback() }

// isStale reports whether Dst drops a packet because it has already echoed a later timestamp (RFC
// 7323 §5.3 (R1)). One tick is tolerated, as in Linux.
func (t *Timestamps) isStale(h *tcp.Header) bool {
	m := &t.stamps
	return h.Options.HasTimestamps && m.any && !h.Flags.Has(tcp.SYN) && int32(h.Options.TSVal-m.echoed) < -1
}

// answersSYN reports whether p is the SYN-ACK of a simultaneous open (RFC 9293 §3.5, Figure 8). No
// packet was lost there.
func (f sending) answersSYN(p *capture.Packet, start int64) bool {
	if !p.Header.Flags.Has(tcp.ACK) {
		return false
	}
	first := !f.synacked
	f.synacked = true
	return first && f.HasSYN && start == 0 && f.max > 0 && f.other().HasSYN
}

// resendsFIN reports whether p is an ACK that carries the FIN a second time, as some stacks send in
// a simultaneous close. It leaves at once, and acknowledges more than the FIN before, or answers the
// other end's FIN, which no ACK alone has answered.
func (f sending) resendsFIN(p *capture.Packet, start int64, now wheel.Time) bool {
	g := f.other()
	if p.Len > 0 || !f.fin || start != f.finEnd-1 {
		return false
	}
	ack := g.pos(p.Header.Ack)
	if ack > f.finACK && now.Sub(f.finSeen) < leastTimer {
		return true
	}
	return g.fin && ack == g.finEnd && now.Sub(g.finSeen) <= f.lag()+f.answerTime() && f.view.nothingMore <= g.finSeen
}

// refuteFIN forgets a FIN, as data has its sequence number: a damaged packet had the flag. The byte
// stays if later ones were sent or the FIN is acknowledged.
func (f sending) refuteFIN() {
	f.fin = false
	n := f.board.len()
	if n == 0 || f.max != f.finEnd || f.seenUna >= f.finEnd {
		return
	}
	if last := f.board.at(n - 1); last.end-last.start > 1 {
		last.end--
	} else {
		f.board.dropLast()
	}
	f.max--
}

// isKeepalive reports whether p is a keepalive, or a window probe of the same form: at most one
// byte at SND.NXT-1, with everything acknowledged (RFC 9293 §3.8.4).
func (f sending) isKeepalive(p *capture.Packet, start int64) bool {
	return p.Len <= 1 && !p.Header.Flags.HasAny(tcp.SYN|tcp.FIN) && p.Header.Flags.Has(tcp.ACK) &&
		start == f.max-1 && f.seenUna == f.max && f.other().started
}
