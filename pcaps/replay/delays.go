package replay

import (
	"cmp"
	"slices"
	"time"

	"tcpwheel/wheel"
)

// way makes the script of one direction.
func (m *maker) way(d int, rtt time.Duration) Way {
	w := &m.ways[d]
	near, far := w.near/2, w.far/2
	var out Way
	// The least time to the destination and back, of what was answered at once.
	least := rtt - w.near
	for i := range w.sent {
		if s := &w.sent[i]; s.acked && !s.unseen && !s.late {
			least = min(least, s.rx.Sub(s.at))
		}
	}
	least = max(least, 0)
	out.Base = near + least - far
	if w.far == 0 {
		out.Base = near
	}
	for _, p := range w.pieces {
		for k, n := range p.tries {
			if p.fates[k] == Delivered {
				w.sent[n].covers = true
			}
		}
	}
	order := w.inOrder()
	delays := make([]time.Duration, len(w.sent))
	exact := make([]bool, len(w.sent))
	for k, i := range order {
		s := &w.sent[i]
		took := s.rx.Sub(s.at)
		// Another segment came soon after it, and would have been acknowledged with it, if its ACK had been put off.
		followed := false
		if k+1 < len(order) {
			next := &w.sent[order[k+1]]
			followed = next.covers && next.start == s.end && next.at.Sub(s.at) < shortestDelay
		}
		switch {
		case w.far == 0 && !s.unseen:
			delays[i], exact[i] = near, true
		case !s.acked || s.unseen:
		case !s.alone || m.wasPrompt(d, took-least, followed):
			delays[i], exact[i] = max(near+took-far, out.Base), true
		}
	}
	// What was not seen lies between its neighbours, and no later than its own ACK tells.
	var known []Delay
	for _, i := range order {
		if exact[i] && !w.sent[i].late {
			known = append(known, Delay{m.virtual(w.sent[i].at.Add(-near)), delays[i]})
		}
	}
	before := -1 // the last one that is exact
	for k, i := range order {
		s := &w.sent[i]
		if exact[i] {
			if !s.late {
				before = k
			}
			continue
		}
		delays[i] = interpolate(known, m.virtual(s.at.Add(-near)), out.Base)
		if before >= 0 && s.at.Sub(w.sent[order[before]].at) <= together {
			delays[i] = m.inBurst(w, order, delays, exact, before, k)
		}
		bound := s.limit
		if s.acked && (bound == 0 || s.rx.Before(bound)) {
			bound = s.rx
		}
		if bound != 0 && s.covers {
			delays[i] = max(min(delays[i], near+bound.Sub(s.at)-far), 0)
		}
	}
	out.Delays = known
	for _, p := range w.pieces {
		r := Range{Start: uint64(p.start), End: uint64(p.end)}
		for k, n := range p.tries {
			s := &w.sent[n]
			t := Try{Sent: m.virtual(s.at.Add(-near)), Fate: p.fates[k], Late: s.late, Unseen: s.unseen, Packet: s.number}
			if t.Fate != Lost {
				t.Delay, t.Exact = delays[n], exact[n]
			}
			r.Tries = append(r.Tries, t)
		}
		if k := len(out.Ranges) - 1; k >= 0 && out.Ranges[k].End == r.Start && slices.Equal(out.Ranges[k].Tries, r.Tries) {
			out.Ranges[k].End = r.End
			continue
		}
		out.Ranges = append(out.Ranges, r)
	}
	for _, s := range m.ways[1-d].deaf { // its ACKs go this way
		out.Deaf = append(out.Deaf, Span{m.virtual(s.From), m.virtual(s.To)})
	}
	m.index(w, &out, near)
	return out
}

// wasPrompt reports whether an ACK of a single segment that came so late came late for the way, and was not put off by its sender: no
// timer is that short, or that long, or it puts none off.
func (m *maker) wasPrompt(d int, late time.Duration, followed bool) bool {
	policy := &m.acks[1-d]
	switch {
	case late <= time.Millisecond, late > longestDelay:
		return true
	case policy.Heartbeat > 0:
		return false
	case followed:
		return true
	case policy.Every == 0:
		return false // nobody knows yet
	}
	return late <= shortestDelay || policy.Every == 1
}

const (
	shortestDelay = 8 * time.Millisecond   // less than any timer of delayed ACKs, but for sweeps
	longestDelay  = 510 * time.Millisecond // RFC 9293 §3.8.6.3 (MUST-40): less than 0.5 seconds
)

// together is how far apart packets leave that leave as one: a few at the full rate of an interface.
const together = 20 * time.Microsecond

// inBurst returns the delay of the k-th packet, which left with one whose delay is known: they arrive evenly up to the next one that is
// known, or with it.
func (m *maker) inBurst(w *wayMaker, order []int, delays []time.Duration, exact []bool, before, k int) time.Duration {
	a := order[before]
	for next := k + 1; next < len(order); next++ {
		b := order[next]
		if w.sent[b].at.Sub(w.sent[a].at) > together {
			break
		}
		if exact[b] && !w.sent[b].late {
			return delays[a] + max(delays[b]-delays[a], 0)*time.Duration(k-before)/time.Duration(next-before)
		}
	}
	return delays[a]
}

// inOrder returns the transmissions by when they were sent.
func (w *wayMaker) inOrder() []int {
	order := make([]int, len(w.sent))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(w.sent[a].at, w.sent[b].at) })
	return order
}

// index counts transmissions, and finds the spans in which nothing was delivered.
func (m *maker) index(w *wayMaker, out *Way, near time.Duration) {
	lost := make([]bool, len(w.sent))
	for _, p := range w.pieces {
		for k, n := range p.tries {
			if p.fates[k] == Lost {
				lost[n] = true
			}
		}
	}
	order := w.inOrder()
	out.Sent = len(order)
	before, open := m.virtual(m.packets[0].at)-1, false
	for _, n := range order {
		at := m.virtual(w.sent[n].at.Add(-near))
		out.Index, out.order = append(out.Index, lost[n]), append(out.order, at)
		if lost[n] {
			out.Lost++
			open = true
			continue
		}
		if open && at > before+1 {
			out.Gone = append(out.Gone, Span{before + 1, at - 1})
		}
		before, open = at, false
	}
	if open {
		out.Gone = append(out.Gone, Span{before + 1, m.virtual(m.packets[len(m.packets)-1].at)})
	}
}

// interpolate returns the delay of what is sent at that instant, from those in order: between two of them in proportion, and before the
// first and after the last as these. base is for none at all.
func interpolate(known []Delay, at wheel.Time, base time.Duration) time.Duration {
	i, _ := slices.BinarySearchFunc(known, at, func(d Delay, at wheel.Time) int { return cmp.Compare(d.Sent, at) })
	switch {
	case len(known) == 0:
		return base
	case i == len(known):
		return known[i-1].Took
	case i == 0 || known[i].Sent == at:
		return known[i].Took
	}
	a, b := known[i-1], known[i]
	part := float64(at.Sub(a.Sent)) / float64(b.Sent.Sub(a.Sent))
	return a.Took + time.Duration(part*float64(b.Took-a.Took))
}
