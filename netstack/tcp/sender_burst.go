package tcp

import "tcpwheel/wheel"

// sendBurst sends full segments after the one that sendOne has just sent, with the same header but
// for the sequence number, as far as the windows and the queue allow. It does what repeated calls
// of sendOne would do, but evaluates once what cannot change in between. It leaves the last queued
// segment, with PSH or FIN, and all unusual cases to sendOne.
func (snd *sender) sendBurst(now wheel.Time, o *Output) {
	if o.noBursts || !snd.ep.calm() || snd.ep.frtoCredit > 0 || snd.rcv.sack != nil || snd.writes.urgent || snd.fl.frto.Active() ||
		snd.cfg.Pacing || snd.cfg.Replay != nil || snd.cfg.Policy.Jitter != 0 {
		return
	}
	last := &o.Segments[len(o.Segments)-1]
	mss := snd.mss
	if last.Len != mss || last.Header.Flags&^ECE != ACK {
		return
	}
	pipe := snd.pipe()
	record := snd.unsentRecord(snd.queued())
	n := min((record-1)/mss, snd.wnd.Usable(snd.una, snd.nxt)/mss, (snd.cc.Cwnd()-min(snd.cc.Cwnd(), pipe))/mss)
	if record == 0 || n == 0 {
		return
	}
	sent, timer := uint32(0), snd.timer()
	for ; sent < n; sent++ {
		id, ok := snd.fl.sent.Push(now, snd.nxt, mss, 0)
		if !ok {
			break
		}
		timer.arm(snd, id, snd.fl.rexmitAt, o)
		if last.Len+mss <= o.MaxBurst {
			last.MSS = mss
			last.Len += mss
		} else {
			o.Segments = append(o.Segments, *last)
			next := &o.Segments[len(o.Segments)-1]
			next.Header.Seq = snd.nxt
			next.Offset = snd.stats.acked + uint64(snd.nxt.Sub(snd.dataUna()))
			next.Len, next.MSS = mss, 0
			last = next
		}
		snd.nxt = snd.nxt.Add(mss)
	}
	if sent > 0 {
		snd.fl.rate.sent(snd, now, snd.nxt)
	}
	snd.stats.segments += sent
	snd.stats.data += sent
	o.Counters.OutSegs += uint64(sent)
	o.Counters.TCPOrigDataSent += uint64(sent)
}
