package tcp

import "tcpwheel/wheel"

// sendBurst sends full segments after the one that sendOne has just sent, with the same header but
// for the sequence number, as far as the windows and the queue allow. It does what repeated calls
// of sendOne would do, but evaluates once what cannot change in between. It leaves the last queued
// segment, with PSH or FIN, and all unusual cases to sendOne.
func (c *Conn) sendBurst(now wheel.Time, o *Output) {
	if o.noBursts || c.caState != CAOpen || c.rec.frtoCredit > 0 || c.rcv.sack != nil || c.urgent || c.fl.frto.Active() ||
		c.cfg.Pacing || c.cfg.Replay != nil || c.cfg.Policy.Jitter != 0 {
		return
	}
	last := &o.Segments[len(o.Segments)-1]
	mss := c.mss
	if last.Len != mss || last.Header.Flags&^ECE != ACK {
		return
	}
	pipe := c.pipe()
	record := c.unsentRecord(c.queued())
	n := min((record-1)/mss, c.snd.Usable(c.sndUna, c.sndNxt)/mss, (c.cc.Cwnd()-min(c.cc.Cwnd(), pipe))/mss)
	if record == 0 || n == 0 {
		return
	}
	sent, timer := uint32(0), c.timer()
	for ; sent < n; sent++ {
		id, ok := c.fl.sent.Push(now, c.sndNxt, mss, 0)
		if !ok {
			break
		}
		timer.arm(c, id, c.fl.rexmitAt, o)
		if last.Len+mss <= o.MaxBurst {
			last.MSS = mss
			last.Len += mss
		} else {
			o.Segments = append(o.Segments, *last)
			next := &o.Segments[len(o.Segments)-1]
			next.Header.Seq = c.sndNxt
			next.Offset = c.acked + uint64(c.sndNxt.Sub(c.dataUna()))
			next.Len, next.MSS = mss, 0
			last = next
		}
		c.sndNxt = c.sndNxt.Add(mss)
	}
	if sent > 0 {
		c.meterSent(now, c.sndNxt)
	}
	c.segsOut += sent
	c.dataOut += sent
	c.bytesSent += uint64(sent) * uint64(mss)
	o.Counters.OutSegs += uint64(sent)
	o.Counters.TCPOrigDataSent += uint64(sent)
}
