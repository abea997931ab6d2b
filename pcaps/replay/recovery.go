package replay

import (
	"cmp"
	"slices"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// Recovery is what became of a captured loss in a replay: from the transmission that was lost, as
// it left in the capture, to the ACK.
type Recovery struct {
	Repaired        bool // the bytes were acknowledged
	Retransmissions int
	D               time.Duration // to the first retransmission, 0 for none
	TRec            time.Duration
	FilledIn        bool // a transmission's fate is not in the capture
	Beyond          bool // a fate was drawn at random before the repair

	try     int           // the transmission that repaired it
	waited  time.Duration // until that left
	blind   time.Duration // see PathTrace.blind
	rto     time.Duration // of the policy, when the lost transmission had left
	transit time.Duration // and until it arrived
}

// contender is a way to decide when to retransmit that is tried on all losses.
type contender struct {
	decider    decider
	keys       int // by which it is tried, from ByRange on
	recoveries [Keys][]Recovery
	followed   []bool // whether the follower came as far as each loss

	configs [2]*tcp.Config
}

// groups puts contenders together that measure alike, so that they can share a follower.
func groups(all []*contender) (out [][]*contender) {
	for _, c := range all {
		same := measuring(c.decider.policy())
		i := slices.IndexFunc(out, func(g []*contender) bool { return measuring(g[0].decider.policy()) == same })
		if i < 0 {
			out = append(out, nil)
			i = len(out) - 1
		}
		out[i] = append(out[i], c)
	}
	return out
}

// byTime returns the losses in the order that the lost transmissions left.
func (s *CapturedConn) byTime() []int {
	order := make([]int, len(s.Losses))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.Losses[a].Sent, s.Losses[b].Sent) })
	return order
}

// compare has each loss happen to ends that have done what they did in the capture until the lost
// transmission left. Then they are released: each of the contenders, which measure alike, decides
// what follows. So no error of one loss is handed on to the next. It costs about a microsecond for
// each packet, and some hundred for each loss and contender.
func (s *CapturedConn) compare(congestion string, group []*contender) error {
	f, err := s.follow(congestion, group)
	if err != nil {
		return err
	}
	for _, c := range group {
		o := &Options{Congestion: congestion}
		for d := range c.configs {
			if c.configs[d], _, err = s.config(d, o, c.decider); err != nil {
				return err
			}
		}
		c.followed = make([]bool, len(s.Losses))
		for k := range c.keys {
			c.recoveries[k] = make([]Recovery, len(s.Losses))
		}
	}
	for _, i := range s.byTime() {
		l := &s.Losses[i]
		f.to(l.Sent)
		if e := f.ends[l.Flow]; l.Sent == 0 || e.conn == nil || e.sent <= int64(l.Start) {
			continue
		}
		for n, c := range group {
			c.followed[i] = true
			for k := range c.keys {
				r, err := f.release(l.Sent, congestion, Key(k), n, c)
				if err != nil {
					return err
				}
				r.steps(s.End.Add(overtime), func() bool {
					_, ok := ackedAt(r.paths[l.Flow].acks, int64(l.End))
					return ok
				}, 0)
				c.recoveries[k][i] = r.recovery(l)
				c.recoveries[k][i].rto = f.fans[l.Flow].all[n].RTO()
			}
		}
	}
	return nil
}

// release returns a run that begins as the follower is at now, under the n-th contender of its
// group. What left before still arrives as in the capture.
func (f *follower) release(now wheel.Time, congestion string, key Key, n int, c *contender) (*run, error) {
	s := f.captured
	r, err := s.newRun(&Options{Congestion: congestion, Key: key})
	if err != nil {
		return nil, err
	}
	r.configs, r.measures = c.configs, true
	r.net.Run(now)
	for d, e := range f.ends {
		r.ends[d] = e.fork(now, r, c.decider, f.fans[d].all[n].Copy(), f.acked[d])
	}
	for d, p := range r.paths {
		t := &s.tapes[1-d]
		for i := f.feeders[1-d].next; i < len(t.heard) && t.oldest[i/oldestEach] <= now; i++ {
			x := &t.heard[i]
			if x.sent > now {
				continue
			}
			once(r.net, x.at, func(at wheel.Time) { r.deliver(at, 1-d, i) })
			if x.bytes > 0 && !x.late {
				p.last = max(p.last, x.at)
			}
		}
		p.index, _ = slices.BinarySearch(p.trace.left, now+1) // how many have left
		p.high = f.ends[d].sent
	}
	for _, e := range r.ends {
		if e.conn == nil {
			continue
		}
		e.flush(now)
		c.decider.forked(now, e)
		if e.acks != nil {
			e.acks.release()
		}
		e.app.release(now)
	}
	return r, nil
}

// deliver hands an end the i-th delivery of the capture, which left before the ends were released.
func (r *run) deliver(now wheel.Time, to, i int) {
	f := newFeeder(r.ends[to])
	x := f.tape.delivery(i, r.captured.facts)
	r.paths[to].noteACK(now, x.ack)
	f.deliver(now, &x)
}

// recovery measures what became of a loss.
func (r *run) recovery(l *Loss) (rec Recovery) {
	p := r.paths[l.Flow]
	start, end := int64(l.Start), int64(l.End)
	repair := r.repair(l)
	for i := range p.sent {
		x := &p.sent[i]
		if x.end <= start || x.start >= end {
			continue
		}
		rec.FilledIn = rec.FilledIn || x.filledIn && (repair == nil || x.at <= repair.at)
		if x.start > start {
			continue
		}
		if rec.Retransmissions++; rec.Retransmissions == 1 {
			rec.D = x.at.Sub(l.Sent)
		}
	}
	acked, ok := ackedAt(p.acks, end)
	if last := r.lastBefore(l, repair, acked, ok); last != nil {
		rec.try, rec.waited, rec.transit, rec.blind = last.try, last.at.Sub(l.Sent), last.arrives.Sub(last.at), last.blind
	}
	if !ok {
		return rec
	}
	rec.Repaired, rec.TRec = true, max(acked.Sub(l.Sent), 0)
	rec.Beyond = r.horizon != 0 && acked > r.horizon
	return rec
}

// lastBefore returns the transmission that the ACK of a loss waited for: its repair, or a later one
// that filled a hole before it in the stream.
func (r *run) lastBefore(l *Loss, repair *transmission, acked wheel.Time, ok bool) *transmission {
	if repair == nil || !ok {
		return repair
	}
	last := repair
	all := r.paths[l.Flow].sent
	for i := range all {
		x := &all[i]
		if x.start < int64(l.Start) && !x.lost && !x.spurious && x.arrives > last.arrives && x.arrives <= acked {
			last = x
		}
	}
	return last
}

// repair returns the transmission that repaired a loss: of all its bytes, the one that arrived last
// that was the first to arrive of its own. nil: none did.
func (r *run) repair(l *Loss) (last *transmission) {
	all := r.paths[l.Flow].sent
	for missing := int64(l.Start); missing < int64(l.End); {
		var first *transmission // to arrive with the first byte that is missing
		for i := range all {
			x := &all[i]
			if !x.lost && x.start <= missing && x.end > missing && (first == nil || x.arrives < first.arrives) {
				first = x
			}
		}
		if first == nil {
			return last
		}
		if last == nil || first.arrives > last.arrives {
			last = first
		}
		missing = first.end
	}
	return last
}
