package netstack

import (
	"hash/maphash"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/ports"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// timeWaits has the connections in TIME-WAIT that their applications have closed, as records: the
// endpoint, its registration and its port in the stack's tables would take 20 times the memory.
// Segments of such a connection have no endpoint, so the listener, and the protocol as the last
// resort, look here.
//
// It is a hash table with chains, which shrinks. The hash is keyed, so attackers cannot choose
// colliding ends.
type timeWaits struct {
	p    *protocol
	seed maphash.Seed
	n    atomic.Int64 // records; without any, a segment pays one load

	mu      sync.Mutex // taken after an endpoint's lock and before a shard's
	buckets []*timeWait
	ports   map[uint16]int // records by local port
	now     wheel.Time     // the latest time that conn was given
	conn    tcp.Conn       // the connection of the record that is being processed
	out     tcp.Output     // its output
}

// minBuckets is the smallest table that has records.
const minBuckets = 64

// timeWait is a connection in TIME-WAIT: 128 bytes. All but next, timer and conn is immutable.
type timeWait struct {
	next  *timeWait
	shard *shard
	conn  tcp.TimeWait
	// endpoint is nil once no application refers to it.
	endpoint weak.Pointer[Endpoint]
	timer    wheel.Timer
	nic      tcpip.NICID
	ends     ends
	flags    timeWaitFlags
	tos, ttl uint8
}

// timeWaitFlags are the ports.BitFlags of the port's reservation, and these.
type timeWaitFlags uint8

const (
	timeWaitAnyAddr  timeWaitFlags = (timeWaitFlags(ports.FlagMask) + 1) << iota // as in registration
	timeWaitPeerOnly                                                             // as in registration
	timeWaitDF                                                                   // packets have DF set
)

// with returns the flags with more if on.
func (f timeWaitFlags) with(on bool, more timeWaitFlags) timeWaitFlags {
	if on {
		f |= more
	}
	return f
}

// ends are the addresses and ports of a connection; IPv4 addresses are mapped.
type ends struct {
	local, remote         [16]byte
	localPort, remotePort uint16
}

func endsOf(id *stack.TransportEndpointID) ends {
	l, r := addrPort(id.LocalAddress, id.LocalPort), addrPort(id.RemoteAddress, id.RemotePort)
	return ends{l.Addr().As16(), r.Addr().As16(), l.Port(), r.Port()}
}

// addrs returns the local and the remote address and port.
func (k *ends) addrs() (local, remote netip.AddrPort) {
	return netip.AddrPortFrom(netip.AddrFrom16(k.local).Unmap(), k.localPort),
		netip.AddrPortFrom(netip.AddrFrom16(k.remote).Unmap(), k.remotePort)
}

// id returns the ends in the stack's type, and their network protocol.
func (k *ends) id() (id stack.TransportEndpointID, net tcpip.NetworkProtocolNumber) {
	l, r := k.addrs()
	net = header.IPv6ProtocolNumber
	if l.Addr().Is4() {
		net = header.IPv4ProtocolNumber
	}
	return stack.TransportEndpointID{
		LocalAddress: tcpip.AddrFromSlice(l.Addr().AsSlice()), LocalPort: l.Port(),
		RemoteAddress: tcpip.AddrFromSlice(r.Addr().AsSlice()), RemotePort: r.Port(),
	}, net
}

// timeWaitOwner marks the wheel's timers of records. The other bits of such an owner are those of
// the hash of the ends.
const timeWaitOwner = 1 << 63

// dueTimeWait is an expired timer of a record.
type dueTimeWait struct {
	hash  uint64
	timer wheel.Timer
}

func (t *timeWaits) init(p *protocol) {
	t.p, t.seed, t.out.Challenge = p, maphash.MakeSeed(), p.challengeLimit
}

func (t *timeWaits) hash(k *ends) uint64 { return maphash.Comparable(t.seed, *k) | timeWaitOwner }

func (t *timeWaits) bucket(hash uint64) **timeWait { return &t.buckets[hash&uint64(len(t.buckets)-1)] }

// find returns the record with ends k, or nil. The caller holds the lock.
func (t *timeWaits) find(k *ends) *timeWait {
	if len(t.buckets) == 0 {
		return nil
	}
	w := *t.bucket(t.hash(k))
	for w != nil && w.ends != *k {
		w = w.next
	}
	return w
}

// has reports whether a connection has a record.
func (t *timeWaits) has(id *stack.TransportEndpointID) bool {
	if t.n.Load() == 0 {
		return false
	}
	k := endsOf(id)
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.find(&k) != nil
}

// each calls f with each record until f returns false. The caller holds the lock.
func (t *timeWaits) each(f func(*timeWait) bool) {
	for _, w := range t.buckets {
		for ; w != nil; w = w.next {
			if !f(w) {
				return
			}
		}
	}
}

// retires reports whether a record can replace the endpoint: the connection is in TIME-WAIT, the
// application has closed it, and its packets need nothing that a record lacks. The caller holds the
// lock.
func (e *Endpoint) retires() bool {
	return e.closed && e.phase == phaseConn && e.conn.State() == tcp.StateTimeWait && e.wait == nil &&
		e.parent == nil && e.calls == pendingCalls{} && e.reg.device == 0 && e.opts.owner == nil &&
		e.ops.GetMark() == 0 && e.ops.GetExperimentOptionValue() == 0
}

// retire replaces the endpoint by a record, and unregisters it. The caller holds the baton and no
// lock.
func (e *Endpoint) retire() {
	e.mu.Lock()
	if !e.retires() || !e.p.timeWaits.add(e) {
		e.mu.Unlock()
		return
	}
	b, id, r := e.reg, e.info.ID, e.route
	e.reg.portReserved, e.reg.registered, e.route = false, false, nil
	e.mu.Unlock()
	e.unregister(b, id)
	r.Release()
}

// add makes a record of an endpoint, whose lock the caller holds. It fails if the timer has just
// expired.
func (t *timeWaits) add(e *Endpoint) bool {
	s, params := e.shard, e.packetParams()
	w := &timeWait{
		shard: s, endpoint: weak.Make(e), conn: e.conn.TimeWait(), nic: e.reg.nic, ends: endsOf(&e.info.ID),
		tos: params.tos, ttl: params.ttl,
	}
	w.flags = timeWaitFlags(e.reg.flags.Bits()).with(e.reg.anyAddr, timeWaitAnyAddr).with(e.reg.peerOnly, timeWaitPeerOnly).
		with(params.df, timeWaitDF)
	hash := t.hash(&w.ends)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !s.moveTimeWait(e, w, hash) {
		return false
	}
	if int(t.n.Add(1)) > len(t.buckets) {
		t.resize(max(minBuckets, 2*len(t.buckets)))
	}
	at := t.bucket(hash)
	w.next, *at = *at, w
	t.ports[w.ends.localPort]++
	e.wait = w
	return true
}

// moveTimeWait gives the TIME-WAIT timer of an endpoint to a record, and takes the endpoint's other
// timer records. It reports false if the timer does not run.
func (s *shard) moveTimeWait(e *Endpoint, w *timeWait, hash uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.timers == nil {
		return false
	}
	ref := &e.timers.kinds[tcptimers.TimeWait]
	at, runs := s.deadline(*ref)
	if !runs {
		return false
	}
	s.wheel.Stop(ref.timer)
	ref.state = timerIdle
	e.timers.busy--
	s.detachTimers(e)
	w.timer = s.wheel.New(hash)
	s.wheel.Schedule(w.timer, at)
	s.timeWaits++
	s.mostTimeWaits = max(s.mostTimeWaits, s.timeWaits)
	return true
}

// resize changes the number of buckets to n, a power of two. The caller holds the lock.
func (t *timeWaits) resize(n int) {
	old := t.buckets
	t.buckets, t.ports = make([]*timeWait, n), make(map[uint16]int)
	for _, w := range old {
		for w != nil {
			next, at := w.next, t.bucket(t.hash(&w.ends))
			w.next, *at = *at, w
			t.ports[w.ends.localPort]++
			w = next
		}
	}
}

// remove removes a record and stops its timer. The caller holds the lock.
func (t *timeWaits) remove(w *timeWait) {
	at := t.bucket(t.hash(&w.ends))
	for *at != w {
		at = &(*at).next
	}
	*at = w.next
	if t.ports[w.ends.localPort]--; t.ports[w.ends.localPort] == 0 {
		delete(t.ports, w.ends.localPort)
	}
	s := w.shard
	s.mu.Lock()
	if _, runs := s.wheel.Deadline(w.timer); runs {
		s.observeWait(TimerStopped, w, 0)
	}
	s.wheel.Free(w.timer)
	if s.timeWaits--; s.timeWaits == 0 && s.mostTimeWaits >= manyTimeWaits {
		s.shrink()
	}
	s.mu.Unlock()
	switch n := int(t.n.Add(-1)); {
	case n == 0:
		t.buckets, t.ports = nil, nil
	case n < len(t.buckets)/8 && len(t.buckets) > minBuckets:
		t.resize(len(t.buckets) / 4)
	}
}

// take removes the record of an endpoint, which then ends like other endpoints. It reports false if
// the record is no longer in the table. The caller holds the endpoint's lock.
func (t *timeWaits) take(e *Endpoint) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.find(&e.wait.ends) != e.wait {
		return false
	}
	t.remove(e.wait)
	e.wait = nil
	return true
}

