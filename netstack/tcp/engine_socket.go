package tcp

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"slices"

	"tcpwheel/wheel"
)

// Socket is a connection of an engine. What each segment needs comes first, in the order in which it is needed.
type Socket struct {
	ends      ends
	index     uint32 // in Engine.sockets, noSocket after the end
	keepalive timerRef
	delack    timerRef
	pending   *pending      // of a passive connection, until it is accepted
	timers    *socketTimers // nil is none

	conn Conn

	// User is the owner's business.
	User any

	id uint64 // counts the sockets of the engine, from 1
}

// noSocket is the index of a socket that the engine has let go.
const noSocket = math.MaxUint32

// Conn returns the connection, to be asked and not to be changed.
func (s *Socket) Conn() *Conn { return &s.conn }

// Local returns our end, without a zone.
func (s *Socket) Local() netip.AddrPort { return s.ends.end(0, 32) }

// Remote returns the peer's end, without a zone.
func (s *Socket) Remote() netip.AddrPort { return s.ends.end(16, 34) }

// ID returns the number of the connection among all that the engine has made, from 1 on. Traces name it by that.
func (s *Socket) ID() uint64 { return s.id }

// open reports whether the engine still has the connection.
func (s *Socket) open() bool { return s.index != noSocket }

// ends name a connection: its addresses and ports, ours first. IPv4 and IPv4 mapped into IPv6 are one, and zones count
// for nothing.
type ends [36]byte

func endsOf(local, remote netip.AddrPort) (k ends) {
	l, r := local.Addr().As16(), remote.Addr().As16()
	copy(k[0:], l[:])
	copy(k[16:], r[:])
	binary.BigEndian.PutUint16(k[32:], local.Port())
	binary.BigEndian.PutUint16(k[34:], remote.Port())
	return k
}

// end returns the end with the address and the port at these places.
func (k *ends) end(addr, port int) netip.AddrPort {
	a := netip.AddrFrom16([16]byte(k[addr : addr+16])).Unmap()
	return netip.AddrPortFrom(a, binary.BigEndian.Uint16(k[port:]))
}

