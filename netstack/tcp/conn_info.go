package tcp

import (
	"tcpwheel/wheel"
)

// Info returns a snapshot of the connection. Before Init it is the zero Info. It costs O(1).
func (c *Conn) Info(now wheel.Time) Info {
	if c.cfg == nil {
		return Info{}
	}
	i := Info{
		State: c.state, CAState: c.caState,
		ATO: c.rcv.delack.adaptiveDelay(), Probes: int(c.unanswered),

		Unacked: c.fl.sent.Outstanding().Segments, Sacked: c.fl.sent.Sacked().Segments,
		Lost: c.fl.sent.Lost().Segments, Retrans: c.fl.sent.RetransOut().Segments,
		Reordering: dupThresh, ReoWnd: c.rec.rack.ReoWnd(),

		Delivered: uint64(c.delivered),
		SegsIn:    uint64(c.segsIn), SegsOut: uint64(c.segsOut), DataSegsIn: uint64(c.rcv.segments), DataSegsOut: uint64(c.dataOut),
		BytesSent: c.bytesSent, BytesAcked: c.acked, BytesReceived: c.rcv.received,
		NotSent: uint64(c.queued()),

		SndMSS: c.mss, RcvMSS: c.recvMSS(), AdvMSS: uint32(c.announcedMSS()),
		PMTU: c.mtu, SndWnd: c.snd.Wnd, SndWScale: c.sndScale, RcvWScale: c.rcv.win.scale,

		Timestamps: c.rcv.tsOn, SACK: c.rcv.sackOn, WScale: c.wsOn, ECN: c.ecn.On(),
		SndUna: c.sndUna - c.iss, SndNxt: c.sndNxt - c.iss,

		Policy: c.cfg.Policy.Name,
	}
	if i.ATO == 0 {
		i.ATO = c.cfg.Policy.DelAck.Delay
	}
	if c.est != nil {
		i.RTO, i.SRTT, i.RTTVar, i.Backoff = c.est.RTO(), c.est.SRTT(), c.est.RTTVar(), c.est.Backoffs()
	}
	if c.caState == CALoss {
		i.Retransmits = c.est.Backoffs()
	}
	i.MinRTT, _ = c.rec.rack.MinRTT()
	i.RcvRTT, _ = c.rcv.rtt.RTT()
	if c.state >= StateSynReceived {
		i.RcvWnd, i.RcvSpace = c.rcv.wnd(), c.rcv.win.Buff()
		i.RcvNxt = c.rcv.nxt() - c.rcv.irs
	}
	if r := c.rare; r != nil {
		i.TotalRetrans, i.BytesRetrans = uint64(r.rexmits), r.bytesRexmit
		i.DeliveredCE, i.DSACKDups = uint64(r.deliveredCE), uint64(r.dsacks)
	}
	if c.meter != nil {
		c.meter.fillInfo(now, &i)
	}
	if c.cc != nil {
		i.Control = c.cc.State()
		i.Cwnd, i.Ssthresh = c.cc.Cwnd(), c.cc.Ssthresh()
		i.CwndSegs, i.SsthreshSegs = max(i.Cwnd/max(c.mss, 1), 1), i.Ssthresh/max(c.mss, 1)
	}
	return i
}
