package tcp

import (
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// unsentRecord returns how many of the queued bytes may be in the next segment: those of the first
// record, or all.
func (snd *sender) unsentRecord(queued uint32) uint32 {
	if !snd.writes.hasRecords {
		return queued
	}
	m := snd.marks
	for len(m.records) > 0 && m.records[0].AtOrBefore(snd.nxt) {
		m.records = m.records[1:]
	}
	if len(m.records) == 0 {
		m.records, snd.writes.hasRecords = nil, false
		return queued
	}
	return m.records[0].Sub(snd.nxt)
}

// sendNew sends new data as far as the windows allow.
func (snd *sender) sendNew(now wheel.Time, o *Output) {
	// Data that waits at a closed window is no idle time. Linux checks when data is queued
	// (tcp_skb_entail), and when the window opens (tcp_ack_update_window), not when data leaves.
	if waits := snd.timers.runs(tcptimers.Persist) && !snd.persist.isCork; snd.hasSent && snd.fl.sent.Len() == 0 && !waits {
		snd.cc.OnIdle(now, now.Sub(snd.stats.lastSent), snd.rtt.est.RTO())
	}
	for {
		hold, sent := snd.sendOne(now, false, o)
		if sent && !snd.allSent() {
			snd.sendBurst(now, o)
			continue
		}
		switch {
		case sent:
			snd.timers.stop(o, tcptimers.Persist)
			snd.held.app = true
		case hold == holdCork:
			snd.persist.startCork(snd, now, o)
		case hold == holdWindow:
			snd.held.peer = true
			switch {
			case snd.fl.sent.Len() > 0: // its ACK opens the window
				snd.timers.stop(o, tcptimers.Persist)
			case snd.wnd.Usable(snd.una, snd.nxt) > 0:
				snd.persist.startCork(snd, now, o) // the window is small: override timeout, RFC 9293 §3.8.6.2.1
			default:
				snd.persist.start(snd, now, o)
			}
		case hold == holdNagle:
			snd.held.app = true
			snd.timers.stop(o, tcptimers.Persist)
		default: // an ACK or the pacer will release it
			snd.timers.stop(o, tcptimers.Persist)
		}
		return
	}
}

// sendOne sends one new segment, or returns why not. (holdNone, false) means that congestion
// control or pacing held it back. free bypasses both.
func (snd *sender) sendOne(now wheel.Time, free bool, o *Output) (hold holdReason, sent bool) {
	queued := snd.queued()
	usable := snd.wnd.Usable(snd.una, snd.nxt)
	if queued == 0 {
		if !snd.writes.fin || snd.writes.finSent {
			return holdEmpty, false
		}
		// A lone FIN. RFC 9293 §3.4 gives it a sequence number, so it must be in the peer's window.
		// The congestion window and the pacer do not hold it, because it has no data, as in Linux
		// (tcp_cwnd_test). A FIN on a data segment waits with the data.
		if usable == 0 {
			return holdWindow, false
		}
		return holdNone, snd.sendData(now, 0, true, o)
	}
	mss := snd.segmentMSS()
	n, record := mss, snd.unsentRecord(queued)
	if record < mss || usable < mss {
		n, hold = nextSegmentLen(sendInput{
			Queued: record, Usable: usable, MSS: mss, MaxWnd: snd.wnd.Recent,
			Idle: snd.fl.sent.Len() == 0, SmallOut: snd.writes.smallOut(snd.una), Complete: snd.writes.fin || record < queued,
			NoDelay: snd.opts.NoDelay, Minshall: snd.cfg.Minshall, Cork: snd.opts.Cork, More: snd.writes.more >= moreHeld,
			// F-RTO needs this segment, whatever its size, to find out whether the flight was lost.
			Override: snd.writes.waited || free || snd.fl.frto.Active(),
		})
		if hold != holdNone {
			return hold, false
		}
	}
	if !free {
		if snd.fl.frto.Active() {
			if snd.ep.frtoCredit == 0 {
				snd.held.cwnd = true
				return holdNone, false
			}
		} else if !snd.cc.allowsNew(snd, n) {
			snd.held.cwnd = true
			return holdNone, false
		}
		if !snd.cc.departs(snd, now, o) {
			return holdNone, false
		}
	}
	if !snd.sendData(now, n, snd.writes.fin && n == queued && usable > n, o) {
		return holdNone, false
	}
	// Else retransmissions would wait for what the replay let leave.
	if !snd.cfg.Replay.limits() || !snd.rcv.sackOn {
		snd.cc.spend(snd, n)
	}
	if snd.ep.frtoCredit > 0 {
		snd.ep.frtoCredit--
	}
	if n < mss {
		snd.writes.small, snd.writes.hasSmall = snd.nxt, true
	}
	if queued == n || n < mss {
		snd.writes.waited = false // the wait was for this segment
	}
	return holdNone, true
}

// smallOut reports whether a small segment is unacknowledged, for Minshall's variant
// (RFC 9293 §A.3). Knowing the last one suffices.
func (w *writes) smallOut(una Seq) bool {
	w.hasSmall = w.hasSmall && w.small.After(una)
	return w.hasSmall
}

// sendData sends n bytes of new data, and the FIN if fin. It reports false if the flight is full.
func (snd *sender) sendData(now wheel.Time, n uint32, fin bool, o *Output) bool {
	length, flags, segFlags := n, Flags(0), sentFlags(0)
	if fin {
		length++
		flags, segFlags = FIN, sentFIN
	}
	queued := snd.queued()
	record := snd.unsentRecord(queued)
	if n > 0 && n == record && (record < queued || snd.writes.more == moreNone || snd.writes.waited || snd.writes.fin) {
		// RFC 9293 §3.9.1.2 (MUST-61): PSH is set "in the last buffered segment (i.e., when there is no
		// more queued data to be sent)". MSG_MORE announces more, until the wait for it is over. Each
		// record has its own end.
		flags |= PSH
		segFlags |= sentPSH
	}
	seq := snd.nxt
	snd.needFlight(o)
	snd.fl.rate.sent(snd, now, seq.Add(length))
	id, ok := snd.fl.sent.Push(now, seq, length, segFlags)
	if !ok {
		return false
	}
	snd.nxt = seq.Add(length)
	snd.writes.finSent = snd.writes.finSent || fin
	snd.persist.byteOut = false
	if snd.cfg.Policy.OneSample && !snd.rtt.timed {
		snd.rtt.timed, snd.fl.timedSeq, snd.fl.timedAt = true, seq, now
	}
	snd.timer().sent(snd, now, id, o)
	snd.rcv.delack.onDataSent(now, &snd.cfg.Policy.DelAck)
	out := snd.appendSegment(now, seq, flags, o)
	out.Offset, out.Len = snd.stats.acked+uint64(seq.Sub(snd.dataUna())), n
	if ect, cwr := snd.ecn.OnSend(n > 0); ect {
		out.ECT = true
		if cwr {
			out.Header.Flags |= CWR
		}
	}
	snd.stats.lastSent, snd.hasSent = now, true
	snd.stats.data++
	snd.tlp.due = true
	o.Counters.OutSegs++
	if n > 0 {
		o.Counters.TCPOrigDataSent++
	}
	snd.cc.departed(snd, now, n)
	return true
}
