package netstack

import (
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/waiter"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// kick announces work. The goroutine that raises the work count from 0 holds the baton: it runs the
// connection until no work is left, also the work that others announce meanwhile.
func (e *Endpoint) kick() {
	if e.work.Add(1) == 1 {
		e.run(nil)
	}
}

// kickAsync announces work like kick, but the worker pool runs the connection. The caller does not
// wait for the device.
func (e *Endpoint) kickAsync() {
	if e.work.Add(1) == 1 {
		e.p.workers.add(e)
	}
}

// run runs steps until no work is left. first is a segment that has not been in the inbox; nil is
// none. After timeSlice the worker pool takes over: the caller reads a device or is the
// application, and has other things to do.
func (e *Endpoint) run(first *segment) {
	if e.runFor(timeSlice, first) {
		e.p.workers.add(e)
	}
}

// runFor runs steps until no work is left or d is over. It reports whether work is left; the caller
// then still holds the baton.
func (e *Endpoint) runFor(d time.Duration, first *segment) bool {
	s := e.shard.borrowScratch()
	defer e.returnScratch(s)
	start := wheel.Time(-1)
	for {
		n := e.work.Load()
		e.step(s, first)
		first = nil
		if e.work.Add(-n) == 0 {
			e.p.idle.becameIdle()
			return false
		}
		if now := e.p.now(); start < 0 {
			start = now
		} else if now.Sub(start) > d {
			return true
		}
	}
}

// returnScratch adds up what the steps have counted and returns the scratch space to the shard.
func (e *Endpoint) returnScratch(s *scratch) {
	e.p.addCounters(s, e)
	e.shard.returnScratch(s)
}

// step feeds the engine everything that has happened, under the lock. Then it carries out the
// engine's output without the lock. The caller holds the baton.
func (e *Endpoint) step(s *scratch, first *segment) {
	icmp := e.takeInbox(s, first)
	e.mu.Lock()
	if e.phase == phaseConn && e.wait == nil {
		var r stepResult
		e.runEngine(s, icmp, &r)
		e.mu.Unlock()
		e.publish(s, &r)
	} else {
		ended := e.phase == phaseClosed || e.phase == phaseError || e.wait != nil
		e.mu.Unlock()
		if ended {
			e.answerAfterClose(s.in)
		}
		for i := range icmp {
			icmp[i].release()
		}
	}
	s.releaseSegments()
}

// stepResult is what publish needs to know about the part of the step under the lock.
type stepResult struct {
	before, after tcp.State
	phase         phase
	ended         bool // the connection has ended
	timedOut      bool // because the peer did not answer
	retires       bool // TIME-WAIT goes on without the endpoint
	mask          waiter.EventMask
	parent        *listener // listener of a connection before Accept
	queue         bool      // it enters the parent's accept queue
	nextSYN       *segment  // a SYN of the next incarnation, which ends TIME-WAIT
	route         *stack.Route
	params        packetParams
}

// runEngine feeds the engine segments, ICMP messages, expired timers and the application's calls.
// It builds the packets to send, but does not send them. The caller holds the lock.
func (e *Endpoint) runEngine(s *scratch, icmp []icmpMessage, r *stepResult) {
	o := &s.out
	o.MaxBurst = e.maxPacketPayload()
	counted, unacked := s.snapshot(), e.snd.size() > 0
	r.before = e.conn.State()
	if len(s.in) > 0 {
		e.pollQuickAck(o)
	}
	r.nextSYN = e.inputAll(s)
	now := e.advanceTime(e.p.now())
	for i := range icmp {
		e.handleICMP(now, &icmp[i], o)
	}
	if e.expired.Swap(false) {
		e.expireTimers(now, s)
	}
	e.applyCalls(now, o)
	e.countState(now, o)

	e.buildPackets(s)
	// A link with GSO has written a packet when WritePacket returns, so no clone is left.
	e.snd.release(min(e.conn.Acked(), e.snd.end), e.maxGSO > 0)
	if bulk := e.p.parallel && e.snd.size() > 2*pieceSize; bulk != e.bulk.Load() {
		e.bulk.Store(bulk)
	}
	if len(o.Timers) > 0 {
		e.shard.apply(e, o.Timers)
	}
	if e.p.checkInvariants {
		e.checkInvariants()
	}
	r.after = e.conn.State()
	r.timedOut = o.Counters.TCPAbortOnTimeout != counted.abortsOnTimeout
	_, slowStart := e.conn.Cwnd()
	s.adjust(counted, r.before, slowStart, r.timedOut && unacked)
	if r.mask, r.ended = e.handleEvents(o.Events, r.before, r.timedOut); r.ended {
		e.countAs(tcp.StateClosed)
	}
	r.phase = e.phase
	r.parent, r.queue = e.followedBy(o.Events, r.ended)
	r.route, r.params = e.route, e.packetParams()
	r.retires = r.nextSYN == nil && e.retires()
}

// countState counts the connection by its state, or ends it if too many are in TIME-WAIT.
func (e *Endpoint) countState(now wheel.Time, o *tcp.Output) {
	s := e.conn.State()
	if s == e.counted || e.phase == phaseClosed || e.phase == phaseError {
		return
	}
	e.countAs(s)
	if s == tcp.StateTimeWait && e.p.states[s].Load() > e.p.maxTimeWait {
		o.Counters.TCPTimeWaitOverflow++
		e.conn.Abort(now, o)
		e.countAs(e.conn.State())
	}
}

// countAs moves the connection to another of the protocol's counts. Closed ones are not counted.
func (e *Endpoint) countAs(s tcp.State) {
	if e.counted != tcp.StateClosed {
		e.p.states[e.counted].Add(-1)
	}
	if s != tcp.StateClosed {
		e.p.states[s].Add(1)
	}
	e.counted = s
}

// inputAll feeds the engine the step's segments. It stops at a SYN that ends TIME-WAIT, and returns
// it.
func (e *Endpoint) inputAll(s *scratch) *segment {
	for i := range s.in {
		if e.input(&s.in[i], &s.out) {
			return &s.in[i]
		}
		s.in[i].release() // so that the reader owns the chunk alone
	}
	return nil
}

// followedBy returns the listener that must hear of the step's events, and whether the connection
// enters its accept queue.
func (e *Endpoint) followedBy(events tcp.Events, ended bool) (parent *listener, queue bool) {
	if e.parent == nil || events&(tcp.EventConnected|tcp.EventClosed) == 0 {
		return e.parent, false
	}
	parent = e.parent
	queue = events.Has(tcp.EventConnected) && !e.inAcceptQueue
	e.inAcceptQueue = e.inAcceptQueue || queue
	if ended {
		e.parent = nil
	}
	return parent, queue
}

// publish sends the step's packets and notifies the application and the listener. The caller holds
// the baton and no lock.
func (e *Endpoint) publish(s *scratch, r *stepResult) {
	e.p.countState(r.before, r.after)
	e.transmit(s, r.route, &r.params)
	s.out.Reset()
	s.causes = s.causes[:0]
	if r.ended {
		e.p.countEnd(r.before, r.phase, r.timedOut)
		e.releaseResources()
	}
	if r.retires {
		e.retire()
	}
	if r.parent != nil {
		r.parent.childChanged(e, r.queue, r.ended)
	}
	if r.mask != 0 {
		e.wq.Notify(r.mask)
	}
	if r.nextSYN != nil && !e.reincarnate(r.nextSYN) {
		again := *r.nextSYN
		again.pkt, again.refusedReopen = again.pkt.IncRef(), true
		e.deliver(&again)
	}
}

// answerAfterClose answers segments that arrived just after the connection ended, or went on in
// TIME-WAIT without its endpoint, as if no endpoint existed. On a link that delivers at once, the
// challenge ACK that answers a RST arrives before the endpoint is unregistered.
func (e *Endpoint) answerAfterClose(in []segment) {
	if len(in) == 0 {
		return
	}
	e.mu.Lock()
	id, nic, net := e.info.ID, e.info.RegisterNICID, e.info.NetProto
	e.mu.Unlock()
	if id.RemoteAddress.BitLen() == header.IPv4AddressSizeBits {
		net = header.IPv4ProtocolNumber // also on an IPv6 socket
	}
	for i := range in {
		seg := &in[i]
		if e.p.timeWaits.input(&id, seg, false) || seg.isSYN() && e.reincarnate(seg) {
			continue
		}
		e.p.resetStray(nic, net, id, seg)
	}
}

// advanceTime advances the connection's time to now and returns it. A now earlier than one seen
// before counts as no time passing.
func (e *Endpoint) advanceTime(now wheel.Time) wheel.Time {
	e.now = max(e.now, now)
	return e.now
}

// input feeds the engine a segment. It returns true for a SYN that ends TIME-WAIT: the listener
// gets that SYN.
func (e *Endpoint) input(seg *segment, o *tcp.Output) (nextIncarnation bool) {
	now := e.advanceTime(seg.arrived)
	in := seg.inbound()
	o.Counters.InSegs++
	if e.opening == openingDone && e.parent != nil && !e.inAcceptQueue && e.parent.handshake(e, seg, now, o) {
		return false
	}
	switch {
	case e.opening == openingSYN && seg.isSYN():
		e.opening = openingDone
		e.conn.Accept(now, &in, o)
		return false
	case e.opening == openingCookie:
		e.opening = openingDone
		c := e.cookie
		e.cookie = nil
		e.acceptPayload(seg, e.conn.AcceptCookie(now, &in, *c, o))
		return false
	case e.opening != openingDone:
		return false // it arrived before our SYN has left
	}
	if e.conn.State() == tcp.StateTimeWait && !seg.refusedReopen {
		if was := e.conn.TimeWait(); reopens(&was, seg) {
			o.Counters.InSegs-- // the next incarnation counts it, or this connection when it comes back
			return true
		}
	}
	e.acceptPayload(seg, e.conn.Input(now, &in, o))
	return false
}

// acceptPayload queues the part of a segment's payload that the engine accepts. A closed endpoint
// drops it. After Shutdown alone it can still be read, as with gVisor's TCP and Linux's.
func (e *Endpoint) acceptPayload(seg *segment, d tcp.Disposition) {
	if d.Len == 0 && d.InOrder == 0 {
		return
	}
	q := &e.rcv
	before := q.end
	q.insert(seg.pkt, d)
	n := uint32(q.end - before)
	if e.closed {
		// No reader will come: the window opens at once.
		q.ready.Truncate(q.ready.Size() - int64(n))
		e.calls.consumed += n
		return
	}
	e.rcvUsed += int(n)
}

// expireTimers reports to the engine the timers that have expired and were not stopped since.
func (e *Endpoint) expireTimers(now wheel.Time, s *scratch) {
	o := &s.out
	for {
		slot, ok := e.shard.nextFired(e, o.Timers)
		o.Timers = o.Timers[:0]
		if !ok {
			return
		}
		n := len(o.Segments)
		e.conn.Expire(now, slot, o)
		e.recordCause(s, slot, now, n)
	}
}

// maxWrotePerStep is the number of written bytes that one step reports to the engine, on a link
// without GSO.
const maxWrotePerStep = 2 * pieceSize

// applyCalls reports to the engine what the application has done since the last step.
func (e *Endpoint) applyCalls(now wheel.Time, o *tcp.Output) {
	t := e.calls
	e.calls = pendingCalls{}
	e.conn.SetWriterWaits(e.writerWaits)
	if e.opening == openingConnect {
		e.opening = openingDone
		e.conn.Connect(now, o)
	}
	if t.config || t.control || t.options || t.resize {
		e.applyOptionCalls(now, t, o)
	}
	if t.consumed > 0 {
		e.conn.Consumed(now, t.consumed, o)
		e.growRecvBuffer()
	}
	if e.applyWrites(now, &t, o); t.wrote > 0 {
		// The next step reports the rest, and the calls made after the writes.
		t.options, t.consumed = false, 0
		e.calls = t
		e.work.Add(1)
		return
	}
	if t.push {
		e.conn.Flush(now, o)
	}
	switch {
	case (t.abort || t.close) && e.opening != openingDone:
		o.Events |= tcp.EventClosed // the connection had not begun
	case t.recycle:
		o.Counters.TWRecycled++
		e.conn.Abort(now, o)
	case t.abort:
		e.conn.Abort(now, o)
	case t.close && t.linger0:
		e.conn.Close(now, 0, o)
	case t.close:
		e.conn.Close(now, tcp.NoLinger, o)
	case t.shutdown:
		e.conn.Shutdown(now, o)
	}
}

// applyWrites reports writes to the engine, or the first maxWrotePerStep bytes of them, and removes
// them from t.
func (e *Endpoint) applyWrites(now wheel.Time, t *pendingCalls, o *tcp.Output) {
	most, done := t.wrote, uint32(0)
	if e.maxGSO == 0 && !t.abort {
		most = min(most, maxWrotePerStep)
	}
	for ; len(e.records) > 0 && e.records[0] <= most && e.records[0] < t.wrote; e.records = e.records[1:] {
		e.conn.Wrote(now, e.records[0]-done, tcp.WriteEOR, o)
		done = e.records[0]
	}
	switch {
	case most < t.wrote:
		e.conn.Wrote(now, most-done, tcp.WriteMore|tcp.WritePart, o)
		for i := range e.records {
			e.records[i] -= most
		}
	case t.wrote > 0 || t.flush:
		e.conn.Wrote(now, t.wrote-done, t.flags, o) // a record that ends here is in flags
		e.records = nil
	}
	t.wrote -= most
}

// handleEvents returns the events to notify the application of, and whether the connection has
// ended. before is the connection's state at the beginning of the step.
func (e *Endpoint) handleEvents(events tcp.Events, before tcp.State, timedOut bool) (mask waiter.EventMask, ended bool) {
	if events.Has(tcp.EventConnected) {
		mask |= waiter.WritableEvents
	}
	if events.Has(tcp.EventReadable) {
		mask |= waiter.ReadableEvents
	}
	if events.Has(tcp.EventPeerClosed) {
		mask |= waiter.ReadableEvents | waiter.EventRdHUp
	}
	if e.writerWaits && e.snd.size() < e.growSendBuffer()/2 && e.conn.LittleUnsent(e.calls.wrote) {
		// Writers wait until half of the buffer is free, so that not each ACK wakes them up.
		e.writerWaits = false
		mask |= waiter.WritableEvents
	}
	if before != tcp.StateTimeWait && e.conn.State() == tcp.StateTimeWait {
		mask |= hungUp // both directions are closed
	}
	if !events.Has(tcp.EventClosed) {
		return mask, false
	}
	e.recordEnd(before, timedOut)
	e.snd.drop()
	if e.closed {
		e.rcv.drop()
		e.rcvUsed = 0
		e.dropErrors()
	}
	return mask | hungUp, true
}
