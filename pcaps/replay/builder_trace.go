package replay

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tcpwheel/netstack/tcp/ledger"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// trace makes the trace of one direction.
func (b *builder) trace(d int, rtt time.Duration) PathTrace {
	p := &b.streams[d]
	// Each transmission that was delivered, or lost, for some of its bytes.
	covers, lost, tries := make([]bool, len(p.Sent)), make([]bool, len(p.Sent)), 0
	for i := range p.Runs {
		tries += len(p.Runs[i].Tries)
		for _, k := range p.Runs[i].Tries {
			covers[k.N] = covers[k.N] || k.Fate == ledger.Delivered
			lost[k.N] = lost[k.N] || k.Fate == ledger.Lost
		}
	}
	// The least time to the destination and back, of what was answered at once.
	least := rtt - p.Near
	for i := range p.Sent {
		if s := &p.Sent[i]; s.Acked && !s.Unseen() && !s.Late && s.New {
			least = min(least, s.AckedAt.Sub(s.At))
		}
	}
	t := PathTrace{Base: max(p.Near/2+max(least, 0)-p.Far/2, 0)}
	if p.Far == 0 {
		t.Base = p.Near / 2
	}
	order := sendOrder(p)
	delays := b.delays(p, &t, max(least, 0), order, covers)
	t.Ranges = make([]SentRange, 0, len(p.Runs))
	room := make([]Try, 0, tries)
	for i := range p.Runs {
		r := &p.Runs[i]
		out := SentRange{Start: uint64(r.Start), End: uint64(r.End)}
		from := len(room)
		for _, k := range r.Tries {
			s := &p.Sent[k.N]
			try := Try{Sent: b.leftAt(p, s), Fate: k.Fate, Late: s.Late, Unseen: s.Unseen(), Packet: s.Packet}
			if try.Fate != ledger.Lost {
				try.Delay, try.Exact = delays[k.N].took, delays[k.N].exact
			}
			room = append(room, try)
		}
		out.Tries = room[from:len(room):len(room)]
		if k := len(t.Ranges) - 1; k >= 0 && t.Ranges[k].End == out.Start && slices.Equal(t.Ranges[k].Tries, out.Tries) {
			t.Ranges[k].End, room = out.End, room[:from]
			continue
		}
		t.Ranges = append(t.Ranges, out)
	}
	for _, s := range b.streams[1-d].ACKLoss { // its ACKs go this way
		t.ACKLossSpans = append(t.ACKLossSpans, Span{b.virtual(s.From), b.virtual(s.To)})
	}
	t.ACKLossSpans = joined(t.ACKLossSpans)
	b.countLosses(p, &t, order, lost)
	return t
}

// segmentDelay is how long a segment took from end to end, and whether the capture shows it.
type segmentDelay struct {
	took  time.Duration
	exact bool
}

// delays returns how long each segment took, and keeps in the trace what the capture shows of it.
// least is the least time from the point of capture to the destination and back.
func (b *builder) delays(p *track.Stream, t *PathTrace, least time.Duration, order []int32, covers []bool) []segmentDelay {
	near, far := p.Near/2, p.Far/2
	sweep := ackedBySweep(p, least)
	t.Delays = make([]DelaySample, 0, len(p.Sent))
	all := make([]segmentDelay, len(p.Sent))
	for k, i := range order {
		s := &p.Sent[i]
		took := s.AckedAt.Sub(s.At)
		// The ACK would have been for the next segment too, had it been delayed.
		followed := false
		if k+1 < len(order) {
			next := &p.Sent[order[k+1]]
			followed = covers[order[k+1]] && next.Start == s.End && next.At.Sub(s.At) < shortestDelay
		}
		switch {
		case p.Far == 0 && !s.Unseen():
			all[i] = segmentDelay{s.Queued + near, true}
		case !s.Acked || s.Unseen():
		case !s.Alone || s.Start == 0 || !s.New || wasPrompt(took-least, followed, sweep):
			// RFC 9293 §3.10.7.4 and RFC 5681 §4.2: the ACKs of a SYN and of what fills a gap are
			// not delayed.
			all[i] = segmentDelay{max(s.Queued+near+took-far, t.Base), true}
		}
	}
	findLate(p, order, all)
	for _, i := range order {
		if all[i].exact && !p.Sent[i].Late {
			t.Delays = append(t.Delays, DelaySample{b.leftAt(p, &p.Sent[i]), all[i].took})
		}
	}
	// What the capture does not show lies between its neighbours, and is no later than its own ACK.
	for _, i := range order {
		s := &p.Sent[i]
		if all[i].exact {
			continue
		}
		took := interpolate(t.Delays, b.leftAt(p, s), t.Base)
		bound := s.Limit
		if s.Acked && (bound == 0 || s.AckedAt.Before(bound)) {
			bound = s.AckedAt
		}
		if bound != 0 && covers[i] {
			took = max(min(took, s.Queued+near+bound.Sub(s.At)-far), 0)
		}
		all[i].took = took
	}
	return all
}

