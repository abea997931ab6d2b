package tcp

import (
	"encoding/binary"
	"math"
	"net/netip"
	"slices"

	"tcpwheel/wheel"
)

// Socket is a connection of an engine. The fields that each segment needs come first.
type Socket struct {
	ends      ends
	index     uint32 // in Engine.sockets; noSocket after the end
	keepalive timerRef
	delack    timerRef
	pending   *Listener     // of a passive connection until it is accepted
	timers    *socketTimers // nil if no such timer exists

	conn Conn

	// User is free for the owner's use.
	User any

	id uint64 // from 1 in the order of creation
}

// noSocket is the index of a socket that was removed from its engine.
const noSocket = math.MaxUint32

// Conn returns the connection. Read it only; changes go through the engine.
func (s *Socket) Conn() *Conn { return &s.conn }

// Local returns the local address and port, without a zone.
func (s *Socket) Local() netip.AddrPort { return s.ends.end(0, 32) }

// Remote returns the peer's address and port, without a zone.
func (s *Socket) Remote() netip.AddrPort { return s.ends.end(16, 34) }

// ID returns the connection's number in the engine, from 1. Traces use it.
func (s *Socket) ID() uint64 { return s.id }

// open reports whether the engine still has the connection.
func (s *Socket) open() bool { return s.index != noSocket }

// ends identify a connection: addresses and ports, local first. IPv4 and IPv4-mapped IPv6 addresses
// are equal, and zones are ignored.
type ends [36]byte

func (k *ends) set(local, remote netip.AddrPort) {
	putAddr(k[0:], local.Addr())
	putAddr(k[16:], remote.Addr())
	binary.BigEndian.PutUint32(k[32:], uint32(local.Port())<<16|uint32(remote.Port()))
}

// putAddr writes the 16 bytes of a to b.
func putAddr(b []byte, a netip.Addr) {
	if a.Is4() {
		v4 := a.As4()
		binary.BigEndian.PutUint64(b, 0)
		binary.BigEndian.PutUint64(b[8:], 0xffff<<32|uint64(binary.BigEndian.Uint32(v4[:])))
		return
	}
	v6 := a.As16()
	copy(b, v6[:])
}

// end returns the address and port stored at these offsets.
func (k *ends) end(addr, port int) netip.AddrPort {
	a := netip.AddrFrom16([16]byte(k[addr : addr+16])).Unmap()
	return netip.AddrPortFrom(a, binary.BigEndian.Uint16(k[port:]))
}

// unmapped returns a with an IPv4-mapped IPv6 address turned into IPv4.
func unmapped(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

// isPlain reports whether a is neither IPv4-mapped nor with a zone.
func isPlain(a netip.Addr) bool { return a.Is4() || !a.Is4In6() && a.Zone() == "" }

// find returns the connection with these ends, or nil.
func (e *Engine) find(local, remote netip.AddrPort) *Socket {
	var k ends
	k.set(local, remote)
	return e.byEnds[k]
}

// add makes a connection in CLOSED.
func (e *Engine) add(local, remote netip.AddrPort, cfg *Config, iss Seq) *Socket {
	e.lastID++
	s := &Socket{id: e.lastID}
	s.ends.set(local, remote)
	if n := len(e.free); n > 0 {
		s.index = e.free[n-1]
		e.free = e.free[:n-1]
		e.sockets[s.index] = s
	} else {
		s.index = uint32(len(e.sockets))
		e.sockets = append(e.sockets, s)
	}
	e.byEnds[s.ends] = s
	e.initConn(s, cfg, iss)
	if e.trace != nil {
		e.traceOpened(s)
	}
	return s
}

// initConn initialises the connection of a socket.
func (e *Engine) initConn(s *Socket, cfg *Config, iss Seq) {
	local, remote := s.Local(), s.Remote()
	s.conn.Init(cfg, e.path(remote), iss, e.secret.TimestampOffset(local, remote))
}

func (e *Engine) path(remote netip.AddrPort) Path {
	return Path{MTU: e.cfg.MTU, IPv6: remote.Addr().Is6()}
}

// remove removes a closed connection. The application may still read the socket.
func (e *Engine) remove(s *Socket) {
	e.freeAllTimers(s)
	if e.lastHit.socket == s {
		e.lastHit = lastFound{}
	}
	if s.conn.inTimeWait {
		s.conn.inTimeWait = false
		e.timeWait--
	}
	delete(e.byEnds, s.ends)
	if e.trace != nil {
		delete(e.trace.sockets, s.id)
	}
	e.sockets[s.index] = nil
	e.free = append(e.free, s.index)
	s.index = noSocket
}

// Sockets calls f with each connection in the order of creation. f may call the engine. It costs
// O(n log n).
func (e *Engine) Sockets(f func(*Socket)) {
	for _, s := range e.all() {
		f(s)
	}
}

// all returns the connections in the order of creation.
func (e *Engine) all() []*Socket {
	all := make([]*Socket, 0, e.socketCount())
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

// socketCount returns the number of connections, including those in TIME-WAIT.
func (e *Engine) socketCount() int { return len(e.sockets) - len(e.free) }

// NextTimeout returns the latest time for the next Advance, and whether any timer runs. It may be
// early.
func (e *Engine) NextTimeout() (at wheel.Time, ok bool) { return e.wheel.NextWakeup() }
