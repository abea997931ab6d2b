package up

import (
	"net"
	"sync"
)

// bounded is a listener that admits so many connections at a time as it has slots. Listeners may
// share slots. Its connections are duplex.
type bounded struct {
	net.Listener
	slots chan struct{}
	done  chan struct{}
	close func()
}

// boundedConn is a connection of it. Close frees its slot.
type boundedConn struct {
	duplex
	leave func()
}

func newBounded(l net.Listener, slots chan struct{}) *bounded {
	done := make(chan struct{})
	return &bounded{l, slots, done, sync.OnceFunc(func() { close(done) })}
}

// Accept implements net.Listener.
func (l *bounded) Accept() (net.Conn, error) { return l.AcceptTCP() }

// AcceptTCP accepts a connection once a slot is free.
func (l *bounded) AcceptTCP() (*boundedConn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &boundedConn{c.(duplex), sync.OnceFunc(func() { <-l.slots })}, nil
}

// Close ends Accept.
func (l *bounded) Close() error {
	l.close()
	return l.Listener.Close()
}

// Close closes the connection and admits another one.
func (c *boundedConn) Close() error {
	defer c.leave()
	return c.duplex.Close()
}

// openConns are the connections of a server, for its end. Multiple goroutines may invoke its
// methods.
type openConns struct {
	reset bool // close resets them

	mu     sync.Mutex
	closed bool
	all    map[net.Conn]struct{}
}

// hold registers a connection, so that close ends it. After close it ends it at once and returns
// false.
func (v *openConns) hold(c net.Conn) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		v.abort(c)
		return false
	}
	if v.all == nil {
		v.all = make(map[net.Conn]struct{})
	}
	v.all[c] = struct{}{}
	return true
}

// end closes a connection that hold registered.
func (v *openConns) end(c net.Conn) {
	v.mu.Lock()
	delete(v.all, c)
	v.mu.Unlock()
	c.Close()
}

func (v *openConns) abort(c net.Conn) {
	if d, ok := c.(duplex); ok && v.reset {
		_ = d.SetLinger(0)
	}
	c.Close()
}

// close ends all connections, and those to come.
func (v *openConns) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
	for c := range v.all {
		v.abort(c)
	}
	v.all = nil
}
