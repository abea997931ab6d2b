package track

import (
	"slices"
	"time"

	"tcpwheel/internal/record"
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

// settle gives e its final values, as far as the capture shows them by now.
func (f *Flow) settle(e *Episode) {
	for _, r := range e.kept {
		f.finishVerdict(r)
	}
	if e.Gap != NoGap && e.kept[0].Evidence < ByCapture {
		e.kept[0].Spurious, e.kept[0].Evidence = Undecided, NoEvidence
	}
	first := e.kept[0]
	e.Kind, e.Ambiguous = first.Kind, first.anyTimer || first.ambiguous && first.byModel.disagree()
	e.waitFrom(first.PrevSent)
	e.Spurious, e.Evidence = e.kept[0].Spurious, e.kept[0].Evidence
	e.Doubtful = e.Spurious == Undecided && e.kept[0].DelayedACK != 0
	e.onlyFIN = !slices.ContainsFunc(e.kept, func(r *Retransmission) bool { return r.end-r.start > 1 || !f.fin || r.end != f.finEnd })
	e.Retransmissions = make([]Retransmission, len(e.kept))
	for i, r := range e.kept {
		e.Retransmissions[i] = *r
		if r.ByTimer && r.Kind == RTO {
			e.Timeouts++
		}
		if r.ByTimer && r.Kind == TLP {
			e.Probes++
		}
		if r.Spurious == Spurious {
			e.SpuriousCount++
		}
	}
	f.sumStalls(e)
	f.TimeLost += e.TimeLost
	f.TimerWait += e.TimerWait
	if !f.MeasuresRTT() {
		e.RTT, e.Excess, e.IdealD, e.TimerTax, e.HasIdealD = 0, 0, 0, 0, false
	}
	if e.TimeLost > 0 {
		f.stalled++
	}
	e.settled, e.last = true, e.kept[len(e.kept)-1]
	e.kept, e.sends = nil, nil
}

// EpisodeRecord is an Episode as a record. Durations are in seconds of the sender's clock. Unknown
// values are omitted. Packets are numbered in their file from 1.
type EpisodeRecord struct {
	Type      string `json:"type"` // "episode"
	File      string `json:"file"`
	Conn      int    `json:"conn" help:"number of the connection in the file, from 0"`
	Src       string `json:"src" head:"from" help:"of the flow with the loss"`
	Dst       string `json:"dst" head:"to"`
	Vantage   string `json:"vantage" help:"point of capture: sender, receiver, middle, both or unknown"`
	Kind      string `json:"kind" help:"cause of an episode's first retransmission: syn, rto, fast, tlp, probe, mtu or unknown"`
	Ambiguous bool   `json:"ambiguous,omitempty" help:"another stack's timers would give the episode another kind"`
	Spurious  string `json:"spurious" head:"needed" cell:"yes=no no=yes unknown=?" help:"whether the first retransmission was unnecessary: yes, no or unknown"`
	Evidence  string `json:"evidence,omitempty" help:"what decided a verdict: dsack, capture, eifel, dupack or timing"`
	Seq       uint32 `json:"seq" help:"of the bytes retransmitted first"`
	Bytes     int    `json:"bytes" help:"how many were retransmitted first"`

	First                string  `json:"first" help:"the first transmission of the bytes"`
	FirstPacket          int64   `json:"first_packet,omitempty" help:"its packet"`
	Sent                 string  `json:"sent,omitempty" help:"their transmission before the first retransmission, if another one"`
	Estimated            bool    `json:"estimated,omitempty" help:"that was not captured: the time is when its absence was noticed"`
	Retransmission       string  `json:"retransmission" help:"the first retransmission, by the capture's clock"`
	RetransmissionPacket int64   `json:"retransmission_packet" head:"packet" help:"its packet"`
	At                   float64 `json:"at_s" head:"at, s" help:"its time since packet 1 of the file, as Wireshark counts; since the first of the connection if that is years later"`
	AckPacket            int64   `json:"ack_packet,omitempty" help:"of the acknowledgement of the repair"`
	EndPacket            int64   `json:"end_packet,omitempty" help:"of the end, when all that was in flight is acknowledged"`

	D         float64  `json:"d_s" head:"D" help:"detection: from the previous transmission of the lost bytes to their first retransmission"`
	A         *float64 `json:"a_s,omitempty" head:"A" help:"attempts: from the first retransmission to the one that arrived"`
	P         *float64 `json:"p_s,omitempty" head:"P" help:"proof: from the retransmission that arrived to its acknowledgement"`
	TRec      *float64 `json:"t_rec_s,omitempty" head:"T_rec" help:"recovery time: D + A + P"`
	Length    *float64 `json:"episode_s,omitempty" help:"from sent to the end"`
	TimeLost  float64  `json:"time_lost_s" head:"lost" help:"how long the receiver's application got nothing that the path could have brought, in losses that were needed and repaired"`
	TimerWait float64  `json:"timer_wait_s" help:"the part of the time lost that the sender waited for its timers"`
	Open      float64  `json:"unrepaired_s,omitempty" help:"how long data waited that was still missing at the end"`
	Gap       string   `json:"unmeasured,omitempty" help:"why the end of the repair cannot be measured: echo, silence or no-acks"`
	RTT       *float64 `json:"rtt_s,omitempty" head:"RTT" help:"median RTT of the 10 s before"`
	Excess    *float64 `json:"excess_s,omitempty" help:"T_rec less the median RTT"`
	W         *float64 `json:"w,omitempty" help:"D in median RTTs"`
	Ideal     *float64 `json:"ideal_s,omitempty" help:"the shortest possible D: 5/4 RTT if later bytes arrived, else SRTT + 4·RTTVAR"`
	TimerTax  *float64 `json:"timer_tax_s,omitempty" head:"tax" help:"D less the ideal, at least 0: what the sender's timers cost"`
	Inferable *float64 `json:"inferable_s,omitempty" help:"from the ACK that proved the loss to the acknowledgement"`
	HoleTime  *float64 `json:"hole_s,omitempty" help:"how long later bytes waited at the point of capture"`

	Retransmissions       int     `json:"retransmissions" head:"sent" help:"packets retransmitted in the episode"`
	Timeouts              int     `json:"timeouts" help:"of those kept, sent by the retransmission timer"`
	Probes                int     `json:"probes" help:"of those kept, tail loss probes"`
	SpuriousCount         int     `json:"spurious_retransmissions" help:"of those kept, unnecessary"`
	RetransmissionPackets []int64 `json:"retransmission_packets" help:"of those kept"`
}

// Record returns e, an episode of f, as a record.
func (f *Flow) Record(file string, e *Episode) EpisodeRecord {
	r := EpisodeRecord{
		Type: "episode", File: file, Conn: f.conn.ID, Src: f.Src.String(), Dst: f.Dst.String(), Vantage: f.Vantage.String(),
		Kind: e.Kind.String(), Ambiguous: e.Ambiguous, Spurious: e.Spurious.String(), Evidence: e.Evidence.String(),
		Seq: uint32(e.Seq), Bytes: e.Bytes,
		First: record.Stamp(e.FirstSent), FirstPacket: e.FirstPacket, Estimated: e.Estimated,
		Retransmission: record.Stamp(e.Seen), At: e.Seen.Sub(f.conn.Origin).Seconds(), RetransmissionPacket: e.DetectedPacket, AckPacket: e.AckedPacket, EndPacket: e.EndedPacket,
		D: e.D.Seconds(), TimeLost: e.TimeLost.Seconds(), TimerWait: e.TimerWait.Seconds(), Open: e.Unrepaired.Seconds(), Gap: e.Gap.String(), Retransmissions: e.Total, Timeouts: e.Timeouts, Probes: e.Probes, SpuriousCount: e.SpuriousCount,
	}
	if e.PrevSent != e.FirstSent {
		r.Sent = record.Stamp(e.PrevSent)
	}
	if e.Repaired {
		r.A, r.P, r.TRec = record.Seconds(e.A), record.Seconds(e.P), record.Seconds(e.TRec)
		if e.HasInferable {
			r.Inferable = record.Seconds(span(e.Inferable, e.Acked))
		}
	}
	if e.Closed {
		r.Length = record.Seconds(e.Length)
	}
	if e.RTT > 0 {
		r.RTT = record.Seconds(e.RTT)
		w := e.D.Seconds() / e.RTT.Seconds()
		r.W = &w
		if e.Repaired {
			r.Excess = record.Seconds(e.Excess)
		}
	}
	if e.HasIdealD {
		r.Ideal, r.TimerTax = record.Seconds(e.IdealD), record.Seconds(e.TimerTax)
	}
	if e.Estimated {
		r.HoleTime = record.Seconds(e.HoleTime)
	}
	for i := range e.Retransmissions {
		r.RetransmissionPackets = append(r.RetransmissionPackets, e.Retransmissions[i].Packet)
	}
	return r
}
