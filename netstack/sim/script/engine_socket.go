package script

import (
	"errors"
	"fmt"
	"net/netip"

	"tcpwheel/netstack/tcp"
)

// engineSocket is a socket of the simulator's host: new, listening, or one end of a connection. It
// mirrors the connection's streams, and the events that the engine reported.
type engineSocket struct {
	host  *engineHost
	cfg   SocketConfig
	local netip.AddrPort

	listener *tcp.Listener
	conn     *tcp.Socket // nil before Connect

	written uint64 // bytes that the program wrote
	read    uint64 // bytes that it read
	stream  stream // received data

	connected, peerClosed, sent, lingered, closed bool

	reported bool   // Connect has returned success, or the socket was accepted
	errno    string // not reported by a call yet
	noRead   bool   // shut down
	noWrite  bool
}

func (h *engineHost) Socket(cfg SocketConfig) (Socket, error) {
	return &engineSocket{host: h, cfg: cfg}, nil
}

// record records the engine's events.
func (s *engineSocket) record(e tcp.Events) {
	s.connected = s.connected || e.Has(tcp.EventConnected)
	s.peerClosed = s.peerClosed || e.Has(tcp.EventPeerClosed)
	s.sent = s.sent || e.Has(tcp.EventSent)
	s.lingered = s.lingered || e.Has(tcp.EventLingered)
	s.closed = s.closed || e.Has(tcp.EventClosed)
	if e.Has(tcp.EventFailed) {
		s.errno = errnoOf(s.conn.Conn().Err())
	}
}

// errnoOf returns Linux's name for a connection's error.
func errnoOf(err error) string {
	var e tcp.Error
	if !errors.As(err, &e) {
		return ""
	}
	switch e {
	case tcp.ErrReset:
		return "ECONNRESET"
	case tcp.ErrRefused, tcp.ErrPortUnreachable:
		return "ECONNREFUSED"
	case tcp.ErrTimeout:
		return "ETIMEDOUT"
	case tcp.ErrHostUnreachable:
		return "EHOSTUNREACH"
	case tcp.ErrNetUnreachable:
		return "ENETUNREACH"
	case tcp.ErrAborted:
		return "ECONNABORTED"
	case tcp.ErrMessageSize:
		return "EMSGSIZE"
	}
	return "EPROTO"
}

// Error returns and clears the unreported error.
func (s *engineSocket) Error() string {
	e := s.errno
	s.errno = ""
	return e
}

func (s *engineSocket) Bind(local netip.AddrPort) string {
	s.local = local
	return ""
}

func (s *engineSocket) Listen(backlog int) string {
	if s.conn != nil {
		return "EINVAL"
	}
	l, err := s.host.engine.Listen(s.local, tcp.ListenConfig{Backlog: backlog, Conn: &s.cfg.Conn, DeferAccept: s.cfg.DeferAccept})
	if err != nil {
		return "EADDRINUSE"
	}
	s.listener = l
	s.host.opened = append(s.host.opened, l)
	return ""
}

func (s *engineSocket) Accept() (Socket, netip.AddrPort, netip.AddrPort, string) {
	if s.listener == nil {
		return nil, netip.AddrPort{}, netip.AddrPort{}, "EINVAL"
	}
	c, ok := s.listener.Accept()
	if !ok {
		return nil, netip.AddrPort{}, netip.AddrPort{}, "EAGAIN"
	}
	n := s.host.socket(c)
	n.cfg, n.local, n.reported = s.cfg, c.Local(), true
	if now := n.cfg.Conn.Socket; now != c.Conn().Options() {
		s.host.engine.SetOptions(s.host.now, c, now) // options set after listen
		s.host.settle()
	}
	return n, c.Local(), c.Remote(), ""
}

func (s *engineSocket) Connect(remote netip.AddrPort) string {
	switch {
	case s.listener != nil:
		return "EISCONN"
	case s.conn == nil:
		cfg := s.cfg.Conn
		c, err := s.host.engine.Dial(s.host.now, s.local, remote, &cfg)
		if err != nil {
			return "EADDRNOTAVAIL"
		}
		s.conn = c
		s.host.sockets[c] = s
		s.host.settle()
		return "EINPROGRESS"
	case s.errno != "":
		return s.Error()
	case s.reported:
		return "EISCONN"
	case s.connected:
		s.reported = true
		return ""
	case s.closed:
		return "ECONNABORTED"
	}
	return "EALREADY"
}

func (s *engineSocket) Shutdown(read, write bool) string {
	if s.conn == nil || !s.connected {
		return "ENOTCONN"
	}
	s.noRead = s.noRead || read
	if write && !s.noWrite {
		s.noWrite = true
		s.host.engine.Shutdown(s.host.now, s.conn)
		s.host.settle()
	}
	return ""
}

func (s *engineSocket) Close() (done func() bool) {
	linger := tcp.NoLinger
	if s.cfg.Lingers {
		linger = s.cfg.Linger
	}
	switch {
	case s.listener != nil:
		s.listener.Close(s.host.now)
	case s.conn != nil:
		s.sent = false
		s.host.engine.Close(s.host.now, s.conn, linger)
	}
	s.host.settle()
	return func() bool { return s.conn == nil || linger <= 0 || s.sent || s.lingered || s.closed }
}

func (s *engineSocket) Configure(cfg SocketConfig) error {
	old := s.cfg
	s.cfg = cfg
	if s.conn != nil && old.Conn.Socket != cfg.Conn.Socket {
		s.host.engine.SetOptions(s.host.now, s.conn, cfg.Conn.Socket)
		s.host.settle()
	}
	return nil
}

