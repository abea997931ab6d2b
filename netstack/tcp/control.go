package tcp

import (
	"time"

	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// control is congestion control: how much may be in the network, and at what pace.
type control struct {
	congestion.Controller // nil before ESTABLISHED
}

// allows reports whether congestion control allows n more bytes.
func (w *control) allows(snd *sender, n uint32) bool {
	if snd.fl.sent.Pipe().Bytes == 0 {
		return true // with nothing in flight no ACK would ever allow more
	}
	switch {
	case snd.ep.reducing(snd):
		return n <= snd.fl.sndcnt
	case snd.ep.afterTimeout() && snd.fl.sent.RetransOut().Segments > snd.stats.delivered-snd.fl.lossDelivered:
		// RFC 5681 §3.1: after a timeout the window is one segment, and a delivered segment makes
		// room for one more. In bytes alone hundreds of small ones would fit and overrun the path.
		return false
	}
	return uint64(snd.pipe())+uint64(n) <= uint64(w.Cwnd())
}

// spend charges n sent bytes to PRR during fast recovery.
func (w *control) spend(snd *sender, n uint32) {
	if snd.ep.reducing(snd) {
		snd.fl.sndcnt -= min(n, snd.fl.sndcnt)
		snd.fl.prr.OnSent(n)
	}
}

// allowsNew reports whether n bytes of new data may leave.
func (w *control) allowsNew(snd *sender, n uint32) bool {
	// Duplicate ACKs without SACK do not say how much has arrived.
	if !snd.cfg.Replay.limits() || !snd.rcv.sackOn && (snd.ep.repairing() || snd.dup.N() > 0) {
		return w.allows(snd, n)
	}
	delivered := snd.stats.acked + uint64(snd.fl.sent.Sacked().Bytes)
	l := snd.cfg.Replay.limit(delivered)
	if l == nil {
		return w.allows(snd, n)
	}
	sent := snd.stats.acked + uint64(snd.nxt.Sub(snd.dataUna())) + uint64(n)
	if sent > delivered+uint64(l.Bytes) {
		return l.AtLeast && w.allows(snd, n)
	}
	if !snd.ep.on() {
		w.Raise(snd.pipe() + n)
	}
	return true
}

// grow passes an ACK of new data, which delivers so many bytes, to the congestion controller. Where
// the path reorders, SACKs grow the window too, as in Linux (tcp_may_raise_cwnd), and measure the
// round trip.
func (w *control) grow(snd *sender, now wheel.Time, a *ackFacts, delivered uint32, reorders bool, o *Output) {
	rtt, acked := time.Duration(0), a.acked
	if a.hasRTT && !a.ackedRexmit {
		rtt = a.rtt
	}
	if reorders {
		acked = delivered
		if a.hasSack {
			rtt = a.sackRTT
		}
	}
	delayed := w.OnAck(now, congestion.Ack{
		Acked: acked, Delivered: delivered, Flight: a.flight,
		Una: uint32(snd.una), Nxt: uint32(snd.nxt),
		RTT: rtt, SRTT: snd.rtt.est.SRTT(), Limited: snd.fl.use.limits(snd), ECE: a.ece, SYN: a.syn,
	})
	if delayed {
		o.Counters.TCPHystartDelayDetect++
		o.Counters.TCPHystartDelayCwnd += uint64(w.Cwnd() / snd.mss)
	}
}

// departs reports whether the pacer allows a segment now, and starts its timer if not.
// Departures within the current tick are allowed.
func (w *control) departs(snd *sender, now wheel.Time, o *Output) bool {
	if !snd.cfg.Pacing {
		return true
	}
	p := &snd.cfg.Policy
	next := snd.needPast().pacer.Next(now)
	if next <= now.Add(p.Tick) {
		return true
	}
	if !snd.timers.runs(tcptimers.Pacing) {
		snd.timers.start(o, tcptimers.Pacing, p.Deadline(next.Add(-p.Tick), 0))
	}
	return false
}

func (w *control) departed(snd *sender, now wheel.Time, n uint32) {
	if snd.cfg.Pacing {
		rate, _ := congestion.PacingRate(w.Cwnd(), w.Ssthresh(), snd.rtt.est.SRTT())
		snd.needPast().pacer.OnSent(now, n, rate)
	}
}

// change replaces the congestion controller if its configuration has changed since was.
func (w *control) change(snd *sender, was *Config) {
	if !snd.established() || snd.cfg.Control == was.Control && snd.cfg.Congestion == was.Congestion && snd.cfg.Pacing == was.Pacing {
		return
	}
	cfg := snd.cfg.Congestion
	cfg.MSS, cfg.SYNLost, cfg.Paced, cfg.KeepCurve = snd.mss, snd.rtt.synLost, snd.cfg.Pacing, snd.cfg.LateOriginals
	cc, err := congestion.Replace(w.Controller, snd.cfg.Control, cfg)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	w.Controller = cc
}

// fork gives a copy a congestion control of its own, with the window that the replay knows.
func (w *control) fork(snd *sender) {
	if !snd.established() {
		return // it is made when the handshake is over
	}
	window := w.Cwnd()
	if snd.cfg.Replay.limits() {
		if l := snd.cfg.Replay.limit(snd.stats.acked + uint64(snd.fl.sent.Sacked().Bytes)); l != nil && !l.AtLeast {
			window = l.Bytes
		}
	}
	cfg := snd.cfg.Congestion
	cfg.MSS, cfg.Paced, cfg.InitialWindow = snd.mss, snd.cfg.Pacing, max(window, snd.pipe(), snd.mss)
	cc, err := congestion.New(snd.cfg.Control, cfg)
	if err != nil {
		panic("BUG: " + err.Error()) // the configuration was checked
	}
	w.Controller = cc
}
