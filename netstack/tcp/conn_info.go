package tcp

import (
	"tcpwheel/wheel"
)

// Info returns a snapshot of the connection. Before Init it is the zero Info. It costs O(1).
func (c *Conn) Info(now wheel.Time) Info {
	if c.snd.cfg == nil {
		return Info{}
	}
	i := Info{
		State: c.state, CAState: c.snd.ep.kind, Probes: int(c.snd.persist.unanswered),
		RTTInfo: RTTInfo{ATO: c.rcv.delack.adaptiveDelay()},
		FlightInfo: FlightInfo{
			Unacked: c.snd.fl.sent.Outstanding().Segments, Sacked: c.snd.fl.sent.Sacked().Segments,
			Lost: c.snd.fl.sent.Lost().Segments, Retrans: c.snd.fl.sent.RetransOut().Segments,
			Reordering: dupThresh, ReoWnd: c.snd.rack.ReoWnd(),
		},
		TrafficInfo: TrafficInfo{
			Delivered: uint64(c.snd.stats.delivered),
			SegsIn:    uint64(c.snd.stats.segsIn), SegsOut: uint64(c.snd.stats.segments),
			DataSegsIn: uint64(c.rcv.segments), DataSegsOut: uint64(c.snd.stats.data),
			BytesSent: c.snd.bytesSent(), BytesAcked: c.snd.stats.acked, BytesReceived: c.rcv.received,
			NotSent: uint64(c.snd.queued()),
		},
		SizeInfo: SizeInfo{
			SndMSS: c.snd.mss, RcvMSS: c.rcv.fullSize(c.snd.mss),
			AdvMSS: uint32(c.snd.terms.announcedMSS(c.snd.opts.MaxSeg)), PMTU: c.snd.terms.mtu,
			SndWnd: c.snd.wnd.Wnd, SndWScale: c.snd.terms.scale, RcvWScale: c.rcv.win.scale,
		},
		Timestamps: c.rcv.tsOn, SACK: c.rcv.sackOn, WScale: c.rcv.win.scaled, ECN: c.snd.ecn.On(),
		SndUna: c.snd.una - c.snd.iss, SndNxt: c.snd.nxt - c.snd.iss,
		Policy: c.snd.cfg.Policy.Name,
	}
	if i.ATO == 0 {
		i.ATO = c.snd.cfg.Policy.DelAck.Delay
	}
	if c.snd.rtt.est != nil {
		i.RTO, i.SRTT, i.RTTVar, i.Backoff = c.snd.rtt.est.RTO(), c.snd.rtt.est.SRTT(), c.snd.rtt.est.RTTVar(), c.snd.rtt.est.Backoffs()
	}
	if c.snd.ep.afterTimeout() {
		i.Retransmits = c.snd.rtt.est.Backoffs()
	}
	i.MinRTT, _ = c.snd.rack.MinRTT()
	i.RcvRTT, _ = c.rcv.rtt.RTT()
	if c.state >= StateSynReceived {
		i.RcvWnd, i.RcvSpace = c.rcv.wnd(), c.rcv.win.Buff()
		i.RcvNxt = c.rcv.nxt() - c.rcv.irs
	}
	if p := c.snd.past; p != nil {
		i.TotalRetrans, i.BytesRetrans = uint64(p.rexmits), p.rexmitBytes
		i.DeliveredCE, i.DSACKDups = uint64(p.deliveredCE), uint64(p.dsacks)
	}
	if c.snd.meter != nil {
		c.snd.meter.fillInfo(now, &i)
	}
	if c.snd.established() {
		i.Control = c.snd.cc.State()
		i.Cwnd, i.Ssthresh = c.snd.cc.Cwnd(), c.snd.cc.Ssthresh()
		i.CwndSegs, i.SsthreshSegs = max(i.Cwnd/max(c.snd.mss, 1), 1), i.Ssthresh/max(c.snd.mss, 1)
	}
	return i
}
