package track

import (
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// Episode is a loss, or what a sender took for one, from the first retransmission until all is acknowledged that was in flight then. Its
// times are of the sender's clock: see the package's comment.
type Episode struct {
	Kind      Kind // of the first retransmission
	Ambiguous bool // another timer model would give another kind
	Spurious  Verdict
	Evidence  Evidence

	// The octets that were retransmitted first.
	Seq   tcp.Seq
	Bytes int

	FirstSent  wheel.Time // their first transmission
	PrevSent   wheel.Time // the transmission before the first retransmission: First, unless they were sent again in an earlier episode
	Detected   wheel.Time // the first retransmission
	Seen       wheel.Time // the same, by the capture
	RepairSent wheel.Time // the retransmission that arrived, if Repaired
	Acked      wheel.Time // their acknowledgement, if Repaired
	Repaired   bool
	Ended      wheel.Time // all is acknowledged that was in flight, if Closed
	Closed     bool

	// The packets of these; 0 for what was not seen.
	FirstPacket, DetectedPacket, RepairPacket, AckedPacket, EndedPacket int64

	D, A, P time.Duration // A and P if Repaired
	TRec    time.Duration // D + A + P, if Repaired
	Length  time.Duration // from Sent to Ended, if Closed

	RTT       time.Duration // the median of the 10 s before
	Excess    time.Duration // TRec - RTT, if Repaired
	IdealD    time.Duration // what D might have been: RTT and a quarter if later octets were delivered, else SRTT + 4·RTTVAR
	TimerTax  time.Duration // D - Ideal
	HasIdealD bool          // the round-trip time is known

	// Estimated says that the transmission before was not captured: Sent is then when its absence was noticed. Hole is how long octets
	// behind it waited there for it.
	Estimated bool
	HoleTime  time.Duration

	Inferable    wheel.Time // when Src knew that it was lost, by ACKs: three duplicates or as much SACKed; if HasInferable
	HasInferable bool

	Retransmissions []Retransmission // the first 1024
	Total           int              // how many there were
	Timeouts,
	Probes int // how many of those kept were sent by a timer: RTO and TLP
	SpuriousCount int // how many of those kept were spurious

	start, end, recover int64
	sends               []*Retransmission // of start
	kept                []*Retransmission
}

// join makes a retransmission part of the episode, or the first of one.
func (f *Flow) join(r *Retransmission, first, last int) {
	e := f.ep
	if e == nil {
		e = f.open(r, first, last)
	}
	e.Total++
	if len(e.kept) < maxRexmits {
		e.kept = append(e.kept, r)
	}
	if r.start <= e.start && e.start < r.end && len(e.sends) < maxRexmits {
		e.sends = append(e.sends, r)
	}
	if len(f.rexmits) >= maxRexmits {
		f.rexmits = append(f.rexmits[:0], f.rexmits[maxRexmits/2:]...)
	}
	f.rexmits = append(f.rexmits, r)
}

// open begins an episode.
func (f *Flow) open(r *Retransmission, first, last int) *Episode {
	e := &Episode{
		Kind: r.Kind, Seq: r.Seq, Bytes: r.Bytes, FirstSent: r.PrevSent, PrevSent: r.PrevSent, Detected: r.Sent, Seen: r.Seen, DetectedPacket: r.Packet,
		start: r.start, end: r.end, recover: max(f.max, r.end),
	}
	e.D = span(r.PrevSent, r.Sent)
	e.RTT = f.usual(r.PrevSent)
	if f.RTT.Samples > 0 {
		e.IdealD, e.HasIdealD = f.fitting.fine(f), true
	}
	if first < last {
		s := f.book.at(first)
		e.start = max(e.start, s.start)
		e.FirstPacket, e.FirstSent = s.number, s.first
		if s.missing {
			e.Estimated, e.FirstPacket = true, 0
			e.HoleTime = span(s.first, r.Sent)
		}
		if f.proof(first, last) != none {
			e.IdealD, e.HasIdealD = e.RTT+e.RTT/4, e.RTT > 0
			e.Inferable, e.HasInferable = f.view.lastACK, true
		}
	}
	if first == last {
		e.FirstPacket = r.FirstPacket
	}
	e.TimerTax = e.D - e.IdealD
	if len(f.Episodes) < f.conn.cfg.MaxEpisodes {
		f.Episodes = append(f.Episodes, e)
	} else {
		f.EpisodesDropped++
	}
	f.ep = e
	return e
}

// progress ends what the ACK ends.
func (f *Flow) progress(a *ack) {
	e := f.ep
	if e == nil {
		return
	}
	if !e.Repaired && f.una >= e.end {
		f.repaired(e, a)
	}
	if f.una >= e.recover {
		e.Closed, e.Ended, e.EndedPacket = true, a.at, a.number
		e.Length = span(e.PrevSent, e.Ended)
		f.ep = nil
	}
}

// repaired notes the acknowledgement of the octets that were retransmitted first, and which transmission it was that arrived: the one
// that is echoed, or the last that was sent long enough before.
func (f *Flow) repaired(e *Episode, a *ack) {
	e.Repaired, e.Acked, e.AckedPacket = true, a.at, a.number
	by := e.sends[0]
	for _, r := range e.sends {
		if r.hasTS && a.hasTS && r.ts == a.echo {
			by = r
			break
		}
		if span(r.Sent, a.at) >= f.RTT.Min-f.RTT.Min/4 {
			by = r
		}
	}
	e.RepairSent, e.RepairPacket = by.Sent, by.Packet
	e.A = span(e.Detected, by.Sent)
	e.P = span(by.Sent, a.at)
	e.TRec = e.D + e.A + e.P
	e.Excess = e.TRec - e.RTT
}

// abandon leaves the open episode as it is.
func (f *Flow) abandon() { f.ep = nil }

// finish completes the flow.
func (f *Flow) finish() {
	f.openAt(f.conn.Last)
	f.RTT.finish()
	f.Delayed.finish()
	f.Timers = f.fitting.result()
	for _, e := range f.Episodes {
		for _, r := range e.kept {
			f.settled(r)
		}
		e.Kind, e.Ambiguous = e.kept[0].Kind, e.kept[0].ambiguous && e.kept[0].byModel.differ()
		e.Spurious, e.Evidence = e.kept[0].Spurious, e.kept[0].Evidence
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
		e.kept, e.sends = nil, nil
	}
	f.book, f.pending, f.rexmits, f.ep, f.rtts, f.jumps = book{}, acks{}, nil, nil, samples{}, jumps{}
	f.past, f.copies = past{}, copies{}
}