// resume makes t.conn the connection of w. The caller holds the lock, and then calls settle.
func (t *timeWaits) resume(w *timeWait) *tcp.Conn {
	local, remote := w.ends.addrs()
	t.conn.Resume(&w.conn, t.p.secret.TimestampOffset(local, remote), t.p.timeWaitOption())
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
	if reopen {
		if least, ok := c.Reopens(&seg.header); ok {
			seg.leastISS = least
			t.recycle(w, now)
			return false
		}
	}
	t.out.Counters.InSegs++
	in := seg.inbound()
	c.Input(now, &in, &t.out)
	t.settle(w)
	return true
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
	if least, free = t.resume(w).MayDialAgain(now); !free || !reuse {
		t.mu.Unlock()
		return 0, false
	}
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

// blocks reports whether a connection in TIME-WAIT forbids a reservation. The rules are those of
// gVisor's ports.PortManager, as if it still had the connection's reservation. named says that the
// program has named the port.
func (t *timeWaits) blocks(r ports.Reservation, named bool) (blocked bool) {
	if t.n.Load() == 0 {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ports[r.Port] == 0 {
		return false
	}
	t.each(func(w *timeWait) bool {
		blocked = w.ends.localPort == r.Port && w.conflicts(&r, named)
		return !blocked
	})
	return blocked
}

func (w *timeWait) conflicts(r *ports.Reservation, named bool) bool {
	id, net := w.ends.id()
	if !slices.Contains(r.Networks, net) || r.Addr.Len() != 0 && w.flags&timeWaitAnyAddr == 0 && r.Addr != id.LocalAddress {
		return false
	}
	shared := ports.BitFlags(w.flags) & ports.FlagMask
	dest := tcpip.FullAddress{}
	if w.flags&timeWaitPeerOnly != 0 {
		dest = tcpip.FullAddress{Addr: id.RemoteAddress, Port: id.RemotePort}
	}
	switch {
	case r.Dest.Addr == dest.Addr && r.Dest.Port == dest.Port:
	case r.Dest.Addr.Len() == 0 || dest.Addr.Len() == 0:
		shared |= ^ports.TupleOnlyFlag
	default:
		return false
	}
	return !named || shared&r.Flags.Bits() == 0
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
