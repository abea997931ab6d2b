package up

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// The ports of the services.
const (
	EchoPort    = 7
	DiscardPort = 9
	ChargenPort = 19
	HTTPPort    = 80
)

// backlog is how many connections may wait to be accepted.
const backlog = 1024

// services listen on a stack.
type services struct {
	stack *stack.Stack
	web   http.Server
	wait  sync.WaitGroup // goroutines

	mu        sync.Mutex
	closed    bool
	listeners []net.Listener
	conns     map[net.Conn]struct{}
}

// startServices listens on all addresses, except at taken ones. close ends what it started, even if
// it returns an error.
func startServices(s *stack.Stack, addrs []netip.Prefix, taken []netip.AddrPort, web http.Handler) (*services, error) {
	free := func(a netip.Addr, port uint16) bool { return !slices.Contains(taken, netip.AddrPortFrom(a, port)) }
	v := &services{stack: s, conns: make(map[net.Conn]struct{})}
	v.web.Handler = web
	for _, p := range addrs {
		for port, serve := range map[uint16]func(*gonet.TCPConn){EchoPort: echo, DiscardPort: discard, ChargenPort: chargen} {
			if !free(p.Addr(), port) {
				continue
			}
			l, err := v.listen(netip.AddrPortFrom(p.Addr(), port))
			if err != nil {
				return v, err
			}
			v.wait.Go(func() { v.accept(l, serve) })
		}
		if !free(p.Addr(), HTTPPort) {
			continue
		}
		l, err := v.listen(netip.AddrPortFrom(p.Addr(), HTTPPort))
		if err != nil {
			return v, err
		}
		v.wait.Go(func() { _ = v.web.Serve(l) }) // ends with close
	}
	return v, nil
}

// listenEndpoint makes a listening endpoint.
func listenEndpoint(s *stack.Stack, at netip.AddrPort, wq *waiter.Queue) (tcpip.Endpoint, error) {
	to, proto := full(at)
	ep, err := s.NewEndpoint(gtcp.ProtocolNumber, proto, wq)
	if err == nil {
		if err = ep.Bind(to); err == nil {
			err = ep.Listen(backlog)
		}
		if err != nil {
			ep.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("listen at %v: %s", at, err)
	}
	return ep, nil
}

func (v *services) listen(at netip.AddrPort) (net.Listener, error) {
	wq := &waiter.Queue{}
	ep, err := listenEndpoint(v.stack, at, wq)
	if err != nil {
		return nil, err
	}
	l := gonet.NewTCPListener(v.stack, wq, ep)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.listeners = append(v.listeners, l)
	return l, nil
}

// accept serves the connections of a listener until it is closed.
func (v *services) accept(l net.Listener, serve func(*gonet.TCPConn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		if !v.add(c) {
			c.Close()
			return
		}
		v.wait.Go(func() {
			defer v.remove(c)
			serve(c.(*gonet.TCPConn))
		})
	}
}

func (v *services) add(c net.Conn) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.closed {
		v.conns[c] = struct{}{}
	}
	return !v.closed
}

func (v *services) remove(c net.Conn) {
	v.mu.Lock()
	delete(v.conns, c)
	v.mu.Unlock()
	c.Close()
}

// close closes all listeners and connections, and waits for their goroutines.
func (v *services) close() {
	v.mu.Lock()
	v.closed = true
	for c := range v.conns {
		c.Close()
	}
	listeners := v.listeners
	v.mu.Unlock()
	for _, l := range listeners {
		l.Close()
	}
	v.web.Close()
	v.wait.Wait()
}

// echo returns what it reads, until the peer ends its stream, and then ends its own.
func echo(c *gonet.TCPConn) {
	if _, err := io.CopyBuffer(struct{ io.Writer }{c}, struct{ io.Reader }{c}, make([]byte, 64<<10)); err == nil {
		_ = c.CloseWrite()
	}
}

// discard reads until the peer ends its stream.
func discard(c *gonet.TCPConn) {
	_, _ = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c}, make([]byte, 64<<10))
}

// chargenLines are the lines of chargen until they repeat: 95 lines of 72 printable characters,
// each starting one character later.
var chargenLines = func() (b []byte) {
	const first, count, width = ' ', 95, 72
	for line := range count {
		for i := range width {
			b = append(b, byte(first+(line+i)%count))
		}
		b = append(b, "\r\n"...)
	}
	return b
}()

// chargen sends lines until the peer closes, and discards what it reads.
func chargen(c *gonet.TCPConn) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		discard(c)
	}()
	var err error
	for err == nil {
		_, err = c.Write(chargenLines)
	}
	if !errors.Is(err, net.ErrClosed) {
		c.Close() // ends discard
	}
	<-done
}
