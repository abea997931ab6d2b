package track

import (
	"net/netip"
	"slices"
	"time"

	"tcpwheel/internal/record"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// Episode is a loss, or what a sender took for one. It begins with the first retransmission and
// ends when everything in flight at that time is acknowledged. Times are by the sender's clock; see
// the package comment. It is a record, too: see package record. Packets are numbered in their file
// from 1, and 0 is one that was not captured.
type Episode struct {
	Type    string         `json:"type"` // "episode"
	File    string         `json:"file"` // set by who knows it
	Conn    int            `json:"conn" help:"number of the connection in the file, from 0"`
	Src     netip.AddrPort `json:"src" head:"from" help:"of the flow with the loss"`
	Dst     netip.AddrPort `json:"dst" head:"to"`
	Vantage Vantage        `json:"vantage" help:"point of capture: sender, receiver, middle, both or unknown"`

	Kind      Kind         `json:"kind" help:"cause of an episode's first retransmission: syn, rto, fast, tlp, probe, mtu or unknown"`
	Ambiguous bool         `json:"ambiguous,omitempty" help:"another stack's timers would give another kind"`
	Spurious  Spuriousness `json:"spurious" head:"needed" cell:"yes=no no=yes unknown=?" help:"whether the first retransmission was unnecessary: yes, no or unknown"`
	Evidence  Evidence     `json:"evidence,omitempty" help:"what decided a verdict: dsack, capture, eifel, dupack or timing"`
	Doubtful  bool         // Undecided, as Dst may have delayed its ACK: see Retransmission.DelayedACK
	Seq       tcp.Seq      `json:"seq" help:"of the bytes retransmitted first"`
	Bytes     int          `json:"bytes" help:"how many were retransmitted first"`

	FirstSent      wheel.Time    `json:"first" help:"the first transmission of the bytes"`
	FirstPacket    int64         `json:"first_packet,omitempty" help:"its packet"`
	PrevSent       wheel.Time    `json:"sent" known:"again" help:"their last transmission before that, if another one"`
	Estimated      bool          `json:"estimated,omitempty" help:"not captured: the time is when its absence was noticed"`
	Detected       wheel.Time    // the first retransmission
	Seen           wheel.Time    `json:"retransmission" help:"the first retransmission, by the capture's clock"`
	DetectedPacket int64         `json:"retransmission_packet" head:"packet" help:"its packet"`
	At             time.Duration `json:"at_s" head:"at, s" help:"its time since packet 1 of the file, or of the connection if that is years later"`
	Repaired       bool
	RepairSent     wheel.Time // the retransmission that arrived, if Repaired
	RepairPacket   int64
	Acked          wheel.Time // the acknowledgement of the repair, if Repaired
	AckedPacket    int64      `json:"ack_packet,omitempty" help:"of the acknowledgement of the repair"`
	Closed         bool
	Ended          wheel.Time // if Closed
	EndedPacket    int64      `json:"end_packet,omitempty" help:"when all that was in flight is acknowledged"`

	D      time.Duration `json:"d_s" head:"D" help:"detection: from the transmission before to the first retransmission"`
	A      time.Duration `json:"a_s" known:"Repaired" head:"A" help:"attempts: from the first retransmission to the one that arrived"`
	P      time.Duration `json:"p_s" known:"Repaired" head:"P" help:"proof: from the retransmission that arrived to its acknowledgement"`
	TRec   time.Duration `json:"t_rec_s" known:"Repaired" head:"T_rec" help:"recovery time: D + A + P"`
	Length time.Duration `json:"episode_s" known:"Closed" help:"from sent to the end"`

	// Time counts once in a connection: it belongs to the first of several episodes. Unrepaired is no
	// part of TimeLost, and TimeLost is 0 if there is a Gap.
	TimeLost   time.Duration `json:"time_lost_s" head:"lost" help:"how long the receiver's application got nothing that the path could have brought"`
	TimerWait  time.Duration `json:"timer_wait_s" help:"the part of the time lost that the sender waited for its timers"`
	Unrepaired time.Duration `json:"unrepaired_s,omitempty" help:"how long data waited that was still missing at the end"`
	Gap        Gap           `json:"unmeasured,omitempty" help:"why the end of the repair cannot be measured: echo, silence or no-acks"`
	GapPacket  int64         // the first captured ACK

	RTT          time.Duration `json:"rtt_s" known:"RTT" head:"RTT" help:"median RTT of the 10 s before"`
	Excess       time.Duration `json:"excess_s" known:"RTT Repaired" help:"T_rec less the median RTT"`
	W            float64       `json:"w" known:"RTT" help:"D in median RTTs"`
	IdealD       time.Duration `json:"ideal_s" known:"HasIdealD" help:"the shortest possible D: 5/4 RTT if later bytes arrived, else SRTT + 4·RTTVAR"`
	TimerTax     time.Duration `json:"timer_tax_s" known:"HasIdealD" head:"tax" help:"D less the ideal, at least 0: what the sender's timers cost"`
	HasIdealD    bool          // an RTT is known
	Inferable    time.Duration `json:"inferable_s" known:"Repaired HasInferable" help:"from the ACK that proved the loss to the acknowledgement"`
	HasInferable bool          // three duplicate ACKs, or as much SACKed, proved it to Src
	HoleTime     time.Duration `json:"hole_s" known:"Estimated" help:"how long later bytes waited at the point of capture"`

	Total                 int     `json:"retransmissions" head:"sent" help:"packets retransmitted in the episode"`
	Timeouts              int     `json:"timeouts" help:"of those kept, by the retransmission timer"`
	Probes                int     `json:"probes" help:"of those kept, tail loss probes"`
	SpuriousCount         int     `json:"spurious_retransmissions" help:"of those kept, unnecessary"`
	RetransmissionPackets []int64 `json:"retransmission_packets" help:"of those kept"`

	Retransmissions []Retransmission // those kept: the first 1024

	start, end, recover int64
	place               int64             // of Seq
	again               bool              // FirstSent is not PrevSent
	proven              wheel.Time        // when the loss was, if HasInferable
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
		Type: "episode", Kind: r.Kind, Seq: r.Seq, Bytes: r.Bytes, FirstSent: r.PrevSent, PrevSent: r.PrevSent, Detected: r.Sent, Seen: r.Seen, DetectedPacket: r.Packet,
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
			e.proven, e.HasInferable = f.view.lastACK, true
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
	e.Retransmissions, e.RetransmissionPackets = make([]Retransmission, len(e.kept)), make([]int64, len(e.kept))
	for i, r := range e.kept {
		e.Retransmissions[i], e.RetransmissionPackets[i] = *r, r.Packet
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
	e.Conn, e.Src, e.Dst, e.Vantage, e.At, e.again = f.conn.ID, f.Src, f.Dst, f.Vantage, e.Seen.Sub(f.conn.Origin), e.PrevSent != e.FirstSent
	if e.RTT > 0 {
		e.W = e.D.Seconds() / e.RTT.Seconds()
	}
	if e.Repaired && e.HasInferable {
		e.Inferable = span(e.proven, e.Acked)
	}
	e.settled, e.last = true, e.kept[len(e.kept)-1]
	e.kept, e.sends = nil, nil
}

// MarshalJSON returns the record.
func (e Episode) MarshalJSON() ([]byte, error) { return record.Marshal(e) }
