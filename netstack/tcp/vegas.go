package tcp

import (
	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// vegasCheck is TCP Vegas's fine-grained loss check (Config.VegasCheck), for any congestion
// controller. Conn.detect calls it once for each ACK; nothing else knows of it.
type vegasCheck struct {
	check   congestion.VegasCheck
	rto     tcptimers.Estimator // from exact RTT samples, without a floor
	rexmits uint32              // past.rexmits at the last ACK
}

// checkVegas marks the first segment lost if it is older than the fine-grained timeout. TCP Vegas
// checks this on duplicate ACKs and on the first ACKs after a retransmission.
func (p *past) checkVegas(snd *sender, now wheel.Time, a *ackFacts, o *Output) {
	if p.vegas == nil {
		rto := tcptimers.NewRFC6298(tcptimers.StandardConfig{Bounds: tcptimers.Bounds{Min: 1}})
		p.vegas = &vegasCheck{rto: rto, rexmits: p.rexmits}
	}
	v := p.vegas
	if a.measured {
		v.rto.Sample(tcptimers.Sample{RTT: a.measuredRTT})
	}
	if p.rexmits != v.rexmits {
		v.check.OnRetransmit()
		v.rexmits = p.rexmits
	}
	if snd.fl.sent.Len() == 0 || snd.ep.afterTimeout() || !a.duplicate && a.acked == 0 {
		return
	}
	s := snd.fl.sent.seg(snd.fl.sent.Front())
	if s.Sacked() || s.RetransOut() || !v.check.OnAck(now, a.duplicate, s.Sent, v.rto.RTO()) {
		return
	}
	snd.fl.markLost(snd.fl.sent.Front())
	if snd.losses().partialEnds() && s.Seq.Before(snd.ep.recover) {
		snd.ep.goOn() // the window was already reduced for this flight, as in Brakmo and Peterson
	}
	if !snd.ep.fast() {
		snd.ep.enterRecovery(snd, now, a, o)
	}
}
