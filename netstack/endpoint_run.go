package netstack

import (
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/waiter"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// kick announces work. The goroutine that raises the work count from 0 holds the baton: it runs the
// connection until no work is left, also the work that others announce meanwhile. After timeSlice
// the worker pool takes over: the caller reads a device or is the application, and has other things
// to do.
func (e *Endpoint) kick() {
	if e.work.Add(1) == 1 && e.run(nil) {
		e.p.workers.add(e)
	}
}

// kickAsync announces work like kick, but the worker pool runs the connection. The caller does not
// wait for the device.
func (e *Endpoint) kickAsync() {
	if e.work.Add(1) == 1 {
		e.p.workers.add(e)
	}
}

// run runs steps until no work is left or timeSlice is over. It reports whether work is left; the
// caller then still holds the baton. first is a segment that has not been in the inbox; nil is none.
func (e *Endpoint) run(first *segment) bool {
	s := e.shard.borrowScratch()
	defer e.shard.returnScratch(s, e)
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
		} else if now.Sub(start) > timeSlice {
			return true
		}
	}
}

// step is one turn of a connection: what has happened, and what follows. Under the lock engine tells
// the engine, and builds the packets; transmit and publish then carry out the rest without it. Its
// working memory is the shard's.
type step struct {
	*scratch
	e    *Endpoint
	icmp []icmpMessage

	before   tcp.State
	phase    phase
	ended    bool // the connection has ended
	timedOut bool // because the peer did not answer
	retires  bool // TIME-WAIT goes on without the endpoint
	mask     waiter.EventMask
	parent   *listener // listener of a connection before Accept
	queue    bool      // it enters the parent's accept queue
	nextSYN  *segment  // a SYN of the next incarnation, which ends TIME-WAIT
	route    *stack.Route
	params   packetParams
}

// step takes everything that has happened and does what follows. The caller holds the baton.
func (e *Endpoint) step(s *scratch, first *segment) {
	st := step{scratch: s, e: e}
	st.icmp = e.takeInbox(s, first)
	e.mu.Lock()
	if e.phase == phaseConn && e.wait == nil {
		st.engine()
		e.mu.Unlock()
		st.transmit()
		st.publish()
	} else {
		ended := e.phase == phaseClosed || e.phase == phaseError || e.wait != nil
		e.mu.Unlock()
		if ended {
			st.answerAfterClose()
		}
		for i := range st.icmp {
			st.icmp[i].release()
		}
	}
	s.releaseSegments()
}

// engine feeds the engine segments, ICMP messages, expired timers and the application's calls.
// It builds the packets to send, but does not send them. The caller holds the lock.
func (st *step) engine() {
	o := &st.out
	o.MaxBurst = st.e.maxPacketPayload()
	counted, unacked := st.snapshot(), st.e.snd.size() > 0
	st.before = st.e.conn.State()
	if len(st.in) > 0 {
		st.pollQuickAck()
	}
	st.nextSYN = st.inputAll()
	now := st.e.advanceTime(st.e.p.now())
	for i := range st.icmp {
		st.handleICMP(now, &st.icmp[i])
	}
	if st.e.expired.Swap(false) {
		st.expireTimers(now)
	}
	acked, consumed := st.e.snd.start, st.e.calls.consumed > 0
	st.applyCalls(now)
	st.countState(now)

	st.buildPackets()
	// A link with GSO has written a packet when WritePacket returns, so no clone is left.
	st.e.snd.release(min(st.e.conn.Acked(), st.e.snd.end), st.e.maxGSO > 0)
	if bulk := st.e.p.parallel && st.e.snd.size() > 2*pieceSize; bulk != st.e.bulk.Load() {
		st.e.bulk.Store(bulk)
	}
	if len(o.Timers) > 0 {
		st.e.shard.apply(st.e, o.Timers)
	}
	if st.e.p.checkInvariants {
		checkInvariants(st.e)
	}
	after := st.e.conn.State()
	st.e.p.countState(st.before, after)
	st.timedOut = o.Counters.TCPAbortOnTimeout != counted.abortsOnTimeout
	_, slowStart := st.e.conn.Cwnd()
	st.adjust(counted, st.before, slowStart, st.timedOut && unacked)
	if st.handleEvents(o.Events); st.ended {
		st.countAs(tcp.StateClosed)
	}
	st.noteProgress(now, acked, consumed)
	st.e.charge()
	st.phase = st.e.phase
	st.followedBy(o.Events)
	st.route, st.params = st.e.route, st.e.packetParams()
	st.retires = st.nextSYN == nil && retires(st.e)
}

// countState counts the connection by its state, or ends it if too many are in TIME-WAIT.
func (st *step) countState(now wheel.Time) {
	o := &st.out
	s := st.e.conn.State()
	if s == st.e.counted || st.e.phase == phaseClosed || st.e.phase == phaseError {
		return
	}
	st.countAs(s)
	if s == tcp.StateTimeWait && st.e.p.states[s].Load() > st.e.p.maxTimeWait {
		o.Counters.TCPTimeWaitOverflow++
		st.e.conn.Abort(now, o)
		st.countAs(st.e.conn.State())
	}
}

