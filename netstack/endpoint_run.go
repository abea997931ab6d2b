package netstack

import (
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/waiter"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// kick announces work. Whoever finds the baton free runs the connection for all.
func (e *Endpoint) kick() {
	if e.work.Add(1) == 1 {
		e.run(nil)
	}
}

// hand announces work as kick does, and has the crew run the connection, so that its caller need not wait for the device.
func (e *Endpoint) hand() {
	if e.work.Add(1) == 1 {
		e.p.crew.add(e)
	}
}

// run makes passes until there is no work left. first is a segment that has not waited, nil if there is none. If that takes long, it has
// the crew go on: its caller, who reads from a device or the application's, has more to do.
func (e *Endpoint) run(first *segment) {
	if e.runFor(turn, first) {
		e.p.crew.add(e)
	}
}

// runFor makes passes until there is no work left, or the time is over, and reports whether there is some. Then its caller has the baton
// still.
func (e *Endpoint) runFor(d time.Duration, first *segment) bool {
	p := e.shard.borrow()
	defer e.finish(p)
	start := wheel.Time(-1)
	for {
		n := e.work.Load()
		e.pass(p, first)
		first = nil
		if e.work.Add(-n) == 0 {
			return false
		}
		if now := e.p.now(); start < 0 {
			start = now
		} else if now.Sub(start) > d {
			return true
		}
	}
}

// finish gives a pass back.
func (e *Endpoint) finish(p *pass) {
	e.p.count(p, e)
	e.shard.giveBack(p)
}

// pass tells the connection all that has happened, and carries out what it wants.
func (e *Endpoint) pass(p *pass, first *segment) {
	p.in = p.in[:0]
	if first != nil {
		p.in = append(p.in, *first)
	}
	icmp := e.takeIn(p)

	o := &p.out
	e.mu.Lock()
	if e.phase != phaseConn {
		ended := e.phase == phaseClosed || e.phase == phaseError
		e.mu.Unlock()
		if ended {
			e.tooLate(p.in)
		}
		for i := range icmp {
			icmp[i].release()
		}
		p.letGo()
		return
	}
	o.MaxBurst = e.mostInOne()
	before, counted, unacked := e.conn.State(), p.before(), e.snd.size() > 0
	if len(p.in) > 0 {
		e.noticeQuickAck(o)
	}
	var after *segment // a SYN that is for the next incarnation
	for i := range p.in {
		if e.input(&p.in[i], o) {
			after = &p.in[i]
			break
		}
		p.in[i].release() // so that who reads it at once has it alone
	}
	now := e.at(e.p.now())
	for i := range icmp {
		e.takeICMP(now, &icmp[i], o)
	}
	if e.expired.Swap(false) {
		e.expire(now, p)
	}
	e.do(now, o)

	e.gather(p)
	e.snd.release(min(e.conn.Acked(), e.snd.end), e.gsoMax > 0) // such a link has written a packet when it returns
	if bulk := e.p.parallel && e.snd.size() > 2*pieceSize; bulk != e.bulk.Load() {
		e.bulk.Store(bulk)
	}
	if len(o.Timers) > 0 {
		e.shard.apply(e, o.Timers)
	}
	if e.p.verify {
		e.verify()
	}
	state := e.conn.State()
	events := o.Events
	timedOut := o.Counters.TCPAbortOnTimeout != counted.ends
	p.adjust(counted, before, e.conn.SlowStart(), timedOut && unacked)
	mask, ended := e.take(events, before, timedOut)
	phase := e.phase
	parent, queue := e.parent, false
	if parent != nil && events&(tcp.EventConnected|tcp.EventClosed) != 0 {
		queue = events.Has(tcp.EventConnected) && !e.queued
		e.queued = e.queued || queue
		if ended {
			e.parent = nil
		}
	}
	route, way := e.route, e.way()
	e.mu.Unlock()

	e.p.countState(before, state)
	e.transmit(p, route, way)
	o.Reset()
	p.causes = p.causes[:0]
	if ended {
		e.p.countEnd(before, phase, timedOut)
		e.cleanUp()
	}
	if parent != nil {
		parent.follow(e, queue, ended)
	}
	if mask != 0 {
		e.wq.Notify(mask)
	}
	if after != nil {
		e.reincarnate(after)
	}
	p.letGo()
}

// tooLate answers segments that came when the connection had just ended, as if they had found nobody: on a link that delivers at once,
// the challenge ACK that answers a RST comes before the endpoint is unregistered.
func (e *Endpoint) tooLate(in []segment) {
	if len(in) == 0 {
		return
	}
	e.mu.Lock()
	id, nic, net := e.info.ID, e.info.RegisterNICID, e.info.NetProto
	e.mu.Unlock()
	if id.RemoteAddress.BitLen() == header.IPv4AddressSizeBits {
		net = header.IPv4ProtocolNumber // on a socket of IPv6, too
	}
	from := stack.NewPacketBuffer(stack.PacketBufferOptions{})
	defer from.DecRef()
	from.NICID, from.NetworkProtocolNumber = nic, net
	for i := range in {
		s := &in[i]
		if s.header.Flags&(tcp.SYN|tcp.ACK|tcp.RST) == tcp.SYN {
			e.reincarnate(s)
			continue
		}
		e.p.refuse(id, s, from)
	}
}

// letGo gives back the packets of the segments that are left.
func (p *pass) letGo() {
	for i := range p.in {
		p.in[i].release()
	}
	clear(p.in)
	if cap(p.in) > 1024 {
		p.in = nil
	}
}

// at takes the time. One that is earlier than one seen before counts as no time passing.
func (e *Endpoint) at(now wheel.Time) wheel.Time {
	e.now = max(e.now, now)
	return e.now
}

// input tells the connection of a segment. It reports true for a SYN that ends TIME-WAIT, which is for whoever listens.
func (e *Endpoint) input(s *segment, o *tcp.Output) (after bool) {
	now := e.at(s.at)
	in := s.inbound()
	o.Counters.InSegs++
	if e.opening == opened && e.parent != nil && !e.queued && e.parent.holds(e, s, now, o) {
		return false
	}
	switch {
	case e.opening == openSYN && s.header.Flags&(tcp.SYN|tcp.ACK|tcp.RST) == tcp.SYN:
		e.opening = opened
		e.conn.Accept(now, &in, o)
		return false
	case e.opening == openCookie:
		e.opening = opened
		c := e.cookie
		e.cookie = nil
		v := e.conn.AcceptCookie(now, &in, *c, o)
		e.rcv.keep(e, s, v)
		return false
	case e.opening != opened:
		return false // it came before the SYN has left
	}
	if e.conn.State() == tcp.StateTimeWait && s.header.Flags&(tcp.SYN|tcp.ACK|tcp.RST) == tcp.SYN && e.last.newIncarnation(&s.header) {
		s.afterTimeWait, s.leastISS = true, e.last.nxt
		return true
	}
	e.rcv.keep(e, s, e.conn.Input(now, &in, o))
	return false
}

// keep takes from a segment what the verdict says, unless the endpoint is closed. After Shutdown alone it can still be read, as with gVisor's
// TCP and Linux's.
func (q *recvQueue) keep(e *Endpoint, s *segment, v tcp.Disposition) {
	if v.Len == 0 && v.InOrder == 0 {
		return
	}
	before := q.end
	q.insert(s.pkt, v)
	n := uint32(q.end - before)
	if e.closed {
		// Nobody will read it: the window opens at once.
		q.ready.Truncate(q.ready.Size() - int64(n))
		e.todo.consumed += n
		return
	}
	e.rcvUsed += int(n)
}

// expire tells the connection of timers that have expired and were not stopped since.
func (e *Endpoint) expire(now wheel.Time, p *pass) {
	o := &p.out
	for {
		slot, ok := e.shard.takeFired(e, o.Timers)
		o.Timers = o.Timers[:0]
		if !ok {
			return
		}
		n := len(o.Segments)
		e.conn.Expire(now, slot, o)
		e.noteCause(p, slot, now, n)
	}
}

// mostWrote is how many octets that the application has written the connection is told of in one pass, where each segment is a packet.
const mostWrote = 2 * pieceSize

// do tells the connection what the application has done.
func (e *Endpoint) do(now wheel.Time, o *tcp.Output) {
	t := e.todo
	e.todo = todo{}
	if e.opening == openActive {
		e.opening = opened
		e.conn.Connect(now, o)
	}
	if t.config || t.control || t.options || t.resize {
		e.change(now, t, o)
	}
	if t.consumed > 0 {
		e.conn.Consumed(now, t.consumed, o)
		e.growRecv()
	}
	if rest := t.wrote - min(t.wrote, mostWrote); rest > 0 && e.gsoMax == 0 && !t.abort {
		// The rest is for another pass, and so is what was done after the writes.
		e.conn.Wrote(now, mostWrote, tcp.WriteMore, o)
		t.wrote, t.options, t.consumed = rest, false, 0
		e.todo = t
		e.work.Add(1)
		return
	}
	if t.wrote > 0 || t.flush {
		var flags tcp.WriteFlags
		if t.more {
			flags = tcp.WriteMore
		}
		e.conn.Wrote(now, t.wrote, flags, o)
	}
	switch {
	case (t.abort || t.close) && e.opening != opened:
		o.Events |= tcp.EventClosed // it had not begun
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

// take notes what has happened to a connection that was in the state before, and returns what the application is to be told. ended is true
// when the connection is no longer there.
func (e *Endpoint) take(events tcp.Events, before tcp.State, timedOut bool) (mask waiter.EventMask, ended bool) {
	if events.Has(tcp.EventConnected) {
		mask |= waiter.WritableEvents
	}
	if events.Has(tcp.EventReadable) {
		mask |= waiter.ReadableEvents
	}
	if events.Has(tcp.EventPeerClosed) {
		mask |= waiter.ReadableEvents | waiter.EventRdHUp
	}
	if e.sndFull && e.snd.size() < e.growSend()/2 {
		// Only when half of the buffer is free, so that writers do not wake up for each ACK.
		e.sndFull = false
		mask |= waiter.WritableEvents
	}
	if before != tcp.StateTimeWait && e.conn.State() == tcp.StateTimeWait {
		mask |= hungUp // nothing passes in either direction
	}
	if !events.Has(tcp.EventClosed) {
		return mask, false
	}
	e.end(before, timedOut)
	e.snd.drop()
	if e.closed {
		e.rcv.drop()
		e.rcvUsed = 0
		e.dropErrors()
	}
	return mask | hungUp, true
}

// end notes why the connection has ended, as gVisor's TCP tells it.
func (e *Endpoint) end(before tcp.State, timedOut bool) {
	e.phase = phaseClosed
	err, ok := e.conn.Err().(tcp.Error)
	switch {
	case !ok, before == tcp.StateTimeWait && e.hardErr == nil:
		return // well, or for its next incarnation
	case err == tcp.ErrReset && before == tcp.StateCloseWait:
		// Linux's EPIPE: the peer, which has closed, does not want to hear more.
		e.hardErr = &tcpip.ErrAborted{}
		return
	}
	e.phase = phaseError
	if e.hardErr == nil {
		e.hardErr = errorOf(err)
	}
	switch {
	case timedOut:
		// What ICMP has said, unless somebody knows of it already, comes first.
		if e.hardErr = e.lastErr; e.hardErr == nil {
			e.hardErr = &tcpip.ErrTimeout{}
		}
		e.lastErr = &tcpip.ErrTimeout{}
	case before < tcp.StateEstablished:
		e.lastErr = e.hardErr
	}
}

// errorOf returns gVisor's error for one of the engine's.
func errorOf(err tcp.Error) tcpip.Error {
	switch err {
	case tcp.ErrReset, tcp.ErrProtocol:
		return &tcpip.ErrConnectionReset{}
	case tcp.ErrRefused, tcp.ErrPortUnreachable:
		return &tcpip.ErrConnectionRefused{}
	case tcp.ErrTimeout:
		return &tcpip.ErrTimeout{}
	case tcp.ErrHostUnreachable:
		return &tcpip.ErrHostUnreachable{}
	case tcp.ErrNetUnreachable:
		return &tcpip.ErrNetworkUnreachable{}
	case tcp.ErrAborted:
		return &tcpip.ErrConnectionAborted{}
	case tcp.ErrMessageSize:
		return &tcpip.ErrMessageTooLong{}
	}
	return nil
}

// cleanUp gives back what the endpoint has of the stack's. It is called under the baton, when the connection is no longer there.
func (e *Endpoint) cleanUp() {
	e.shard.mu.Lock()
	e.shard.release(e)
	e.shard.mu.Unlock()
	e.mu.Lock()
	b, id, r := e.bound, e.info.ID, e.route
	e.bound.reserved, e.bound.registered, e.route = false, false, nil
	e.mu.Unlock()
	e.giveUp(b, id)
	if r != nil {
		r.Release()
	}
}

// giveUp unregisters the endpoint and gives its port back.
func (e *Endpoint) giveUp(b binding, id stack.TransportEndpointID) {
	if b.registered {
		e.p.stack.UnregisterTransportEndpoint(b.nets.list(), ProtocolNumber, id, e, b.flags, b.device)
	}
	if b.reserved {
		e.p.stack.ReleasePort(b.reservation(&id))
	}
}

// newIncarnation reports whether a SYN to a connection in TIME-WAIT can only be of a new incarnation, as Linux decides it.
//
// RFC 6191 §2: with timestamps on both, a SYN with a later timestamp than the last one that was received; with the same timestamp, or
// none on one of them, one with a sequence number beyond the last one that was received.
func (l *lastSent) newIncarnation(h *tcp.Header) bool {
	if l.stamped && h.Options.HasTimestamps && h.Options.TSVal != l.recent {
		return int32(h.Options.TSVal-l.recent) > 0
	}
	return h.Seq.After(l.ack)
}