// unmapped returns a with an IPv4 address instead of one that is mapped into IPv6.
func unmapped(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

// find returns the connection between these ends, nil if there is none.
func (e *Engine) find(k ends) *Socket {
	if at, ok := e.byEnds.find(&k, e.sockets); ok {
		return e.sockets[e.byEnds.entries[at].index()]
	}
	return nil
}

// add makes a connection in CLOSED between ends that have none.
func (e *Engine) add(local, remote netip.AddrPort, cfg *Config, iss Seq) *Socket {
	e.made++
	s := &Socket{ends: endsOf(local, remote), id: e.made}
	if n := len(e.free); n > 0 {
		s.index = e.free[n-1]
		e.free = e.free[:n-1]
		e.sockets[s.index] = s
	} else {
		s.index = uint32(len(e.sockets))
		e.sockets = append(e.sockets, s)
	}
	e.byEnds.add(&s.ends, s.index)
	s.conn.Init(cfg, e.path(remote), iss, e.secret.TimestampOffset(local, remote))
	if e.trace != nil {
		e.traceOpened(s)
	}
	return s
}

func (e *Engine) path(remote netip.AddrPort) Path {
	return Path{MTU: e.cfg.MTU, IPv6: remote.Addr().Is6()}
}

// remove lets go of a connection that has come to its end. The socket remains the application's, to be asked.
func (e *Engine) remove(s *Socket) {
	e.freeAllTimers(s)
	if e.last.socket == s {
		e.last = lastFound{}
	}
	if s.conn.counted {
		s.conn.counted = false
		e.timeWait--
	}
	if at, ok := e.byEnds.find(&s.ends, e.sockets); ok {
		e.byEnds.remove(at)
	}
	if e.trace != nil {
		delete(e.trace.sockets, s.id)
	}
	e.sockets[s.index] = nil
	e.free = append(e.free, s.index)
	s.index = noSocket
}

// Sockets calls f with each connection, in the order in which they were made. f may call the engine. It costs O(n log n).
func (e *Engine) Sockets(f func(*Socket)) {
	for _, s := range e.all() {
		f(s)
	}
}

// all returns the connections in the order in which they were made.
func (e *Engine) all() []*Socket {
	all := make([]*Socket, 0, e.Len())
	for _, s := range e.sockets {
		if s != nil {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(s, t *Socket) int {
		if s.id < t.id {
			return -1
		}
		return 1
	})
	return all
}

// Len returns how many connections there are, those in TIME-WAIT included.
func (e *Engine) Len() int { return len(e.sockets) - len(e.free) }

// Check returns an error if an invariant does not hold: those of each connection, that exactly those timers run that the
// connections have started, and that no timer is left of one that is closed. It is for tests.
func (e *Engine) Check() error {
	running, timeWait := 0, 0
	for i, s := range e.sockets {
		if s == nil {
			continue
		}
		if s.index != uint32(i) || e.find(s.ends) != s {
			return fmt.Errorf("tcp: connection %d, %v to %v, is not where it can be found", s.id, s.Local(), s.Remote())
		}
		if err := s.conn.Check(); err != nil {
			return fmt.Errorf("tcp: connection %d, %v to %v: %w", s.id, s.Local(), s.Remote(), err)
		}
		n, err := e.checkTimers(s)
		if err != nil {
			return fmt.Errorf("tcp: connection %d, %v to %v: %w", s.id, s.Local(), s.Remote(), err)
		}
		running += n
		if s.conn.State() == StateClosed {
			return fmt.Errorf("tcp: connection %d, %v to %v, is closed and was not let go", s.id, s.Local(), s.Remote())
		}
		if is := s.conn.State() == StateTimeWait; is != s.conn.counted {
			return fmt.Errorf("tcp: connection %d in %v, counted in TIME-WAIT: %v", s.id, s.conn.State(), s.conn.counted)
		} else if is {
			timeWait++
		}
	}
	if n := e.wheel.Len(); n != running {
		return fmt.Errorf("tcp: %d timers run, the connections have %d", n, running)
	}
	if timeWait != e.timeWait {
		return fmt.Errorf("tcp: %d connections counted in TIME-WAIT, want %d", e.timeWait, timeWait)
	}
	if e.byEnds.n != e.Len() {
		return fmt.Errorf("tcp: %d pairs of ends, want %d", e.byEnds.n, e.Len())
	}
	return e.checkListeners()
}

// checkListeners compares the listeners' counts with the sockets.
func (e *Engine) checkListeners() error {
	halfOpen := map[*Listener]int{}
	for _, s := range e.sockets {
		if s != nil && s.pending != nil && !s.pending.queued {
			halfOpen[s.pending.listener]++
		}
	}
	for local, l := range e.listeners {
		if l.halfOpen != halfOpen[l] {
			return fmt.Errorf("tcp: listener %v counts %d half-open connections, want %d", local, l.halfOpen, halfOpen[l])
		}
		if len(l.queue) > l.backlog {
			return fmt.Errorf("tcp: listener %v has %d connections in its queue, want at most %d", local, len(l.queue), l.backlog)
		}
		delete(halfOpen, l)
	}
	if len(halfOpen) > 0 {
		return fmt.Errorf("tcp: %d listeners that are closed have half-open connections", len(halfOpen))
	}
	return nil
}

// checkTimers compares the timers of s that run with those that its connection has started, and returns their number.
func (e *Engine) checkTimers(s *Socket) (n int, err error) {
	want := map[Slot]bool{}
	s.conn.Armed(func(slot Slot) { want[slot] = true })
	records, runs := 0, 0 // in socketTimers
	s.eachTimer(func(slot Slot, ref timerRef) {
		_, running := e.wheel.Deadline(ref.timer())
		if counted(slot) {
			records++
			if running {
				runs++
			}
		}
		switch {
		case err != nil:
		case e.wheel.Owner(ref.timer()) != timerOwner(s.index, slot):
			err = fmt.Errorf("timer %v of slot %d has the owner %#x", slot.Kind(), slot, e.wheel.Owner(ref.timer()))
		case running != ref.running():
			err = fmt.Errorf("timer %v of slot %d runs: %v, taken to: %v", slot.Kind(), slot, running, ref.running())
		case running && !want[slot]:
			err = fmt.Errorf("timer %v of slot %d runs and was not started", slot.Kind(), slot)
		}
		if running {
			n++
			delete(want, slot)
		}
	})
	switch {
	case err != nil:
	case len(want) > 0:
		for slot := range Slot(math.MaxUint32) { // the first one, so that the text is always the same
			if want[slot] {
				return n, fmt.Errorf("timer %v of slot %d was started and does not run", slot.Kind(), slot)
			}
		}
	case s.timers != nil && (uint32(records) != s.timers.records || uint32(runs) != s.timers.runs):
		err = fmt.Errorf("%d timer records of which %d run, counted %d and %d", records, runs, s.timers.records, s.timers.runs)
	}
	return n, err
}

// NextTimeout returns when Advance is to be called next at the latest, and whether any timer runs. It may be early.
func (e *Engine) NextTimeout() (at wheel.Time, ok bool) { return e.wheel.NextWakeup() }
