package tcp

import "tcpwheel/wheel"

// sendSYN sends the SYN or SYN-ACK for the first time.
func (snd *sender) sendSYN(now wheel.Time, o *Output) {
	if snd.fl.sent.Len() == 0 {
		snd.needFlight(o)
		id, ok := snd.fl.sent.Push(now, snd.iss, 1, sentSYN)
		if !ok {
			panic("BUG: no room for a SYN")
		}
		snd.nxt = snd.iss.Add(1)
		if snd.cfg.Policy.OneSample {
			snd.rtt.timed, snd.fl.timedSeq, snd.fl.timedAt = true, snd.iss, now
		}
		snd.emitSYN(now, 0, o)
		snd.timer().sent(snd, now, id, o)
		return
	}
	// A simultaneous open: send our SYN again, as a SYN-ACK.
	id := snd.fl.sent.Front()
	snd.rtt.timed = false // RFC 6298 §3: Karn's algorithm
	snd.fl.sent.Retransmit(now, id)
	snd.emitSYN(now, snd.fl.sent.Get(id).Transmissions-1, o)
	snd.timer().sent(snd, now, id, o)
}

// synWindow returns the window field of our SYN.
func synWindow(cfg *Config, opts *SocketOptions) uint16 {
	wnd := cfg.RecvBuffer
	if n := opts.WindowClamp; n != 0 {
		wnd = min(wnd, n)
	}
	return synWindowField(wnd)
}

// announcedMSS returns RMSS, the MSS that our SYN announces.
func (t *terms) announcedMSS(maxSeg uint16) uint16 {
	mss := advertisedMSS(int(t.mtu), int(t.ipHeaderLen))
	if maxSeg != 0 {
		mss = min(mss, maxSeg)
	}
	return mss
}

// emitSYN builds the SYN, or the SYN-ACK once the peer's SYN has arrived. rexmit counts earlier
// transmissions.
func (snd *sender) emitSYN(now wheel.Time, rexmit uint8, o *Output) {
	o.Segments = append(o.Segments, Outgoing{Rexmit: rexmit})
	h := &o.Segments[len(o.Segments)-1].Header
	h.Seq, h.Flags = snd.iss, SYN
	h.Window = synWindow(snd.cfg, snd.opts)
	opt := &h.Options
	opt.HasMSS, opt.MSS = true, snd.terms.announcedMSS(snd.opts.MaxSeg)
	ack := snd.rcv.opened
	if ack {
		h.Flags |= ACK
		h.Ack = snd.rcv.nxt()
		opt.HasTimestamps, opt.SACKPermitted, opt.HasWScale = snd.rcv.tsOn, snd.rcv.sackOn, snd.rcv.win.scaled
		opt.TSEcr, _ = snd.rcv.paws.Recent()
		if snd.ecn.On() {
			h.Flags |= ECE
		}
	} else {
		opt.HasTimestamps, opt.SACKPermitted, opt.HasWScale = snd.cfg.Timestamps, snd.cfg.SACK, snd.cfg.WScale
		// RFC 3168 §6.1.1.1: a host may retransmit its SYN without ECN, in case ECN caused the
		// loss.
		if snd.cfg.ECN && rexmit == 0 {
			h.Flags |= ECE | CWR
		}
	}
	if opt.HasTimestamps {
		opt.TSVal = snd.timestamp(now)
	}
	if opt.HasWScale {
		opt.WScale = snd.rcv.win.scale
	}
	snd.stats.segments++
	if rexmit > 0 {
		o.Counters.RetransSegs++
		o.Counters.TCPSynRetrans++
		snd.needPast().rexmits++
	} else {
		o.Counters.OutSegs++
	}
}

// updateMSS recomputes Eff.snd.MSS.
func (snd *sender) updateMSS() {
	optionLen := 0
	if snd.rcv.tsOn {
		optionLen = timestampsLen
	}
	snd.mss = snd.terms.effectiveMSS(snd, optionLen)
	if snd.established() {
		snd.cc.SetMSS(snd.mss)
	}
}

func (t *terms) effectiveMSS(snd *sender, optionLen int) uint32 {
	peer := t.peerMSS
	if snd.opts.MaxSeg != 0 {
		peer = min(peer, snd.opts.MaxSeg)
	}
	mss := uint32(effectiveMSS(peer, int(t.mtu), int(t.ipHeaderLen), optionLen))
	if snd.cfg.Replay != nil { // the captured sender has bounded it
		return mss
	}
	return snd.wnd.boundMSS(mss)
}

// ownEcho reports whether tsecr can be a timestamp of our SYN.
func (snd *sender) ownEcho(now wheel.Time, tsecr uint32) bool {
	id := snd.fl.sent.Front()
	if id == 0 {
		return false
	}
	first := snd.timestamp(snd.fl.sent.Get(id).FirstSent)
	return !tsBefore(tsecr, first) && !tsBefore(snd.timestamp(now), tsecr)
}
