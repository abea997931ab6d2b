package tcp

import (
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Info tells how the connection is. It costs O(1).
func (c *Conn) Info(now wheel.Time) Info {
	i := Info{
		State: c.state, CAState: c.ca,
		RTO: c.est.RTO(), SRTT: c.est.SRTT(), RTTVar: c.est.RTTVar(), ATO: c.delack.ATO(),
		Backoff: c.est.Backoffs(), Probes: int(c.probes),

		Unacked: c.sent.Outstanding().Segments, Sacked: c.sent.Sacked().Segments,
		Lost: c.sent.Lost().Segments, Retrans: c.sent.RetransOut().Segments, TotalRetrans: c.rexmits,
		Reordering: c.rec.rack.ReorderingSeen(), ReoWnd: c.rec.rack.ReoWnd(),

		Delivered: c.delivered, DeliveredCE: c.deliveredCE,
		SegsIn: c.segsIn, SegsOut: c.segsOut, DataSegsIn: c.dataIn, DataSegsOut: c.dataOut,
		BytesSent: c.bytesSent, BytesRetrans: c.bytesRexmit, BytesAcked: c.acked, BytesReceived: c.received,
		NotSent: uint64(c.queued()), DSACKDups: c.dsacks,

		SndMSS: c.mss, RcvMSS: c.recvMSS(), AdvMSS: uint32(AdvertisedMSS(c.path.MTU, c.path.ipHeaderLen())),
		PMTU: uint32(c.path.MTU), SndWnd: c.snd.Wnd, SndWScale: c.sndScale, RcvWScale: c.rcvScale,

		Timestamps: c.tsOn, SACK: c.sackOn, WScale: c.wsOn, ECN: c.ecn.On(),
		SndUna: c.sndUna - c.iss, SndNxt: c.sndNxt - c.iss,

		Policy: c.cfg.Policy.Name,
	}
	if i.ATO == 0 {
		i.ATO = c.cfg.Policy.DelAck.Delay
	}
	if c.ca == CALoss {
		i.Retransmits = c.est.Backoffs()
	}
	i.MinRTT, _ = c.rec.rack.MinRTT()
	i.RcvRTT, _ = c.rcvRTT.RTT()
	if c.state >= StateSynReceived {
		i.RcvWnd, i.RcvSpace = c.win.Wnd(c.rq.Nxt()), c.win.Buff()
		i.RcvNxt = c.rq.Nxt() - c.irs
	}
	if c.cc != nil {
		i.Control = c.cc.State()
		i.Cwnd, i.Ssthresh = c.cc.Cwnd(), c.cc.Ssthresh()
		i.CwndSegs, i.SsthreshSegs = max(i.Cwnd/max(c.mss, 1), 1), i.Ssthresh/max(c.mss, 1)
	}
	return i
}

// RexmitDeadline returns when the retransmission timer of the first segment in flight expires, if there is one: for those who study
// timers.
func (c *Conn) RexmitDeadline(now wheel.Time) (wheel.Time, bool) {
	id := c.sent.Front()
	if id == 0 {
		return 0, false
	}
	if !c.perSegment() {
		return c.rexmitAt, c.runs(tcptimers.Rexmit)
	}
	return c.cfg.Policy.RexmitDeadline(now, c.est.RTO(), tcptimers.Flight{Sent: c.sent.seg(id).Sent}), true
}
