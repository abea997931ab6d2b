package script

import (
	"errors"
	"fmt"

	"tcpwheel/netstack/tcp"
)

// conn is what the run knows of a connection of the engine, beside the engine: a twin of its streams, and what notices told.
type conn struct {
	socket *tcp.Socket

	written uint64 // octets that the program wrote
	read    uint64 // octets that it read
	stream  stream // that has arrived

	connected, peerClosed, sent, lingered, closed bool

	errno string // that no call has reported yet
	asked bool   // an assert has looked at the state since
}

func (r *runner) conn(s *tcp.Socket) *conn {
	c := r.conns[s]
	if c == nil {
		c = &conn{socket: s}
		r.conns[s] = c
	}
	return c
}

// noticed takes what the engine tells.
func (c *conn) noticed(e tcp.Events) {
	c.connected = c.connected || e.Has(tcp.EventConnected)
	c.peerClosed = c.peerClosed || e.Has(tcp.EventPeerClosed)
	c.sent = c.sent || e.Has(tcp.EventSent)
	c.lingered = c.lingered || e.Has(tcp.EventLingered)
	c.closed = c.closed || e.Has(tcp.EventClosed)
	if e.Has(tcp.EventFailed) {
		c.errno, c.asked = errnoOf(c.socket.Conn().Err()), false
	}
}

// errnoOf returns Linux's name for the end of a connection.
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

// takeError returns the error that no call has reported yet, once.
func (c *conn) takeError() string {
	e := c.errno
	c.errno = ""
	return e
}

// readable returns how many octets can be read.
func (c *conn) readable() uint64 { return c.stream.next - c.read }

// unacked returns how many octets were written and are not acknowledged.
func (c *conn) unacked() uint64 { return c.written - c.socket.Conn().Acked() }

// arrived takes the verdict on a payload of n octets, and checks it.
func (c *conn) arrived(v tcp.Disposition, n uint32) error {
	if uint64(v.Offset)+uint64(v.Len) > uint64(n) {
		return fmt.Errorf("verdict keeps octets %d to %d of a payload of %d", v.Offset, v.Offset+v.Len, n)
	}
	grown := c.stream.insert(v.Stream, uint64(v.Len))
	if grown != uint64(v.InOrder) {
		return fmt.Errorf("verdict says that %d octets have become readable, and %d have", v.InOrder, grown)
	}
	if received := c.socket.Conn().Received(); v.Len > 0 && received != c.stream.next {
		return fmt.Errorf("the connection has received %d octets, and %d have become readable", received, c.stream.next)
	}
	return nil
}

// stream is which octets have arrived: those before next, and ranges after it in no order.
type stream struct {
	next uint64
	held [][2]uint64
}

// insert adds n octets from at on, and returns how many have become readable.
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
