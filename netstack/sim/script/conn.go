package script

import (
	"errors"
	"fmt"

	"tcpwheel/netstack/tcp"
)

// conn mirrors a connection of the engine: its streams, and the events it reported.
type conn struct {
	socket *tcp.Socket

	written uint64 // bytes that the program wrote
	read    uint64 // bytes that it read
	stream  stream // received data

	connected, peerClosed, sent, lingered, closed bool

	errno string // not reported by a call yet
	asked bool   // an assert has read the state since
}

func (r *runner) conn(s *tcp.Socket) *conn {
	c := r.conns[s]
	if c == nil {
		c = &conn{socket: s}
		r.conns[s] = c
	}
	return c
}

// record records the engine's events.
func (c *conn) record(e tcp.Events) {
	c.connected = c.connected || e.Has(tcp.EventConnected)
	c.peerClosed = c.peerClosed || e.Has(tcp.EventPeerClosed)
	c.sent = c.sent || e.Has(tcp.EventSent)
	c.lingered = c.lingered || e.Has(tcp.EventLingered)
	c.closed = c.closed || e.Has(tcp.EventClosed)
	if e.Has(tcp.EventFailed) {
		c.errno, c.asked = errnoOf(c.socket.Conn().Err()), false
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

// takeError returns and clears the unreported error.
func (c *conn) takeError() string {
	e := c.errno
	c.errno = ""
	return e
}

// readable returns the number of bytes that can be read.
func (c *conn) readable() uint64 { return c.stream.next - c.read }

// unacked returns the number of bytes written and not acknowledged.
func (c *conn) unacked() uint64 { return c.written - c.socket.Conn().Acked() }

// arrived checks the engine's disposition of a payload of n bytes.
func (c *conn) arrived(v tcp.Disposition, n uint32) error {
	if uint64(v.Offset)+uint64(v.Len) > uint64(n) {
		return fmt.Errorf("disposition keeps bytes %d to %d of a payload of %d", v.Offset, v.Offset+v.Len, n)
	}
	grown := c.stream.insert(v.Stream, uint64(v.Len))
	if grown != uint64(v.InOrder) {
		return fmt.Errorf("disposition makes %d bytes readable, want %d", v.InOrder, grown)
	}
	if received := c.socket.Conn().Received(); v.Len > 0 && received != c.stream.next {
		return fmt.Errorf("the connection has received %d bytes, and %d are readable", received, c.stream.next)
	}
	return nil
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