func (s *engineSocket) Flush() {
	if s.conn != nil {
		s.host.engine.Flush(s.host.now, s.conn)
		s.host.settle()
	}
}

// readable returns the number of bytes that can be read.
func (s *engineSocket) readable() uint64 { return s.stream.next - s.read }

// unacked returns the number of bytes written and not acknowledged.
func (s *engineSocket) unacked() uint64 { return s.written - s.conn.Conn().Acked() }

func (s *engineSocket) Queued() (unread, unacked uint64) { return s.readable(), s.unacked() }

// arrived checks the engine's disposition of a payload of n bytes.
func (s *engineSocket) arrived(v tcp.Disposition, n uint32) error {
	if uint64(v.Offset)+uint64(v.Len) > uint64(n) {
		return fmt.Errorf("disposition keeps bytes %d to %d of a payload of %d", v.Offset, v.Offset+v.Len, n)
	}
	grown := s.stream.insert(v.Stream, uint64(v.Len))
	if grown != uint64(v.InOrder) {
		return fmt.Errorf("disposition makes %d bytes readable, want %d", v.InOrder, grown)
	}
	if received := s.conn.Conn().Received(); v.Len > 0 && received != s.stream.next {
		return fmt.Errorf("the connection has received %d bytes, and %d are readable", received, s.stream.next)
	}
	return nil
}

func (s *engineSocket) Read(n uint32) (uint32, string) {
	if s.conn == nil {
		return 0, "ENOTCONN"
	}
	k := uint32(min(s.readable(), uint64(n)))
	if s.noRead {
		k = 0
	}
	if k > 0 {
		s.read += uint64(k)
		s.host.engine.Consumed(s.host.now, s.conn, k)
		s.host.settle()
	}
	switch {
	case k > 0 || n == 0:
		return k, ""
	case s.errno != "":
		return 0, s.Error()
	case s.peerClosed, s.closed, s.noRead:
		return 0, ""
	case !s.connected && s.conn.Conn().State() == tcp.StateClosed:
		return 0, "ENOTCONN"
	}
	return 0, "EAGAIN"
}

func (s *engineSocket) Write(n uint32, flags tcp.WriteFlags) (uint32, string) {
	switch {
	case s.conn == nil:
		return 0, "EPIPE"
	case s.errno != "":
		return 0, s.Error()
	case !s.canWrite():
		return 0, "EPIPE"
	}
	lowat := s.cfg.Conn.Socket.NotSentLowat > 0
	s.host.engine.SetWriterWaits(s.conn, uint64(n) > s.room() && !lowat)
	k := uint32(0)
	wrote := func(part uint32, flags tcp.WriteFlags) {
		k, s.written = k+part, s.written+uint64(part)
		s.host.engine.Wrote(s.host.now, s.conn, part, flags)
		s.host.settle()
	}
	for k < n && s.room() > 0 {
		part, how := uint32(min(uint64(n-k), s.room())), flags
		switch {
		case k+part == n:
		case lowat:
			how = tcp.WriteMore | tcp.WritePart
		default:
			how &^= tcp.WriteUrgent | tcp.WriteEOR // they mark the last byte
		}
		wrote(part, how)
	}
	if k == 0 && n > 0 {
		return 0, "EAGAIN"
	}
	if k < n && lowat {
		wrote(0, flags&tcp.WriteMore) // no other part follows
	}
	return k, ""
}

func (s *engineSocket) canWrite() bool { return !s.noWrite && !s.closed && s.conn.Conn().CanWrite() }

// room returns how many bytes may be written.
func (s *engineSocket) room() uint64 {
	return min(uint64(max(0, SendBuffer-int64(s.unacked()))), uint64(s.conn.Conn().WriteRoom(0)))
}

func (s *engineSocket) Ready() (events int64) {
	set := func(on bool, names ...string) {
		for _, name := range names {
			if on {
				events |= constants[name]
			}
		}
	}
	switch {
	case s.listener != nil:
		set(s.listener.Len() > 0, "POLLIN", "POLLRDNORM")
		return events
	case s.conn == nil:
		set(true, "POLLOUT", "POLLHUP", "POLLWRNORM")
		return events
	}
	ended := s.peerClosed || s.closed || s.noRead
	set(s.readable() > 0 || ended, "POLLIN", "POLLRDNORM")
	set(ended, "POLLRDHUP")
	set(s.connected && s.canWrite() && s.room() > 0 && s.conn.Conn().LittleUnsent(0) || s.closed || s.noWrite, "POLLOUT", "POLLWRNORM")
	set(s.errno != "", "POLLERR")
	set(s.closed || ended && s.noWrite, "POLLHUP")
	return events
}

// stream records which bytes have arrived: all before next, and ranges after it in any order.
type stream struct {
	next uint64
	held [][2]uint64
}

// insert adds n bytes at a position. It returns how many became readable.
func (s *stream) insert(at, n uint64) (grown uint64) {
	if n == 0 {
		return 0
	}
	s.held = append(s.held, [2]uint64{at, at + n})
	before := s.next
	for moved := true; moved; {
		moved = false
		for i := len(s.held) - 1; i >= 0; i-- {
			if h := s.held[i]; h[0] <= s.next {
				moved = moved || h[1] > s.next
				s.next = max(s.next, h[1])
				s.held[i] = s.held[len(s.held)-1]
				s.held = s.held[:len(s.held)-1]
			}
		}
	}
	return s.next - before
}
