package replay

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tcpwheel/wheel"
)

// trace makes the trace of one direction.
func (b *builder) trace(d int, rtt time.Duration) PathTrace {
	p := &b.paths[d]
	for i := range p.ranges {
		r := &p.ranges[i]
		for _, k := range r.tries {
			p.segments[k.n].covers = p.segments[k.n].covers || k.fate == Delivered
		}
	}
	// The least time to the destination and back, of what was answered at once.
	least := rtt - p.near
	for i := range p.segments {
		if s := &p.segments[i]; s.acked && !s.unseen && !s.late && s.isNew {
			least = min(least, s.ackAt.Sub(s.at))
		}
	}
	t := PathTrace{Base: max(p.near/2+max(least, 0)-p.far/2, 0)}
	if p.far == 0 {
		t.Base = p.near / 2
	}
	delays := b.delays(d, &t, max(least, 0))
	for i := range p.ranges {
		r := &p.ranges[i]
		out := Range{Start: uint64(r.start), End: uint64(r.end)}
		for _, k := range r.tries {
			s := &p.segments[k.n]
			try := Try{Sent: b.virtual(s.at.Add(-p.near / 2)), Fate: k.fate, Late: s.late, Unseen: s.unseen, Packet: s.number}
			if try.Fate != Lost {
				try.Delay, try.Exact = delays[k.n].took, delays[k.n].exact
			}
			out.Tries = append(out.Tries, try)
		}
		if k := len(t.Ranges) - 1; k >= 0 && t.Ranges[k].End == out.Start && slices.Equal(t.Ranges[k].Tries, out.Tries) {
			t.Ranges[k].End = out.End
			continue
		}
		t.Ranges = append(t.Ranges, out)
	}
	for _, s := range b.paths[1-d].ackLoss { // its ACKs go this way
		t.ACKLossSpans = append(t.ACKLossSpans, Span{b.virtual(s.From), b.virtual(s.To)})
	}
	t.ACKLossSpans = joined(t.ACKLossSpans)
	b.countLosses(p, &t)
	return t
}

// segmentDelay is how long a segment took from end to end, and whether the capture shows it.
type segmentDelay struct {
	took  time.Duration
	exact bool
}

// delays returns how long each segment took, and keeps in the trace what the capture shows of it.
// least is the least time from the point of capture to the destination and back.
func (b *builder) delays(d int, t *PathTrace, least time.Duration) []segmentDelay {
	p := &b.paths[d]
	near, far := p.near/2, p.far/2
	order := p.inOrder()
	sweep := p.ackedBySweep(least)
	all := make([]segmentDelay, len(p.segments))
	for k, i := range order {
		s := &p.segments[i]
		took := s.ackAt.Sub(s.at)
		// The ACK would have been for the next segment too, had it been delayed.
		followed := false
		if k+1 < len(order) {
			next := &p.segments[order[k+1]]
			followed = next.covers && next.start == s.end && next.at.Sub(s.at) < shortestDelay
		}
		switch {
		case p.far == 0 && !s.unseen:
			all[i] = segmentDelay{near, true}
		case !s.acked || s.unseen:
		case !s.alone || s.start == 0 || !s.isNew || wasPrompt(took-least, followed, sweep):
			// RFC 9293 §3.10.7.4 and RFC 5681 §4.2: the ACKs of a SYN and of what fills a gap are
			// not delayed.
			all[i] = segmentDelay{max(near+took-far, t.Base), true}
		}
	}
	p.findLate(order, all)
	for _, i := range order {
		if all[i].exact && !p.segments[i].late {
			t.Delays = append(t.Delays, DelaySample{b.virtual(p.segments[i].at.Add(-near)), all[i].took})
		}
	}
	// What the capture does not show lies between its neighbours, and is no later than its own ACK.
	for _, i := range order {
		s := &p.segments[i]
		if all[i].exact {
			continue
		}
		took := interpolate(t.Delays, b.virtual(s.at.Add(-near)), t.Base)
		bound := s.limit
		if s.acked && (bound == 0 || s.ackAt.Before(bound)) {
			bound = s.ackAt
		}
		if bound != 0 && s.covers {
			took = max(min(took, near+bound.Sub(s.at)-far), 0)
		}
		all[i].took = took
	}
	return all
}

// findLate marks the segments that others overtook: segments that left later arrived before them.
func (p *pathBuilder) findLate(order []int, all []segmentDelay) {
	first := wheel.Time(math.MaxInt64) // the first arrival of later segments
	for k := len(order) - 1; k >= 0; k-- {
		s := &p.segments[order[k]]
		if !all[order[k]].exact {
			continue
		}
		at := s.at.Add(all[order[k]].took)
		if s.late = s.late || at.Sub(first) > sameInstant; !s.late {
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
func (p *pathBuilder) ackedBySweep(least time.Duration) bool {
	const enough, most = 3, 100 // how many are looked at
	var late []Timed
	for i := range p.segments {
		if s := &p.segments[i]; s.acked && s.alone && s.isNew && s.start > 0 && s.ackAt.Sub(s.at)-least > shortestDelay && len(late) < most {
			late = append(late, Timed{At: s.ackAt})
		}
	}
	_, n := densest(late, 200*time.Millisecond)
	return n >= enough && 4*n > 3*len(late)
}

// inOrder returns the segments by when they were sent.
func (p *pathBuilder) inOrder() []int {
	order := make([]int, len(p.segments))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.segments[a].at, p.segments[b].at) })
	return order
}

// countLosses counts transmissions, and finds the spans of losses with no arrival between them.
func (b *builder) countLosses(p *pathBuilder, t *PathTrace) {
	lost := make([]bool, len(p.segments))
	for i := range p.ranges {
		r := &p.ranges[i]
		for _, k := range r.tries {
			lost[k.n] = lost[k.n] || k.fate == Lost
		}
	}
	open := false
	for _, n := range p.inOrder() {
		at := b.virtual(p.segments[n].at.Add(-p.near / 2))
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
