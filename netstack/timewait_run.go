package netstack

import (
	"slices"

	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// resume makes t.conn the connection of w. The caller holds the lock, and then calls settle.
func (t *timeWaits) resume(w *timeWait) *tcp.Conn {
	local, remote := w.ends.addrs()
	w.conn.Resume(&t.conn, t.p.secret.TimestampOffset(local, remote), t.p.timeWaitOption())
	return &t.conn
}

// settle carries out what a call of t.conn, which is w's, has decided. It releases the lock.
func (t *timeWaits) settle(w *timeWait) {
	o := &t.out
	ended, answers := o.Events.Has(tcp.EventClosed), slices.Clone(o.Segments)
	if ended {
		t.remove(w)
	} else {
		w.conn = t.conn.TimeWait()
		t.applyTimers(w)
	}
	o.Reset()
	t.mu.Unlock()
	id, net := w.ends.id()
	for i := range answers {
		t.p.send(w.nic, net, id, answers[i].Header, stack.NetworkHeaderParams{TOS: w.tos, TTL: w.ttl, DF: w.flags&timeWaitDF != 0})
	}
	if ended {
		t.p.timeWaitOver(w)
	}
}

// applyTimers restarts the timer if a retransmitted FIN has arrived.
func (t *timeWaits) applyTimers(w *timeWait) {
	s := w.shard
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, op := range t.out.Timers {
		if op.Start && !s.closed {
			s.wheel.Schedule(w.timer, op.At)
			s.observeWait(TimerMoved, w, op.At)
			s.arm()
		}
	}
}

// observeWait is observe for the timer of a record.
func (s *shard) observeWait(change TimerChange, w *timeWait, at wheel.Time) {
	if s.p.timerEvents == nil {
		return
	}
	ev := TimerEvent{Time: s.p.now(), Change: change, Endpoint: w.endpoint.Value(), Kind: tcptimers.TimeWait, Deadline: at}
	ev.Local, ev.Remote = w.ends.addrs()
	s.p.timerEvents(ev)
}

// timeWaitOver counts the end of a connection, and tells the endpoint if an application still has
// it.
func (p *protocol) timeWaitOver(w *timeWait) {
	p.states[tcp.StateTimeWait].Add(-1)
	p.countState(tcp.StateTimeWait, tcp.StateClosed)
	p.countEnd(tcp.StateTimeWait, phaseClosed, false)
	e := w.endpoint.Value()
	if e == nil {
		return
	}
	var o tcp.Output
	e.mu.Lock()
	e.wait, e.phase, e.counted = nil, phaseClosed, tcp.StateClosed
	e.conn.Forget(&o)
	e.mu.Unlock()
	e.wq.Notify(hungUp)
}

// advance advances the time. A now earlier than one seen before counts as no time passing.
func (t *timeWaits) advance(now wheel.Time) wheel.Time {
	t.now = max(t.now, now)
	return t.now
}

// input processes a segment of a connection that has a record, and reports whether it did. If
// reopen is set, a SYN of a new incarnation ends TIME-WAIT; input then reports false, and the
// listener gets the SYN.
func (t *timeWaits) input(id *stack.TransportEndpointID, seg *segment, reopen bool) bool {
	if t.n.Load() == 0 {
		return false
	}
	k := endsOf(id)
	t.mu.Lock()
	w := t.find(&k)
	if w == nil {
		t.mu.Unlock()
		return false
	}
	now, c := t.advance(seg.arrived), t.resume(w)
	if reopen && reopens(&w.conn, seg) {
		t.recycle(w, now)
		return false
	}
	t.out.Counters.InSegs++
	in := seg.inbound()
	c.Input(now, &in, &t.out)
	t.settle(w)
	return true
}

// reopens reports whether seg is a SYN of a new incarnation, and if so sets its lower bound for the
// ISS.
func reopens(w *tcp.TimeWait, seg *segment) bool {
	least, ok := w.Reopens(&seg.header)
	if ok {
		seg.leastISS = least
	}
	return ok
}

// recycle ends TIME-WAIT for the next incarnation. It releases the lock.
func (t *timeWaits) recycle(w *timeWait, now wheel.Time) {
	t.out.Counters.TWRecycled++
	t.conn.Abort(now, &t.out)
	t.settle(w)
}

// dial makes way for a connection to be dialed. It reports false if one with these ends is in
// TIME-WAIT, unless reuse is set and it may be dialed again. least is 0, or the lower bound of the
// new connection's ISS.
func (t *timeWaits) dial(id *stack.TransportEndpointID, reuse bool) (least tcp.Seq, free bool) {
	if t.n.Load() == 0 {
		return 0, true
	}
	k := endsOf(id)
	t.mu.Lock()
	w := t.find(&k)
	if w == nil {
		t.mu.Unlock()
		return 0, true
	}
	now := t.advance(t.p.now())
	if least, free = w.conn.MayDialAgain(now); !free || !reuse {
		t.mu.Unlock()
		return 0, false
	}
	t.resume(w)
	t.recycle(w, now)
	return least, true
}

// expire ends the connections whose timers have expired and were not restarted since.
func (t *timeWaits) expire(s *shard, due []dueTimeWait) {
	for _, d := range due {
		t.mu.Lock()
		w := t.expired(s, d)
		if w == nil {
			t.mu.Unlock()
			continue
		}
		now := t.advance(t.p.now())
		t.resume(w).Expire(now, tcp.Slot(tcptimers.TimeWait), &t.out)
		t.settle(w)
	}
}

// expired returns the record of an expired timer, or nil if it was removed or restarted. The caller
// holds the lock.
func (t *timeWaits) expired(s *shard, d dueTimeWait) *timeWait {
	if len(t.buckets) == 0 {
		return nil
	}
	w := *t.bucket(d.hash)
	for w != nil && (w.timer != d.timer || w.shard != s) {
		w = w.next
	}
	if w == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, runs := s.wheel.Deadline(w.timer); runs {
		return nil
	}
	s.observeWait(TimerExpired, w, s.wheel.Now())
	return w
}

// close ends all connections: the stack closes.
func (t *timeWaits) close() {
	for {
		t.mu.Lock()
		var w *timeWait
		t.each(func(first *timeWait) bool { w = first; return false })
		if w == nil {
			t.mu.Unlock()
			return
		}
		t.resume(w).Abort(t.now, &t.out)
		t.settle(w)
	}
}
