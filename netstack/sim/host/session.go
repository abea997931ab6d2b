package host

import (
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// Session is a connection as its application sees it.
type Session struct {
	App App

	host   *Host
	socket *tcp.Socket
	peer   sim.NodeID
	routed bool // peer is known

	wrote    uint64
	arrived  uint64 // bytes that became readable
	read     uint64
	ended    bool // the peer's FIN is reached
	closed   bool
	err      error
	pending  tcp.Events // events before App was set
	received rangeSet   // if the world verifies
}

// session returns the session of a socket, and makes it if needed.
func (h *Host) session(socket *tcp.Socket) *Session {
	if s, ok := socket.User.(*Session); ok {
		return s
	}
	s := &Session{host: h, socket: socket}
	s.peer, s.routed = h.world.nodes[socket.Remote().Addr()]
	socket.User = s
	return s
}

// receive counts and checks the payload that the engine kept of a segment.
func (s *Session) receive(b *Body, v tcp.Disposition) {
	w := s.host.world
	if v.Len > 0 {
		if b.Offset+uint64(v.Offset) != v.Stream {
			w.fault(s.host, "bytes from %d of the peer's stream are at %d", b.Offset+uint64(v.Offset), v.Stream)
		}
		if v.Offset+v.Len > b.Len {
			w.fault(s.host, "kept bytes %d to %d of a payload of %d", v.Offset, v.Offset+v.Len, b.Len)
		}
	}
	s.arrived += uint64(v.InOrder)
	s.host.counts.Readable += uint64(v.InOrder)
	if w.Verify {
		s.received.add(v.Stream, v.Stream+uint64(v.Len))
		if got := s.received.prefix(); got != s.arrived {
			w.fault(s.host, "%d bytes are readable, and %d have arrived without a gap", s.arrived, got)
		}
	}
}

// deliver reports events to the application.
func (s *Session) deliver(ev tcp.Events) {
	if s.App == nil {
		s.pending |= ev
		if !ev.Has(tcp.EventClosed) {
			return
		}
	}
	ev |= s.pending
	s.pending = 0
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

// notify calls the application without an event: one part of it has acted by a timer, and others
// may wait for that.
func (s *Session) notify() {
	s.host.notices = append(s.host.notices, tcp.Notice{Socket: s.socket})
	s.host.Flush()
}

// Now returns the virtual time.
func (s *Session) Now() wheel.Time { return s.host.world.Net.Now() }

// Conn returns the connection. Do not change it.
func (s *Session) Conn() *tcp.Conn { return s.socket.Conn() }

// Socket returns the engine's socket.
func (s *Session) Socket() *tcp.Socket { return s.socket }

// Wrote returns the number of bytes written.
func (s *Session) Wrote() uint64 { return s.wrote }

// Arrived returns the number of bytes that became readable, read ones included.
func (s *Session) Arrived() uint64 { return s.arrived }

// Read returns the number of bytes read.
func (s *Session) Read() uint64 { return s.read }

// Readable returns the number of bytes that can be read.
func (s *Session) Readable() uint64 { return s.arrived - s.read }

// Unacked returns the number of bytes written and not acknowledged.
func (s *Session) Unacked() uint64 { return s.wrote - s.socket.Conn().Acked() }

// Ended reports whether the peer's FIN is reached.
func (s *Session) Ended() bool { return s.ended }

// Closed reports whether the connection is gone.
func (s *Session) Closed() bool { return s.closed }

// Err returns why the connection failed, or nil.
func (s *Session) Err() error { return s.err }

// Write writes n bytes.
func (s *Session) Write(n uint32, flags tcp.WriteFlags) {
	s.wrote += uint64(n)
	s.host.engine.Wrote(s.Now(), s.socket, n, flags)
	s.host.Flush()
}

// WaitForRoom says whether the application waits for room in its send buffer: see
// tcp.Conn.SetWriterWaits.
func (s *Session) WaitForRoom(waits bool) { s.host.engine.SetWriterWaits(s.socket, waits) }

// Consume reads n bytes, which must be readable.
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

// Close ends writing and reading. linger is that of tcp.Engine.Close.
func (s *Session) Close(linger time.Duration) {
	s.host.engine.Close(s.Now(), s.socket, linger)
	s.host.Flush()
}

// Abort ends the connection at once.
func (s *Session) Abort() {
	s.host.engine.Abort(s.Now(), s.socket)
	s.host.Flush()
}