// findLate marks the segments that others overtook: segments that left later arrived before them.
func findLate(p *track.Stream, order []int32, all []segmentDelay) {
	first := wheel.Time(math.MaxInt64) // the first arrival of later segments
	for k := len(order) - 1; k >= 0; k-- {
		s := &p.Sent[order[k]]
		if !all[order[k]].exact {
			continue
		}
		at := s.At.Add(all[order[k]].took - s.Queued)
		if s.Late = s.Late || at.Sub(first) > sameInstant; !s.Late {
			first = min(first, at)
		}
	}
}

// wasPrompt reports whether the ACK of a single segment that came so late was late on the path, and
// not delayed by its sender: no timer is that short, or that long, or it would have waited for the
// segment that followed. A sweep waits for nothing.
func wasPrompt(late time.Duration, followed, sweep bool) bool {
	switch {
	case late <= sameInstant, late > longestDelay:
		return true
	case sweep:
		return false
	}
	return followed || late <= shortestDelay
}

// ackedBySweep reports whether the delayed ACKs came on the ticks of 4.4BSD's sweep. least is the
// least time to an ACK.
func ackedBySweep(p *track.Stream, least time.Duration) bool {
	const enough, most = 3, 100 // how many are looked at
	var late []Timed
	for i := range p.Sent {
		if s := &p.Sent[i]; s.Acked && s.Alone && s.New && s.Start > 0 && s.AckedAt.Sub(s.At)-least > shortestDelay && len(late) < most {
			late = append(late, Timed{At: s.AckedAt})
		}
	}
	_, n := densest(late, 200*time.Millisecond)
	return n >= enough && 4*n > 3*len(late)
}

// sendOrder returns the segments by when they were sent.
func sendOrder(p *track.Stream) []int32 {
	order := make([]int32, len(p.Sent))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		return cmp.Compare(p.Sent[a].At.Add(-p.Sent[a].Queued), p.Sent[b].At.Add(-p.Sent[b].Queued))
	})
	return order
}

// countLosses counts transmissions, and finds the spans of losses with no arrival between them.
func (b *builder) countLosses(p *track.Stream, t *PathTrace, order []int32, lost []bool) {
	t.LostByIndex, t.left = make([]bool, 0, len(p.Sent)), make([]wheel.Time, 0, len(p.Sent))
	open := false
	for _, n := range order {
		at := b.leftAt(p, &p.Sent[n])
		t.Transmissions++
		t.LostByIndex, t.left = append(t.LostByIndex, lost[n]), append(t.left, at)
		switch {
		case !lost[n]:
		case open:
			t.LossSpans[len(t.LossSpans)-1].To = at
		default:
			t.LossSpans = append(t.LossSpans, Span{at, at})
		}
		t.Lost += count(lost[n])
		open = lost[n]
	}
}

// joined returns spans in order, with overlapping spans joined.
func joined(all []Span) (out []Span) {
	slices.SortFunc(all, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	for _, s := range all {
		if n := len(out); n > 0 && s.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, s.To)
		} else {
			out = append(out, s)
		}
	}
	return out
}
