package host

import (
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// Session is a connection of a host as its application has it.
type Session struct {
	App App

	host   *Host
	socket *tcp.Socket
	peer   sim.NodeID
	routed bool // peer is known

	wrote   uint64
	arrived uint64 // octets that became readable
	read    uint64
	ended   bool // the peer's FIN was reached
	closed  bool
	err     error
	missed  tcp.Events // before there was an application
	held    spans      // what has arrived, if the world verifies
}

// session returns the session of a socket, a new one if it has none.
func (h *Host) session(socket *tcp.Socket) *Session {
	if s, ok := socket.User.(*Session); ok {
		return s
	}
	s := &Session{host: h, socket: socket}
	s.peer, s.routed = h.world.nodes[socket.Remote().Addr()]
	socket.User = s
	return s
}

// take takes in what the engine said about the payload of a segment.
func (s *Session) take(b *Body, v tcp.Disposition) {
	w := s.host.world
	if v.Len > 0 {
		if b.Offset+uint64(v.Offset) != v.Stream {
			w.fault(s.host, "octets from %d of the peer's stream were put at %d", b.Offset+uint64(v.Offset), v.Stream)
		}
		if v.Offset+v.Len > b.Len {
			w.fault(s.host, "octets %d to %d were kept of a payload of %d", v.Offset, v.Offset+v.Len, b.Len)
		}
	}
	s.arrived += uint64(v.InOrder)
	s.host.counts.Readable += uint64(v.InOrder)
	if w.Verify {
		s.held.add(v.Stream, v.Stream+uint64(v.Len))
		if got := s.held.prefix(); got != s.arrived {
			w.fault(s.host, "%d octets became readable where %d have arrived without a gap", s.arrived, got)
		}
	}
}

// tell tells the application.
func (s *Session) tell(ev tcp.Events) {
	if s.App == nil {
		s.missed |= ev
		if !ev.Has(tcp.EventClosed) {
			return
		}
	}
	ev |= s.missed
	s.missed = 0
	if ev.Has(tcp.EventPeerClosed) {
		s.ended = true
	}
	if ev.Has(tcp.EventFailed) {
		s.err = s.socket.Conn().Err()
	}
	if s.closed {
		if ev == 0 {
			return
		}
		s.host.world.fault(s.host, "events %#x after EventClosed", uint16(ev))
	}
	s.closed = ev.Has(tcp.EventClosed)
	if s.App != nil {
		s.App.OnEvents(s.Now(), s, ev)
	}
}

// nudge has the application told of no event in particular: one part of it has done something by a timer of its own that
// others may wait for.
func (s *Session) nudge() {
	s.host.notices = append(s.host.notices, tcp.Notice{Socket: s.socket})
	s.host.Flush()
}

// Now returns the virtual time.
func (s *Session) Now() wheel.Time { return s.host.world.Net.Now() }

// Host returns the host that the session is of.
func (s *Session) Host() *Host { return s.host }

// Conn returns the connection, to be asked and not to be changed.
func (s *Session) Conn() *tcp.Conn { return s.socket.Conn() }

// Socket returns the engine's socket.
func (s *Session) Socket() *tcp.Socket { return s.socket }

// Wrote returns how many octets the application has written.
func (s *Session) Wrote() uint64 { return s.wrote }

// Arrived returns how many octets have become readable.
func (s *Session) Arrived() uint64 { return s.arrived }

// Read returns how many octets the application has read.
func (s *Session) Read() uint64 { return s.read }

// Readable returns how many octets can be read.
func (s *Session) Readable() uint64 { return s.arrived - s.read }

// Unacked returns how many octets were written and are not acknowledged.
func (s *Session) Unacked() uint64 { return s.wrote - s.socket.Conn().Acked() }

// Ended reports whether the peer's FIN was reached.
func (s *Session) Ended() bool { return s.ended }

// Closed reports whether the connection is no longer there.
func (s *Session) Closed() bool { return s.closed }

// Err returns why the connection ended before its time, nil if it did not.
func (s *Session) Err() error { return s.err }

// Write writes n octets.
func (s *Session) Write(n uint32, flags tcp.WriteFlags) {
	s.wrote += uint64(n)
	s.host.engine.Wrote(s.Now(), s.socket, n, flags)
	s.host.Flush()
}

// Consume reads n octets, which are readable.
func (s *Session) Consume(n uint32) {
	s.read += uint64(n)
	s.host.engine.Consumed(s.Now(), s.socket, n)
	s.host.Flush()
}

// Shutdown ends writing.
func (s *Session) Shutdown() {
	s.host.engine.Shutdown(s.Now(), s.socket)
	s.host.Flush()
}

// Close ends writing and reading.
func (s *Session) Close(linger time.Duration) {
	s.host.engine.Close(s.Now(), s.socket, linger)
	s.host.Flush()
}

// Abort ends the connection at once.
func (s *Session) Abort() {
	s.host.engine.Abort(s.Now(), s.socket)
	s.host.Flush()
}

// SetOptions changes the socket options, which have been checked.
func (s *Session) SetOptions(o tcp.SocketOptions) {
	s.host.engine.SetOptions(s.Now(), s.socket, o)
	s.host.Flush()
}
