package track

import (
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// Episode is a loss, or what a sender took for one. It begins with the first retransmission and
// ends when everything in flight at that time is acknowledged. Times are by the sender's clock; see
// the package comment.
type Episode struct {
	Kind      Kind // of the first retransmission
	Ambiguous bool // other timer models give another kind
	Spurious  Spuriousness
	Evidence  Evidence
	Doubtful  bool // Undecided, as Dst may have delayed its ACK: see Retransmission.DelayedACK

	// The bytes that were retransmitted first.
	Seq   tcp.Seq
	Bytes int

	FirstSent  wheel.Time // their first transmission
	PrevSent   wheel.Time // their transmission before the first retransmission
	Detected   wheel.Time // the first retransmission
	Seen       wheel.Time // the same, by the capture's clock
	RepairSent wheel.Time // the retransmission that arrived, if Repaired
	Acked      wheel.Time // their acknowledgement, if Repaired
	Repaired   bool
	Ended      wheel.Time // the acknowledgement of all that was in flight, if Closed
	Closed     bool

	// The packets of these times; 0 if not captured.
	FirstPacket, DetectedPacket, RepairPacket, AckedPacket, EndedPacket int64

	D, A, P time.Duration // A and P only if Repaired
	TRec    time.Duration // D + A + P, if Repaired
	Length  time.Duration // from PrevSent to Ended, if Closed

	// TimeLost is how long the receiver's application got nothing that the path could have brought,
	// in losses that were needed and repaired. Time counts once in a connection: it belongs to the
	// first of several episodes. TimerWait is the part that the sender waited for its timers.
	TimeLost, TimerWait time.Duration
	// Unrepaired is how long data waited that was still missing at the end of the capture or of the
	// connection. It is no part of TimeLost.
	Unrepaired time.Duration

	// Gap says why the end of the repair cannot be measured; Repaired is false then, and TimeLost is
	// 0. Its first captured ACK is GapPacket.
	Gap       Gap
	GapPacket int64

	RTT    time.Duration // median of the 10 s before
	Excess time.Duration // TRec - RTT, if Repaired
	// What D could have been: 5/4 RTT if later bytes arrived, else SRTT + 4·RTTVAR.
	IdealD    time.Duration
	TimerTax  time.Duration // D - IdealD, at least 0
	HasIdealD bool          // an RTT is known

	// Estimated says that the previous transmission was not captured: PrevSent is then when its
	// absence was noticed, or when its bytes were acknowledged. HoleTime is how long later bytes
	// waited for it at the point of capture.
	Estimated bool
	HoleTime  time.Duration

	// When three duplicate ACKs, or as much SACKed, proved the loss to Src; if HasInferable.
	Inferable    wheel.Time
	HasInferable bool

	Retransmissions []Retransmission // the first 1024
	Total           int              // number of retransmissions
	Timeouts,
	Probes int // of those kept: sent by the timer, and as tail loss probes
	SpuriousCount int // of those kept

	start, end, recover int64
	place               int64             // of Seq
	sends               []*Retransmission // transmissions of position start
	kept                []*Retransmission
	last                *Retransmission // of kept, while it is being settled
	settled             bool
	onlyFIN             bool // its retransmissions carry a FIN and no data
	stalls              []stall
}

// addToEpisode adds r to the open episode, or opens one.
func (f sending) addToEpisode(r *Retransmission, first, last int) {
	e := f.episode
	if e == nil {
		e = f.openEpisode(r, first, last)
	}
	e.Total++
	if len(e.kept) < maxRexmits {
		e.kept = append(e.kept, r)
	}
	if r.start <= e.start && e.start < r.end && len(e.sends) < maxRexmits {
		e.sends = append(e.sends, r)
	}
	if len(f.recent) >= maxRexmits {
		f.recent = append(f.recent[:0], f.recent[maxRexmits/2:]...)
	}
	if len(f.waiting) >= maxRexmits {
		f.waiting = append(f.waiting[:0], f.waiting[maxRexmits/2:]...)
	}
	f.recent, f.waiting = append(f.recent, r), append(f.waiting, r)
}

// openEpisode begins an episode with r.
func (f sending) openEpisode(r *Retransmission, first, last int) *Episode {
	e := &Episode{
		Kind: r.Kind, Seq: r.Seq, Bytes: r.Bytes, FirstSent: r.PrevSent, PrevSent: r.PrevSent, Detected: r.Sent, Seen: r.Seen, DetectedPacket: r.Packet,
		start: r.start, end: r.end, recover: max(f.max, r.end), place: r.start,
	}
	e.D = span(r.PrevSent, r.Sent)
	e.RTT = f.medianRTT(r.PrevSent)
	if f.RTT.Samples > 0 {
		e.IdealD, e.HasIdealD = f.fit().idealRTO(), true
	}
	if first < last {
		s := f.board.at(first)
		e.start = max(e.start, s.start)
		e.FirstPacket, e.FirstSent = s.packet, s.firstSent
		if s.missing {
			e.Estimated, e.FirstPacket = true, 0
			e.HoleTime = span(s.firstSent, r.Sent)
		}
		if f.proof(first, last) != none {
			e.IdealD, e.HasIdealD = e.RTT+e.RTT/4, e.RTT > 0
			e.Inferable, e.HasInferable = f.view.lastACK, true
		}
	}
	if first == last {
		e.FirstPacket, e.Estimated = r.FirstPacket, r.estimated
	}
	e.TimerTax = max(e.D-e.IdealD, 0)
	if len(f.Episodes) < f.conn.cfg.MaxEpisodes {
		f.Episodes = append(f.Episodes, e)
	} else {
		f.EpisodesDropped++
	}
	f.episode = e
	return e
}

// closeEpisode records the repair and the end that an ACK brings.
func (f hearing) closeEpisode(a *ack) {
	e := f.episode
	if !e.Repaired && e.Gap == NoGap && f.una >= e.end {
		f.repairEpisode(e, a)
	}
	if f.una >= e.recover {
		e.Closed, e.Ended, e.EndedPacket = true, a.at, a.number
		e.Length = span(e.PrevSent, e.Ended)
		f.episode = nil
		f.settleLater(e)
	}
}

// repairEpisode records the acknowledgement of the first retransmitted bytes and the transmission
// that arrived: the one whose timestamp is echoed, or else the last that was sent early enough.
func (f hearing) repairEpisode(e *Episode, a *ack) {
	by := e.sends[0]
	for _, r := range e.sends {
		if r.hasTS && a.hasTS && r.ts == a.echo {
			by = r
			break
		}
		if span(r.Sent, a.at) >= f.leastAnswer() {
			by = r
		}
	}
	last := e.sends[len(e.sends)-1]
	if e.Gap = f.gapBefore(last.Sent, a.at, span(last.PrevSent, last.Sent)); e.Gap != NoGap {
		e.GapPacket = a.number
		return
	}
	e.Repaired, e.Acked, e.AckedPacket = true, a.at, a.number
	e.RepairSent, e.RepairPacket = by.Sent, by.Packet
	e.A = span(e.Detected, by.Sent)
	e.P = span(by.Sent, a.at)
	e.TRec = e.D + e.A + e.P
	e.Excess = e.TRec - e.RTT
}

// waitFrom sets when the bytes left before the first retransmission, and what follows from it.
func (e *Episode) waitFrom(sent wheel.Time) {
	moved := e.PrevSent.Sub(sent)
	if moved == 0 {
		return
	}
	if e.FirstSent == e.PrevSent {
		e.FirstSent = sent
	}
	e.PrevSent, e.D = sent, span(sent, e.Detected)
	e.TimerTax = max(e.D-e.IdealD, 0)
	if e.Repaired {
		e.TRec = e.D + e.A + e.P
		e.Excess = e.TRec - e.RTT
	}
	if e.Closed {
		e.Length = span(sent, e.Ended)
	}
}

// abandonEpisode leaves the open episode without an end.
func (f *Flow) abandonEpisode() {
	if f.episode != nil {
		f.settleLater(f.episode)
		f.episode = nil
	}
}

// finish completes the flow and frees its working memory.
func (f *Flow) finish() {
	if f.board.len() > 0 && f.episode != nil && f.other().started {
		end := f.conn.Last
		if f.gaveUp != 0 && f.gaveUp >= maxTime(f.view.newData, f.view.retransmitted) {
			end = f.gaveUp
		}
		f.noteStall(end, false)
	}
	f.endZeroWindow(f.conn.Last)
	f.RTT.finish()
	f.Delayed.finish()
	for _, e := range f.Episodes {
		f.settle(e)
		if settled := f.conn.cfg.Settled; settled != nil && !f.conn.Twin {
			settled(f.conn, f, e)
		}
		e.last = nil
	}
	f.recent, f.waiting, f.episode, f.jumps = nil, nil, nil, ackJumps{}
	f.conn.memory.release(f)
}
