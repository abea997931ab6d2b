package netstack

import (
	"hash/maphash"
	"net/netip"
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
	ports   map[uint16]*timeWait // a list of the records of each local port
	now     wheel.Time           // the latest time that conn was given
	conn    tcp.Conn             // the connection of the record that is being processed
	out     tcp.Output           // its output
}

// minBuckets is the smallest table that has records.
const minBuckets = 64

// timeWait is a connection in TIME-WAIT: 144 bytes. All but the links, timer and conn is immutable.
type timeWait struct {
	next           *timeWait // in its bucket
	before, behind *timeWait // in the list of its port
	shard          *shard
	conn           tcp.TimeWait
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
func retires(e *Endpoint) bool {
	return e.closed && e.phase == phaseConn && e.conn.State() == tcp.StateTimeWait && e.wait == nil &&
		e.parent == nil && e.calls == pendingCalls{} && e.reg.device == 0 && e.opts.owner == nil &&
		e.ops.GetMark() == 0 && e.ops.GetExperimentOptionValue() == 0
}

// retire replaces the endpoint by a record, and unregisters it. The caller holds the baton and no
// lock.
func (st *step) retire() {
	st.e.mu.Lock()
	if !retires(st.e) || !st.e.p.timeWaits.add(st.e) {
		st.e.mu.Unlock()
		return
	}
	b, id, r := st.e.reg, st.e.info.ID, st.e.route
	st.e.reg.portReserved, st.e.reg.registered, st.e.route = false, false, nil
	st.e.mu.Unlock()
	b.end(st.e, id)
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
	t.link(w, hash)
	e.wait = w
	return true
}

// link puts a record at the beginning of its bucket and of the list of its port.
func (t *timeWaits) link(w *timeWait, hash uint64) {
	at := t.bucket(hash)
	w.next, *at = *at, w
	first := t.ports[w.ends.localPort]
	if w.before, w.behind = nil, first; first != nil {
		first.before = w
	}
	t.ports[w.ends.localPort] = w
}

// unlink takes a record out of both.
func (t *timeWaits) unlink(w *timeWait) {
	at := t.bucket(t.hash(&w.ends))
	for *at != w {
		at = &(*at).next
	}
	*at = w.next
	if w.behind != nil {
		w.behind.before = w.before
	}
	switch {
	case w.before != nil:
		w.before.behind = w.behind
	case w.behind != nil:
		t.ports[w.ends.localPort] = w.behind
	default:
		delete(t.ports, w.ends.localPort)
	}
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
	t.buckets, t.ports = make([]*timeWait, n), make(map[uint16]*timeWait)
	for _, w := range old {
		for w != nil {
			next := w.next
			t.link(w, t.hash(&w.ends))
			w = next
		}
	}
}

// remove removes a record and stops its timer. The caller holds the lock.
func (t *timeWaits) remove(w *timeWait) {
	t.unlink(w)
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
