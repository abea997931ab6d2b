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
	rexmits uint32              // rareState.rexmits at the last ACK
}

// checkVegas marks the first segment lost if it is older than the fine-grained timeout. TCP Vegas
// checks this on duplicate ACKs and on the first ACKs after a retransmission.
func (c *Conn) checkVegas(now wheel.Time, a *ackFacts, o *Output) {
	rare := c.needRare()
	if rare.vegas == nil {
		rto := tcptimers.NewRFC6298(tcptimers.StandardConfig{Bounds: tcptimers.Bounds{Min: 1}})
		rare.vegas = &vegasCheck{rto: rto, rexmits: rare.rexmits}
	}
	v := rare.vegas
	if a.measured {
		v.rto.Sample(tcptimers.Sample{RTT: a.measuredRTT})
	}
	if c.rare.rexmits != v.rexmits {
		v.check.OnRetransmit()
		v.rexmits = c.rare.rexmits
	}
	if c.fl.sent.Len() == 0 || c.caState >= CALoss || !a.duplicate && a.acked == 0 {
		return
	}
	s := c.fl.sent.seg(c.fl.sent.Front())
	if s.Sacked() || s.RetransOut() || !v.check.OnAck(now, a.duplicate, s.Sent, v.rto.RTO()) {
		return
	}
	c.markLost(c.fl.sent.Front())
	if c.cfg.Reno && c.caState < CACWR && s.Seq.Before(c.rec.recover) {
		c.caState = CACWR // the window was already reduced for this flight, as in Brakmo and Peterson
	}
	if c.caState != CARecovery {
		c.enterRecovery(now, a, o)
	}
}
