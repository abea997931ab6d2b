package sockets_test

import (
	"net"
	"testing"

	"golang.org/x/net/nettest"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/sockets"
)

// pipe returns both ends of a connection of a stack with itself.
func pipe(s *stack.Stack) (a, b *sockets.Conn, err error) {
	l, err := sockets.Listen(s, port("127.0.0.1:0"))
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	c, err := (&sockets.Dialer{Stack: s}).Dial("tcp", l.Addr().String())
	if err != nil {
		return nil, nil, err
	}
	if b, err = l.AcceptTCP(); err != nil {
		c.Close()
		return nil, nil, err
	}
	return c.(*sockets.Conn), b, nil
}

func mustPipe(t testing.TB, s *stack.Stack) (a, b *sockets.Conn) {
	t.Helper()
	a, b, err := pipe(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		a.Close()
		b.Close()
	})
	return a, b
}

// TestConn runs golang.org/x/net's tests of a net.Conn.
func TestConn(t *testing.T) {
	forProtocols(t, func(t *testing.T, p stack.TransportProtocolFactory) {
		s := newLoop(t, p)
		nettest.TestConn(t, func() (a, b net.Conn, stop func(), err error) {
			x, y, err := pipe(s)
			if err != nil {
				return nil, nil, nil, err
			}
			return x, y, func() {
				x.Close()
				y.Close()
			}, nil
		})
	})
}
