package tcp

import (
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// corkWait is how long a cork, or a window too small for a full segment, holds data back.
// RFC 9293 §3.8.6.2.1 wants an override timeout of 0.1 to 1.0 s; Linux's cork waits 200 ms.
const corkWait = 200 * time.Millisecond

// persist is what the sender does at a closed window.
type persist struct {
	unanswered uint8 // window and keepalive probes without an answer
	probes     uint8 // window probes since the window closed
	byteOut    bool  // a window probe sent the byte, or FIN, at SND.NXT
	ackAtEdge  bool  // the last ACK was at the edge of the peer's window, below SND.NXT
	isCork     bool  // the timer, if running, times the cork or the small window
}

// start starts the window probe timer: RFC 9293 §3.8.6.1.
func (p *persist) start(snd *sender, now wheel.Time, o *Output) {
	if snd.timers.runs(tcptimers.Persist) && !p.isCork {
		return
	}
	p.isCork = false
	if p.probes == 0 {
		snd.needPast().closedAt = now
	}
	rto := snd.rtt.est.RTO()
	if n := snd.rtt.est.Backoffs(); n > 0 {
		// The interval has its own backoff, so undo the RTO's. The RTO ceiling may have cut off
		// some of it.
		rto = max(rto>>min(n, 10), snd.rtt.est.SRTT()+4*snd.rtt.est.RTTVar())
	}
	snd.timers.start(o, tcptimers.Persist, snd.cfg.Policy.Deadline(now, snd.cfg.Policy.PersistInterval(rto, int(p.probes))))
}

// startCork bounds the wait of a small segment.
func (p *persist) startCork(snd *sender, now wheel.Time, o *Output) {
	if !snd.timers.runs(tcptimers.Persist) || !p.isCork {
		p.isCork = true
		snd.timers.start(o, tcptimers.Persist, snd.cfg.Policy.Deadline(now, corkWait))
	}
}

// expire probes a closed window, or ends the wait for a full segment. It reports whether the
// connection must end.
func (p *persist) expire(snd *sender, now wheel.Time, o *Output) (over bool) {
	if snd.allSent() || !snd.established() {
		return false
	}
	if snd.wnd.Usable(snd.una, snd.nxt) > 0 {
		snd.writes.waited = true
		if snd.wnd.Wnd < snd.mss {
			snd.wnd.overridden()
			snd.updateMSS()
		}
		return false // output sends it
	}
	if snd.fl.sent.Len() > 0 {
		return false
	}
	// RFC 9293 §3.8.6.1 (MUST-37): "As long as the receiving TCP peer continues to send
	// acknowledgments in response to the probe segments, the sending TCP peer MUST allow the
	// connection to stay open." After the application has closed, R2 applies (RFC 9293 §3.8.6.1).
	if p.unanswered > 0 && snd.r2Over(now, snd.rcv.lastRecv, int(p.unanswered)) ||
		snd.rcv.closed && p.probes > 0 && snd.r2Over(now, snd.past.closedAt, int(p.probes)) {
		return true
	}
	if p := snd.needPast(); p.closedAt == 0 {
		p.closedAt = now // the window closed while a small segment waited
	}
	p.unanswered += min(1, 255-p.unanswered)
	p.probes += min(1, 255-p.probes)
	o.Counters.TCPWinProbe++
	if snd.cfg.Policy.EmptyProbes {
		snd.sendAckFrom(now, snd.una-1, o)
		p.start(snd, now, o)
		return false
	}
	p.byteOut = true
	o.Counters.OutSegs++
	// RFC 9293 §3.8.6.1 (MUST-36): "regularly transmit at least one octet of new data (if
	// available)". The byte is not in flight; it counts as sent only if it is acknowledged.
	flags := Flags(0)
	n := min(snd.queued(), 1)
	if n == 0 {
		flags = FIN
	}
	out := snd.appendSegment(now, snd.nxt, flags, o)
	out.Offset, out.Len = snd.stats.acked+uint64(snd.nxt.Sub(snd.dataUna())), n
	p.start(snd, now, o)
	return false
}

// arrived moves SND.NXT over the byte, or FIN, that a window probe sent and the peer
// acknowledged.
func (p *persist) arrived(snd *sender, now wheel.Time, o *Output) {
	flags := sentFlags(0)
	if snd.queued() == 0 {
		if !snd.writes.fin || snd.writes.finSent {
			return
		}
		flags = sentFIN
	}
	snd.needFlight(o)
	id, ok := snd.fl.sent.Push(now, snd.nxt, 1, flags)
	if !ok {
		return
	}
	// It is unknown which probe this answers. Two transmissions exclude it from RTT samples.
	snd.fl.sent.seg(id).Transmissions = 2
	snd.nxt = snd.nxt.Add(1)
	snd.writes.finSent = snd.writes.finSent || flags != 0
	p.byteOut = false
}

// waitingSince returns since when the oldest byte has waited for its ACK or for the window.
func (snd *sender) waitingSince(now wheel.Time) wheel.Time {
	if id := snd.fl.sent.Front(); id != 0 {
		return snd.fl.sent.seg(id).FirstSent
	}
	if snd.persist.probes > 0 {
		return snd.past.closedAt
	}
	return now
}