// countAs moves the connection to another of the protocol's counts. Closed ones are not counted.
func (st *step) countAs(s tcp.State) {
	if st.e.counted != tcp.StateClosed {
		st.e.p.states[st.e.counted].Add(-1)
	}
	if s != tcp.StateClosed {
		st.e.p.states[s].Add(1)
	}
	st.e.counted = s
}

// inputAll feeds the engine the step's segments. It stops at a SYN that ends TIME-WAIT, and returns
// it.
func (st *step) inputAll() *segment {
	for i := range st.in {
		if st.input(&st.in[i]) {
			return &st.in[i]
		}
		st.in[i].release() // so that the reader owns the chunk alone
	}
	return nil
}

// followedBy sets the listener that must hear of the step's events, and whether the connection enters
// its accept queue.
func (st *step) followedBy(events tcp.Events) {
	e := st.e
	st.parent = e.parent
	if e.parent == nil || events&(tcp.EventConnected|tcp.EventClosed) == 0 {
		return
	}
	st.queue = events.Has(tcp.EventConnected) && !e.inAcceptQueue
	e.inAcceptQueue = e.inAcceptQueue || st.queue
	if st.ended {
		e.parent = nil
	}
}

// publish notifies the application and the listener after the step's packets were sent. The caller
// holds the baton and no lock.
func (st *step) publish() {
	st.out.Reset()
	st.causes = st.causes[:0]
	if st.ended {
		st.e.p.countEnd(st.before, st.phase, st.timedOut)
		st.releaseResources()
	}
	if st.retires {
		st.retire()
	}
	if st.parent != nil {
		st.parent.childChanged(st.e, st.queue, st.ended)
	}
	if st.mask != 0 {
		st.e.wq.Notify(st.mask)
	}
	if st.e.p.memory.level() == memoryFull {
		st.e.p.reclaim()
	}
	if st.nextSYN != nil && !st.reincarnate(st.nextSYN) {
		again := *st.nextSYN
		again.pkt, again.refusedReopen = again.pkt.IncRef(), true
		st.e.deliver(&again)
	}
}

// answerAfterClose answers segments that arrived just after the connection ended, or went on in
// TIME-WAIT without its endpoint, as if no endpoint existed. On a link that delivers at once, the
// challenge ACK that answers a RST arrives before the endpoint is unregistered.
func (st *step) answerAfterClose() {
	if len(st.in) == 0 {
		return
	}
	st.e.mu.Lock()
	id, nic, net := st.e.info.ID, st.e.info.RegisterNICID, st.e.info.NetProto
	st.e.mu.Unlock()
	if id.RemoteAddress.BitLen() == header.IPv4AddressSizeBits {
		net = header.IPv4ProtocolNumber // also on an IPv6 socket
	}
	for i := range st.in {
		seg := &st.in[i]
		if st.e.p.timeWaits.input(&id, seg, false) || seg.isSYN() && st.reincarnate(seg) {
			continue
		}
		st.e.p.resetStray(nic, net, id, seg)
	}
}

// advanceTime advances the connection's time to now and returns it. A now earlier than one seen
// before counts as no time passing.
func (s *status) advanceTime(now wheel.Time) wheel.Time {
	s.now = max(s.now, now)
	return s.now
}

// input feeds the engine a segment. It returns true for a SYN that ends TIME-WAIT: the listener
// gets that SYN.
func (st *step) input(seg *segment) (nextIncarnation bool) {
	o := &st.out
	now := st.e.advanceTime(seg.arrived)
	st.refuses(seg)
	in := seg.inbound()
	o.Counters.InSegs++
	if st.e.opening == openingDone && st.e.parent != nil && !st.e.inAcceptQueue && st.e.parent.handshake(st.e, seg, now, o) {
		return false
	}
	switch {
	case st.e.opening == openingSYN && seg.isSYN():
		st.e.opening = openingDone
		st.e.conn.Accept(now, &in, o)
		return false
	case st.e.opening == openingCookie:
		st.e.opening = openingDone
		c := st.e.cookie
		st.e.cookie = nil
		st.acceptPayload(seg, st.e.conn.AcceptCookie(now, &in, *c, o))
		return false
	case st.e.opening != openingDone:
		return false // it arrived before our SYN has left
	}
	if st.e.conn.State() == tcp.StateTimeWait && !seg.refusedReopen {
		if was := st.e.conn.TimeWait(); reopens(&was, seg) {
			o.Counters.InSegs-- // the next incarnation counts it, or this connection when it comes back
			return true
		}
	}
	st.acceptPayload(seg, st.e.conn.Input(now, &in, o))
	return false
}

// acceptPayload queues the part of a segment's payload that the engine accepts. A closed endpoint
// drops it. After Shutdown alone it can still be read, as with gVisor's TCP and Linux's.
func (st *step) acceptPayload(seg *segment, d tcp.Disposition) {
	if d.Len == 0 && d.InOrder == 0 {
		return
	}
	q := &st.e.rcv
	before := q.end
	q.insert(seg.pkt, d)
	n := uint32(q.end - before)
	if st.e.closed {
		// No reader will come: the window opens at once.
		q.ready.Truncate(q.ready.Size() - int64(n))
		st.e.calls.consumed += n
		return
	}
	st.e.rcvUsed += int32(n)
}

// expireTimers reports to the engine the timers that have expired and were not stopped since.
func (st *step) expireTimers(now wheel.Time) {
	o := &st.out
	for {
		slot, ok := st.e.shard.nextFired(st.e, o.Timers)
		o.Timers = o.Timers[:0]
		if !ok {
			return
		}
		n := len(o.Segments)
		st.e.conn.Expire(now, slot, o)
		st.recordCause(slot, now, n)
	}
}

// maxWrotePerStep is the number of written bytes that one step reports to the engine, on a link
// without GSO.
const maxWrotePerStep = 2 * pieceSize

// applyCalls reports to the engine what the application has done since the last step.
func (st *step) applyCalls(now wheel.Time) {
	o := &st.out
	t := st.e.calls
	st.e.calls = pendingCalls{}
	st.e.conn.SetWriterWaits(st.e.writerWaits)
	if st.e.opening == openingConnect {
		st.e.opening = openingDone
		st.e.conn.Connect(now, o)
	}
	if t.config || t.control || t.options || t.resize {
		st.applyOptions(now, t)
	}
	if t.consumed > 0 {
		st.e.conn.Consumed(now, t.consumed, o)
		st.growRecvBuffer()
	}
	if st.applyWrites(now, &t); t.wrote > 0 {
		// The next step reports the rest, and the calls made after the writes.
		t.options, t.consumed = false, 0
		st.e.calls = t
		st.e.work.Add(1)
		return
	}
	if t.push {
		st.e.conn.Flush(now, o)
	}
	switch {
	case (t.abort || t.close) && st.e.opening != openingDone:
		o.Events |= tcp.EventClosed // the connection had not begun
	case t.recycle:
		o.Counters.TWRecycled++
		st.e.conn.Abort(now, o)
	case t.abort:
		st.e.conn.Abort(now, o)
	case t.close && t.linger0:
		st.e.conn.Close(now, 0, o)
	case t.close:
		st.e.conn.Close(now, tcp.NoLinger, o)
	case t.shutdown:
		st.e.conn.Shutdown(now, o)
	}
}

// applyWrites reports writes to the engine, or the first maxWrotePerStep bytes of them, and removes
// them from t.
func (st *step) applyWrites(now wheel.Time, t *pendingCalls) {
	o := &st.out
	most, done := t.wrote, uint32(0)
	if st.e.maxGSO == 0 && !t.abort {
		most = min(most, maxWrotePerStep)
	}
	for ; len(st.e.records) > 0 && st.e.records[0] <= most && st.e.records[0] < t.wrote; st.e.records = st.e.records[1:] {
		st.e.conn.Wrote(now, st.e.records[0]-done, tcp.WriteEOR, o)
		done = st.e.records[0]
	}
	switch {
	case most < t.wrote:
		st.e.conn.Wrote(now, most-done, tcp.WriteMore|tcp.WritePart, o)
		for i := range st.e.records {
			st.e.records[i] -= most
		}
	case t.wrote > 0 || t.flush:
		st.e.conn.Wrote(now, t.wrote-done, t.flags, o) // a record that ends here is in flags
		st.e.records = nil
	}
	t.wrote -= most
}

// handleEvents sets the events to notify the application of, and whether the connection has ended.
func (st *step) handleEvents(events tcp.Events) {
	if events.Has(tcp.EventConnected) {
		st.mask |= waiter.WritableEvents
	}
	if events.Has(tcp.EventReadable) {
		st.mask |= waiter.ReadableEvents
	}
	if events.Has(tcp.EventPeerClosed) {
		st.mask |= waiter.ReadableEvents | waiter.EventRdHUp
	}
	if st.wakesWriter() {
		st.e.writerWaits = false
		st.mask |= waiter.WritableEvents
	}
	if st.before != tcp.StateTimeWait && st.e.conn.State() == tcp.StateTimeWait {
		st.mask |= hungUp // both directions are closed
	}
	if !events.Has(tcp.EventClosed) {
		return
	}
	st.recordEnd()
	st.e.snd.drop()
	if st.e.closed {
		st.e.dropUnread()
		dropErrors(&st.e.ops)
	}
	st.mask |= hungUp
	st.ended = true
}
